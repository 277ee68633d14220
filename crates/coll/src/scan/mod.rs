//! `MPI_Scan` and `MPI_Exscan` (MPI 5.0, sections 6.11 and 6.12).

pub mod exclusive;
pub mod inclusive;

pub use exclusive::schedule as exscan;
pub use inclusive::schedule as scan;
