//! Exclusive scan by doubling distance.

use crate::input::Reduction;
use crate::schedule::{Buffer, Peer, Schedule, TempSpec};
use crate::tree::doublings;

/// Exclusive scan by doubling distance, in rank order. Rank 0's receive buffer is not written.
///
/// Cost: ceil(log2 n) rounds of at most one message out and one in; two combinations per round, one
/// where nothing is to be sent any more.
/// Wins: there is no choice yet.
/// Source: Hillis, Steele, "Data parallel algorithms", 1986, keeping both sums.
pub fn schedule(input: &Reduction) -> Schedule {
    let Reduction { rank, size, count, .. } = *input;
    if count == 0 || size == 1 {
        return Schedule::new();
    }
    let rounds = doublings(size) as usize;
    let mut s = Schedule::with_capacity(rounds, 2 * rounds, 2 * rounds + 2);
    // Sum of the ranks below, and sum of these and our own; the latter is what others want.
    let below = input.whole(Buffer::Recv);
    let mut with_own = input.whole(input.source());
    let mut landing = None;
    for round in 0..rounds {
        let distance = 1u32 << round;
        if rank + distance < size {
            s.send(Peer::Local(rank + distance), with_own);
        }
        if rank >= distance {
            let sends_again = u64::from(rank) + 2 * u64::from(distance) < u64::from(size);
            let first = round == 0;
            let theirs = if first && !input.in_place {
                below
            } else {
                let new = || s.temp(TempSpec::Elements(count));
                input.whole(*landing.get_or_insert_with(new))
            };
            s.recv(Peer::Local(rank - distance), theirs);
            if sends_again && first {
                let own = input.whole(s.temp(TempSpec::Elements(count)));
                s.copy(with_own, own);
                with_own = own;
            }
            if sends_again {
                s.reduce(theirs, with_own);
            }
            if !first {
                s.reduce(theirs, below);
            } else if theirs != below {
                s.copy(theirs, below);
            }
        }
        s.end_round();
    }
    s
}
