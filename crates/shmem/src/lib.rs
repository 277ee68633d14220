//! OpenSHMEM without C and without an engine: what a PE decides by itself.
//!
//! - [`Heap`]: where allocations lie in the symmetric heap, the same on all PEs.
//! - [`Strided`]: sets of PEs, of teams and of the older active sets.
//! - [`parse_size`]: sizes as `SHMEM_SYMMETRIC_SIZE` has them.

mod heap;
mod settings;
mod strided;

pub use heap::{Heap, MIN_ALIGNMENT};
pub use settings::parse_size;
pub use strided::Strided;
