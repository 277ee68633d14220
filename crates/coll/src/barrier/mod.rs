//! `MPI_Barrier` (MPI 5.0, section 6.3).

pub mod dissemination;

pub use dissemination::schedule;
