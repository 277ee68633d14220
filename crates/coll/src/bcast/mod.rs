//! `MPI_Bcast` (MPI 5.0, section 6.4). All data is in [`Buffer::Recv`](crate::Buffer::Recv).

pub mod binomial;
pub mod chain;
mod packed;
pub mod scatter_allgather;

use crate::input::Broadcast;
use crate::schedule::Schedule;
use crate::select::{Bcast, DEFAULT, Tables};

/// The schedule that the default tables choose.
pub fn schedule(input: &Broadcast) -> Schedule {
    schedule_with(&DEFAULT, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, input: &Broadcast) -> Schedule {
    build(tables.bcast(input.size, input.bytes()), input)
}

/// The schedule of one algorithm.
pub fn build(algorithm: Bcast, input: &Broadcast) -> Schedule {
    match algorithm {
        Bcast::Binomial => binomial::schedule(input),
        Bcast::ScatterAllgather => scatter_allgather::schedule(input),
        Bcast::Chain { segment } => chain::with_segment(input, segment),
    }
}
