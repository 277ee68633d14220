//! ARMCI without C and without an engine: what a process decides by itself.
//!
//! - [`Strided`]: descriptions of strided transfers, as runs.
//! - [`Element`]: what accumulates add, and the factor before it.
//! - [`Spaces`]: whose memory an address is in.
//! - [`Members`], [`Hosts`], [`children`]: groups, the ranks of hosts, binary trees.
//! - [`overlap`]: parts of a transfer that write to the same bytes.
//! - [`Reduction`]: the operations of `armci_msg_*gop` by their names.

mod element;
mod hosts;
mod members;
mod overlap;
mod reduction;
mod spaces;
mod strided;

pub use element::Element;
pub use hosts::Hosts;
pub use members::{Children, Members, children};
pub use overlap::{Part, overlap};
pub use reduction::Reduction;
pub use spaces::Spaces;
pub use strided::{MAX_LEVELS, Strided};
