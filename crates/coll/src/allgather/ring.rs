//! Ring allgather.

use super::{keep_own, own};
use crate::input::Exchange;
use crate::schedule::{Peer, Schedule};
use crate::tree::{down, up};

/// Ring allgather: every rank passes on to the next what it got from the previous.
///
/// Cost: n - 1 rounds of one block out and in, with two fixed partners.
/// Wins: long messages.
/// Source: Chan et al., "Collective communication: theory, practice, and experience", 2007.
pub fn schedule(input: &Exchange) -> Schedule {
    let Exchange { rank, size, .. } = *input;
    if input.recv_bytes() == 0 {
        return Schedule::new();
    }
    let rounds = size as usize - 1;
    let mut s = Schedule::with_capacity(rounds + 1, 2 * rounds, 1);
    keep_own(&mut s, input);
    let (next, previous) = (up(rank, 1, size), down(rank, 1, size));
    for step in 0..size - 1 {
        let out = if step == 0 { own(input) } else { input.received(down(rank, step, size), 1) };
        s.recv(Peer::Local(previous), input.received(down(previous, step, size), 1));
        s.send(Peer::Local(next), out);
        s.end_round();
    }
    s.end_round();
    s
}
