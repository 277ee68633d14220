//! MPI semantics, one module per chapter of the standard.
pub mod datatype;
pub mod error;
pub mod op;
