//! Inclusive scan by doubling distance.

use crate::input::Reduction;
use crate::partial::Partial;
use crate::schedule::{Buffer, Peer, Schedule};
use crate::tree::doublings;

/// Scan by doubling distance, in rank order.
///
/// Cost: ceil(log2 n) rounds of at most one message out and one in and one combination.
/// Wins: there is no choice yet; for long messages a pipelined chain would move fewer bytes.
/// Source: Hillis, Steele, "Data parallel algorithms", 1986.
pub fn schedule(input: &Reduction) -> Schedule {
    let Reduction { rank, size, count, .. } = *input;
    if count == 0 {
        return Schedule::new();
    }
    let rounds = doublings(size) as usize;
    let mut s = Schedule::with_capacity(rounds + 1, 2 * rounds, rounds + 1);
    let (source, whole) = (input.source(), 0..count);
    let mut partial = Partial::new(source, Buffer::Recv, input.extent, input.commutative);
    if rank == 0 {
        partial.settle(&mut s, &whole);
    }
    for round in 0..rounds {
        let distance = 1u32 << round;
        if rank + distance < size {
            s.send(Peer::Local(rank + distance), partial.current(&whole));
        }
        if rank >= distance {
            partial.combine(&mut s, Peer::Local(rank - distance), &whole, true);
        }
        s.end_round();
        partial.fresh &= rank < distance;
    }
    s.end_round();
    s
}
