//! Shared-memory transport: the ranks of one host.
//!
//! Each rank has a receive ring that all others share ([`ring`]), frames for packets that do not
//! fit in a slot (`frames`), a futex to sleep on (`doorbell`), and may read a peer's memory through the kernel
//! (`hpvm_copy::attach`) or map memory that the peer lends (`lent`); those that share processors spread over
//! them (`spread`). The memory itself is one nameless segment (`segment`); `endpoint` puts all of it together
//! behind the `Transport` trait.

pub mod ring;

// The model checker builds the ring alone: loom's atomics do not live in shared memory.
#[cfg(not(hpvm_loom))]
pub mod doorbell;
#[cfg(not(hpvm_loom))]
mod endpoint;
#[cfg(not(hpvm_loom))]
pub mod frames;
#[cfg(not(hpvm_loom))]
mod kept;
#[cfg(not(hpvm_loom))]
mod lent;
#[cfg(not(hpvm_loom))]
pub mod observe;
#[cfg(not(hpvm_loom))]
pub mod segment;
#[cfg(not(hpvm_loom))]
mod spread;
#[cfg(not(hpvm_loom))]
mod train;

#[cfg(not(hpvm_loom))]
pub use endpoint::Shm;
#[cfg(not(hpvm_loom))]
pub use segment::{Mapping, SegmentError};
