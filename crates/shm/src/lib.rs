//! Shared-memory transport: the ranks of one host.
//!
//! Each rank has a receive ring, into which all others send ([`ring`]), frames for packets that do not fit in a slot
//! (`frames`), and a futex to sleep on (`doorbell`). It may read a peer's memory through the kernel
//! (`hpvm_copy::attach`) or map memory that the peer lends (`mapped`). Ranks that share a processor migrate to others
//! (`balance`, `migrate`). The memory itself is one segment without a name (`segment`). `endpoint` puts all of this
//! together behind the `Transport` trait; begin to read there.

mod asleep;
pub mod frames;
mod progress_word;
pub mod ring;

#[cfg(all(test, hpvm_loom))]
mod models;

// The model checker builds what is above alone: loom's atomics do not live in shared memory.
#[cfg(not(hpvm_loom))]
pub mod balance;
#[cfg(not(hpvm_loom))]
mod deaths;
#[cfg(not(hpvm_loom))]
pub mod doorbell;
#[cfg(not(hpvm_loom))]
mod endpoint;
#[cfg(not(hpvm_loom))]
mod fragments;
#[cfg(not(hpvm_loom))]
mod life;
#[cfg(not(hpvm_loom))]
mod mapped;
#[cfg(not(hpvm_loom))]
mod migrate;
#[cfg(not(hpvm_loom))]
pub mod observe;
#[cfg(not(hpvm_loom))]
mod outgoing;
#[cfg(not(hpvm_loom))]
pub mod processors;
#[cfg(not(hpvm_loom))]
mod ptracer;
#[cfg(not(hpvm_loom))]
mod reply_frames;
#[cfg(not(hpvm_loom))]
pub mod segment;
#[cfg(not(hpvm_loom))]
mod turns;

#[cfg(not(hpvm_loom))]
pub use endpoint::Shm;
#[cfg(not(hpvm_loom))]
pub use segment::{Mapping, SegmentError};
