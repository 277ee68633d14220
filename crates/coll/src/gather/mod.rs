//! `MPI_Gather` and `MPI_Gatherv` (MPI 5.0, section 6.5).

pub mod binomial;
pub mod linear;

use crate::input::{Exchange, GatherV};
use crate::schedule::Schedule;
use crate::select::{DEFAULT, Gather, Tables};

/// The schedule that the default tables choose.
pub fn schedule(input: &Exchange) -> Schedule {
    schedule_with(&DEFAULT, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, input: &Exchange) -> Schedule {
    build(tables.gather(input.size, block_bytes(input)), input)
}

/// The schedule of one algorithm.
pub fn build(algorithm: Gather, input: &Exchange) -> Schedule {
    match algorithm {
        Gather::Binomial => binomial::schedule(input),
        Gather::Linear => linear::schedule(input),
    }
}

/// `MPI_Gatherv`. Lengths are known to the root only, so every block goes straight to it.
pub fn schedule_v(input: &GatherV) -> Schedule {
    linear::schedule_v(input)
}

/// Packed bytes of a block, from the arguments that are significant on this rank.
pub(crate) fn block_bytes(input: &Exchange) -> i64 {
    if input.rank == input.root { input.recv_bytes() } else { input.send_bytes() }
}
