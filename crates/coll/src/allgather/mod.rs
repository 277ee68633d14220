//! `MPI_Allgather` (MPI 5.0, section 6.7).

pub mod direct;
pub mod dissemination;
pub mod ring;

use crate::input::Exchange;
use crate::schedule::{Block, Schedule};
use crate::select::{Allgather, DEFAULT, Tables};

/// The schedule that the default tables choose.
pub fn schedule(input: &Exchange) -> Schedule {
    schedule_with(&DEFAULT, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, input: &Exchange) -> Schedule {
    let bytes = i64::from(input.size) * input.recv_bytes();
    build(tables.allgather(input.size, bytes), input)
}

/// The schedule of one algorithm.
pub fn build(algorithm: Allgather, input: &Exchange) -> Schedule {
    match algorithm {
        Allgather::Direct => direct::schedule(input),
        Allgather::Dissemination => dissemination::schedule(input),
        Allgather::Ring => ring::schedule(input),
    }
}

/// This rank's contribution where the user put it.
fn own(input: &Exchange) -> Block {
    if input.in_place { input.received(input.rank, 1) } else { input.sent(0, 1) }
}

/// Copies the contribution to its place in the result, behind the current round's messages.
fn keep_own(s: &mut Schedule, input: &Exchange) {
    if !input.in_place {
        s.copy(own(input), input.received(input.rank, 1));
    }
}
