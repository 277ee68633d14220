//! What can go wrong, for people.

use crate::Rank;
use crate::kind::{AtomicOp, Kind};
use core::fmt;

/// Boxed, so that the outcome of an operation that does not fail stays in registers.
pub type Result<T> = core::result::Result<T, Box<Error>>;

/// Why an operation was not done, or not as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes lie outside of the region.
    Range { rank: Rank, region: u32, offset: u64, len: u64, size: u64 },
    /// No such operation on elements of this kind, or nobody has said how it is done.
    Unsupported { kind: Kind, op: AtomicOp },
    /// The region is not exposed, or no more.
    NotExposed { rank: Rank, region: u32 },
    /// The system has refused to copy from or to the memory of the peer: errno.
    Memory { rank: Rank, region: u32, errno: i32 },
    /// The process of the rank is no more.
    Gone { rank: Rank, region: u32 },
    /// A rank has died while it updated elements of the region under its lock; some may be half updated. The operation has
    /// not been done, or not for all elements. The lock is free again.
    HolderGone { rank: Rank, region: u32, holder: Rank },
    /// The process of the rank has died, as the launcher says, while the job goes on.
    Died { rank: Rank },
    /// The owner does not know how to do the operation on such elements.
    Refused { rank: Rank, region: u32 },
    /// No way leads to the memory of that rank.
    Unreachable { rank: Rank, region: u32 },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Range { rank, region, offset, len, size } => write!(
                f,
                "{len} bytes at offset {offset} of region {region} of rank {rank}, which has {size} bytes"
            ),
            Error::Unsupported { kind, op } => {
                write!(f, "no operation {op:?} is known for elements of kind {kind:?}")
            }
            Error::NotExposed { rank, region } => {
                write!(f, "region {region} of rank {rank} is not exposed, or is no longer")
            }
            Error::Memory { rank, region, errno } => write!(
                f,
                "memory of rank {rank}, region {region}, could not be accessed: {}",
                std::io::Error::from_raw_os_error(errno)
            ),
            Error::Gone { rank, region } => {
                write!(f, "rank {rank}, whose region {region} was to be accessed, is gone")
            }
            Error::HolderGone { rank, region, holder } => write!(
                f,
                "rank {holder} has died while it updated elements of region {region} of rank {rank}: \
                 some may be half updated, and this operation has not been done as a whole"
            ),
            Error::Died { rank } => {
                write!(f, "rank {rank}, whose memory was to be accessed, has died")
            }
            Error::Refused { rank, region } => write!(
                f,
                "rank {rank} does not know how to do an operation on its region {region}: \
                 have all ranks registered the kinds of their elements?"
            ),
            Error::Unreachable { rank, region } => {
                write!(f, "no way leads to region {region} of rank {rank}")
            }
        }
    }
}

impl std::error::Error for Error {}
