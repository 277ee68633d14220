//! What an ELF file needs, and where the dynamic loader would find it: the knowledge behind
//! `hpvm info PROGRAM` and behind `mpirun`'s warning when a program would load another MPI.
//!
//! Nothing is run and nothing is trusted: only headers and tables of files are read, and a file
//! that contradicts itself is an error with a text, or simply not an ELF file. The way: [`elf`]
//! reads one file, [`search`] finds a library by its name in the loader's order (with the system's
//! [`cache`]), [`walk`] follows the names to everything that would be loaded, [`names`] knows the
//! names of MPI libraries, and [`defeat`] says which of them would not be ours.

pub mod cache;
pub mod defeat;
pub mod elf;
pub mod names;
pub mod search;
pub mod walk;

pub use defeat::{Defeat, defeats};
pub use elf::{Elf, File, Symbol};
pub use search::{Reason, Search};
pub use walk::{Closure, Object};
