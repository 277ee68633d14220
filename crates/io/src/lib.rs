//! Files as MPI sees them (MPI 5.0, chapter 14), without C and without messages.
//!
//! [`View`] turns positions in a file's stream of data into ranges of bytes of the file. [`File`] moves
//! bytes between memory and such ranges by the file system's own calls. [`two_phase`] plans who moves which
//! bytes when the accesses of several ranks interleave. Who is in the job, how ranks agree and exchange
//! data, handles and error handlers belong to `mpi-abi`.
//!
//! A call here blocks as long as the file system does, and keeps no global.

pub mod amode;
pub mod error;
mod file;
mod filesystem;
mod hints;
mod lock;
mod pointer;
mod shared_memory;
mod sieve;
pub mod stripes;
pub mod two_phase;
mod view;

pub use amode::Amode;
pub use file::{Extent, File};
pub use hints::{Hints, When};
pub use lock::RangeLock;
pub use pointer::SharedPointer;
pub use shared_memory::SharedMemory;
pub use view::{Representation, View};
