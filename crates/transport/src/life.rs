//! Whether processes of this host live.

use crate::Rank;

/// Tells whether the processes that share memory with this one live. It asks the system, so it is for ranks that have waited
/// for long. It is an object of its own because code that has no access to the transport, such as packet handlers, uses it, too.
pub trait Life: Send + Sync {
    /// The process of `rank` is known to have ended. False for a rank that does not share memory with this process.
    fn is_gone(&self, rank: Rank) -> bool;
}
