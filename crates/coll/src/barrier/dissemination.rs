//! Dissemination barrier.

use crate::input::Group;
use crate::schedule::{Peer, Schedule};
use crate::tree::{doublings, down, up};

/// Dissemination barrier with radix 2.
///
/// Cost: ceil(log2 n) rounds, one empty message out and one in per round and rank.
/// Wins: everywhere; no rank does more than another and none waits for a root.
/// Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988.
#[inline]
pub fn schedule(input: &Group) -> Schedule {
    let rounds = doublings(input.size) as usize;
    let mut s = Schedule::with_capacity(rounds, 2 * rounds, 0);
    let Group { rank, size } = *input;
    let mut distance = 1;
    for _ in 0..rounds {
        s.signal(Peer::Local(up(rank, distance, size)));
        s.await_signal(Peer::Local(down(rank, distance, size)));
        s.end_round();
        distance = distance.wrapping_mul(2);
    }
    s
}

/// Dissemination barrier with a higher radix: fewer rounds for more messages.
///
/// Cost: ceil(log_radix n) rounds, radix - 1 messages out and in per round and rank. With a radix
/// of at least n every rank signals every other in one round. A radix below 2 counts as 2.
/// Wins: where latency is high against the cost of injecting a message.
/// Source: Hoefler et al., "A practical approach to a fast barrier ... n-way dissemination", 2006.
pub fn with_radix(input: &Group, radix: u32) -> Schedule {
    let Group { rank, size } = *input;
    let radix = radix.max(2);
    let mut s = Schedule::new();
    let mut distance = 1;
    while distance < size {
        let steps = (radix - 1).min((size - 1) / distance);
        for step in 1..=steps {
            s.signal(Peer::Local(up(rank, step * distance, size)));
        }
        for step in 1..=steps {
            s.await_signal(Peer::Local(down(rank, step * distance, size)));
        }
        s.end_round();
        distance = distance.saturating_mul(radix);
    }
    s
}
