//! Dissemination (Bruck) allgather.

use super::{keep_own, own};
use crate::input::Exchange;
use crate::schedule::{Peer, Schedule};
use crate::tree::{cyclic, doublings, down, up};

/// Dissemination allgather: the number of blocks that a rank holds doubles in every round.
///
/// Cost: ceil(log2 n) rounds; n - 1 blocks out and in. Where Bruck's algorithm rotates the blocks
/// at the end, here a range that wraps around travels as two messages, so nothing is copied.
/// Wins: short messages, on any number of ranks; on a power of two as good as recursive doubling.
/// Source: Bruck et al., "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", 1997 (the concatenation operation).
pub fn schedule(input: &Exchange) -> Schedule {
    let Exchange { rank, size, .. } = *input;
    if input.recv_bytes() == 0 {
        return Schedule::new();
    }
    let rounds = doublings(size) as usize;
    let mut s = Schedule::with_capacity(rounds + 1, 4 * rounds, 1);
    keep_own(&mut s, input);
    let mut held = 1;
    for round in 0..rounds {
        let length = held.min(size - held);
        let (to, from) = (up(rank, held, size), down(rank, held, size));
        // What is held ends with the own block; what comes ends with the sender's.
        for (first, blocks) in cyclic(down(from, length - 1, size), length, size) {
            s.recv(Peer::Local(from), input.received(first, blocks));
        }
        for (first, blocks) in cyclic(down(rank, length - 1, size), length, size) {
            let block = if round == 0 { own(input) } else { input.received(first, blocks) };
            if blocks > 0 {
                s.send(Peer::Local(to), block);
            }
        }
        s.end_round();
        held += length;
    }
    s.end_round();
    s
}
