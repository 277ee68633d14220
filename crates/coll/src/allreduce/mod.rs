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
    build(tables.allreduce_apart(input.size, input.bytes()), input)
}

/// The same for ranks that read long messages out of each other's memory.
pub fn schedule_reads(tables: &Tables, input: &Reduction) -> Schedule {
    build(tables.allreduce_reads(input.size, input.bytes()), input)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ranks_that_may_be_on_two_hosts_cross_once() {
        let two = |count| Reduction {
            rank: 0,
            size: 2,
            root: 0,
            count,
            extent: 8,
            size_bytes: 8,
            commutative: true,
            in_place: false,
        };
        let sends =
            |schedule: Schedule| schedule.rounds().filter(|round| !round.comms.is_empty()).count();
        // Numbers of 8 bytes, and rounds inside a host and apart.
        for (count, inside, apart) in
            [(1, 1, 1), (1024, 1, 1), (1025, 2, 1), (8192, 2, 1), (8193, 2, 2)]
        {
            let input = two(count);
            assert_eq!(sends(schedule(&input)), inside, "{count}");
            assert_eq!(sends(schedule_apart(&DEFAULT, &input)), apart, "{count}");
        }
        let four = Reduction { size: 4, ..two(4096) };
        assert_eq!(sends(schedule_apart(&DEFAULT, &four)), sends(schedule(&four)));
    }
}
