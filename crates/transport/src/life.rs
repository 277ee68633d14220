//! Whether processes of this host live.

use crate::Rank;

/// Tells whether the processes that share memory with this one live. It asks the system: for those who have waited for
/// long. Also for code that has not got the transport, which handles packets, say.
pub trait Life: Send + Sync {
    /// The process of `rank` is known to be no more. False for one that does not share memory with this one.
    fn is_gone(&self, rank: Rank) -> bool;
}
