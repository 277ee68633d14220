//! `MPI_Allreduce` (MPI 5.0, section 6.9.6).
//!
//! Every algorithm gives bit-identical results on all ranks: an element is either combined on one
//! rank only, or on all ranks with the same bracketing and the same order of operands.

pub mod direct;
pub mod rabenseifner;
pub mod recursive_doubling;
pub mod ring;

use crate::input::Reduction;
use crate::schedule::Schedule;
use crate::select::{Allreduce, DEFAULT, Tables};

/// The schedule that the default tables choose.
pub fn schedule(input: &Reduction) -> Schedule {
    schedule_with(&DEFAULT, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, input: &Reduction) -> Schedule {
    build(tables.allreduce(input.size, input.bytes()), input)
}

/// The same for ranks each of which may be on a host of its own.
pub fn schedule_apart(tables: &Tables, input: &Reduction) -> Schedule {
    match input.size == 2 && input.bytes() <= tables.whole {
        true => build(Allreduce::Direct, input),
        false => schedule_with(tables, input),
    }
}

/// The schedule of one algorithm. The ring, which cannot keep the order of operands, gives way to
/// Rabenseifner's algorithm when the operation does not commute.
/// The direct exchange, which needs a temporary per rank, gives way to recursive doubling above
/// [`direct::MOST_RANKS`].
pub fn build(algorithm: Allreduce, input: &Reduction) -> Schedule {
    match algorithm {
        Allreduce::Direct if input.size <= direct::MOST_RANKS => direct::schedule(input),
        Allreduce::Direct | Allreduce::RecursiveDoubling => recursive_doubling::schedule(input),
        Allreduce::Ring if input.commutative => ring::schedule(input),
        Allreduce::Rabenseifner | Allreduce::Ring => rabenseifner::schedule(input),
    }
}
