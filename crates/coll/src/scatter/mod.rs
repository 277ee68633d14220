//! `MPI_Scatter` and `MPI_Scatterv` (MPI 5.0, section 6.6).

pub mod binomial;
pub mod linear;

use crate::input::{Exchange, ScatterV};
use crate::schedule::Schedule;
use crate::select::{DEFAULT, Scatter, Tables};

/// The schedule that the default tables choose.
pub fn schedule(input: &Exchange) -> Schedule {
    schedule_with(&DEFAULT, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, input: &Exchange) -> Schedule {
    build(tables.scatter(input.size, block_bytes(input)), input)
}

/// The schedule of one algorithm.
pub fn build(algorithm: Scatter, input: &Exchange) -> Schedule {
    match algorithm {
        Scatter::Binomial => binomial::schedule(input),
        Scatter::Linear => linear::schedule(input),
    }
}

/// `MPI_Scatterv`. Lengths are known to the root only, so every block comes straight from it.
pub fn schedule_v(input: &ScatterV) -> Schedule {
    linear::schedule_v(input)
}

/// Packed bytes of a block, from the arguments that are significant on this rank.
pub(crate) fn block_bytes(input: &Exchange) -> i64 {
    if input.rank == input.root { input.send_bytes() } else { input.recv_bytes() }
}
