//! `MPI_Alltoall` (MPI 5.0, section 6.8).

pub mod bruck;
pub mod pairwise;

use crate::input::Exchange;
use crate::schedule::Schedule;
use crate::select::{Alltoall, DEFAULT, Tables};

/// The schedule that the default tables choose.
pub fn schedule(input: &Exchange) -> Schedule {
    schedule_with(&DEFAULT, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, input: &Exchange) -> Schedule {
    build(tables.alltoall(input.size, input.recv_bytes()), input)
}

/// The schedule of one algorithm.
pub fn build(algorithm: Alltoall, input: &Exchange) -> Schedule {
    match algorithm {
        Alltoall::Bruck => bruck::schedule(input),
        Alltoall::Pairwise { window } => pairwise::with_window(input, window),
    }
}
