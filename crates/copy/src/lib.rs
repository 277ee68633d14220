//! How bytes are moved: nothing else in the tree has a copy loop of its own.
//!
//! - [`short`] and [`wide`]: copies that `memcpy` is slow at; [`any`]: whichever is right.
//! - [`non_temporal`]: stores that go past the cache, and [`slow_stores`]: when they are faster.
//! - [`attach`]: reading and writing the memory of another process through the kernel; [`own_memory`]: that of this one.

pub mod attach;
mod moves;
pub mod non_temporal;
pub mod own_memory;
pub mod slow_stores;

pub use moves::{any, once, short, wide};
