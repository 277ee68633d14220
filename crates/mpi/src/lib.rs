//! MPI semantics, one module per chapter of the standard.
