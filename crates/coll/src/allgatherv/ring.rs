//! Ring allgatherv.

use super::{keep_own, own, received};
use crate::exchange::Blocks;
use crate::input::GatherV;
use crate::schedule::{Peer, Schedule};
use crate::tree::{down, up};

/// Ring allgatherv: every rank passes on to the next what it got from the previous.
///
/// Cost: n - 1 rounds of one block out and in; a step lasts as long as its longest block.
/// Wins: long messages of similar lengths.
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
/// MPICH", 2005.
pub fn schedule(input: &GatherV) -> Schedule {
    let GatherV { rank, size, .. } = *input;
    let recv = received(input);
    let mut s = Schedule::new();
    keep_own(&mut s, input);
    let (next, previous) = (up(rank, 1, size), down(rank, 1, size));
    for step in 0..size - 1 {
        let (out, into) = (down(rank, step, size), down(previous, step, size));
        if recv.bytes(into) > 0 {
            s.recv(Peer::Local(previous), recv.block(into));
        }
        if recv.bytes(out) > 0 {
            let block = if step == 0 { own(input) } else { recv.block(out) };
            s.send(Peer::Local(next), block);
        }
        s.end_round();
    }
    s.end_round();
    s
}
