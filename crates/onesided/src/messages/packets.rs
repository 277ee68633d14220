//! What the packets of one-sided operations look like.
//!
//! | packet | imm | payload |
//! |---|---|---|
//! | PUT | region | with `ASKS` operation of the sender, then runs: offset, length, bytes |
//! | GET | operation of the sender | region, then runs: offset, length |
//! | UPDATE | operation of the sender, or 0; it fetches unless it has `ASKS` | region, kind, operation, then runs: offset, bytes of elements, operands |
//! | SWAP | operation of the sender | region, kind, offset, compare, swap |
//! | FLUSH | operation of the sender | |
//! | ANSWER | operation of the receiver | bytes; or, with `FAILED`, a fault |
//! | MESSAGE | region of the receiver | code, word |
//!
//! All numbers are words of 8 bytes, little-endian; a region is its id and, in the upper half, its generation.
//! Each GET, PUT with `ASKS`, UPDATE with an operation, SWAP and FLUSH has answers, the last of which says so (`Head::LAST`).

use crate::Rank;
use crate::error::Error;
use crate::key::RegionKey;
use hpvm_fm::{Head, handler_id};

pub(crate) const PUT: u8 = handler_id::ONESIDED.start;
pub(crate) const GET: u8 = PUT + 1;
pub(crate) const UPDATE: u8 = PUT + 2;
pub(crate) const SWAP: u8 = PUT + 3;
pub(crate) const FLUSH: u8 = PUT + 4;
pub(crate) const ANSWER: u8 = PUT + 5;
pub(crate) const MESSAGE: u8 = PUT + 6;

/// In the flags of an ANSWER: the operation was not done, or an earlier one of those that a FLUSH asks for.
pub(crate) const FAILED: u8 = 4;
/// In the flags of a PUT or an UPDATE: a FLUSH that comes with it.
pub(crate) const ASKS: u8 = 4;

/// Bytes of a number.
pub(crate) const WORD_BYTES: usize = 8;
/// Bytes before the data of a run.
pub(crate) const RUN_BYTES: usize = 2 * WORD_BYTES;

/// A region in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegionName {
    pub id: u32,
    pub generation: u32,
}

impl RegionName {
    pub fn word(self) -> u64 {
        u64::from(self.id) | u64::from(self.generation) << 32
    }

    pub fn of_word(word: u64) -> RegionName {
        RegionName { id: word as u32, generation: (word >> 32) as u32 }
    }
}

impl From<&RegionKey> for RegionName {
    fn from(key: &RegionKey) -> RegionName {
        RegionName { id: key.id, generation: key.generation }
    }
}

/// Writes numbers and bytes to a packet that has room for them.
pub(crate) struct Writer<'a>(pub &'a mut [u8]);

impl<'a> Writer<'a> {
    /// The next `len` bytes of the packet.
    pub fn take(&mut self, len: usize) -> &'a mut [u8] {
        let all = core::mem::take(&mut self.0);
        let (first, rest) = all.split_at_mut(len);
        self.0 = rest;
        first
    }

    pub fn word(&mut self, word: u64) {
        self.take(WORD_BYTES).copy_from_slice(&word.to_le_bytes());
    }
}

/// Reads what a peer has sent; `None` where it ends too early.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(first)
    }

    pub fn word(&mut self) -> Option<u64> {
        let bytes = self.take(WORD_BYTES as u64)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Why an operation was not done, as its target says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not exposed, or no more.
    NotExposed { region: u32 },
    /// It is shorter.
    Range { region: u32, offset: u64, len: u64, size: u64 },
    /// No such operation is known there: codes of kind and operation.
    Unsupported { region: u32 },
    /// That rank, which has died, held the lock of the region's elements.
    HolderGone { region: u32, holder: Rank },
}

impl Fault {
    /// Bytes in a packet.
    pub const BYTES: usize = 5 * WORD_BYTES;

    pub fn write(&self, to: &mut [u8]) {
        let words = match *self {
            Fault::NotExposed { region } => [1, u64::from(region), 0, 0, 0],
            Fault::Range { region, offset, len, size } => [2, u64::from(region), offset, len, size],
            Fault::Unsupported { region } => [3, u64::from(region), 0, 0, 0],
            Fault::HolderGone { region, holder } => [4, u64::from(region), u64::from(holder), 0, 0],
        };
        let mut writer = Writer(to);
        words.into_iter().for_each(|word| writer.word(word));
    }

    /// The error at the rank that asked, when `rank` answers so.
    pub fn read(rank: Rank, from: &[u8]) -> Error {
        let mut reader = Reader(from);
        let mut word = || reader.word().unwrap_or(0);
        let (why, region) = (word(), word() as u32);
        match why {
            1 => Error::NotExposed { rank, region },
            2 => Error::Range { rank, region, offset: word(), len: word(), size: word() },
            4 => Error::HolderGone { rank, region, holder: word() as Rank },
            _ => Error::Refused { rank, region },
        }
    }
}

/// The header of a packet that is not an answer.
pub(crate) fn head(handler: u8, imm: u64) -> Head {
    Head::single(handler, imm)
}
