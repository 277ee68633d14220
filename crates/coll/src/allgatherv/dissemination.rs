//! Dissemination (Bruck) allgatherv.

use super::{keep_own, own, received};
use crate::exchange::Blocks;
use crate::input::GatherV;
use crate::schedule::{Block, Peer, Schedule};
use crate::tree::{cyclic, doublings, down, up};

/// Dissemination allgatherv: the number of blocks that a rank holds doubles in every round.
///
/// Cost: ceil(log2 n) rounds of at most two messages; everything but the own block is copied once,
/// because blocks travel packed: the user's may lie anywhere.
/// Wins: short messages on many ranks.
/// Source: Bruck et al., "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", 1997 (the concatenation operation).
pub fn schedule(input: &GatherV) -> Schedule {
    let GatherV { rank, size, .. } = *input;
    let recv = received(input);
    let mut s = Schedule::new();
    let mut starts = Vec::with_capacity(size as usize + 1);
    starts.push(0);
    let mut total = 0;
    for peer in 0..size {
        total += recv.bytes(peer);
        starts.push(total);
    }
    if total == 0 {
        return s;
    }
    let temp = s.temp_bytes(total);
    let packed = |first: u32, blocks: u32| {
        let (start, end) = (starts[first as usize], starts[(first + blocks) as usize]);
        Block::bytes(temp, start, end - start)
    };
    s.copy(own(input), packed(rank, 1));
    keep_own(&mut s, input);
    s.end_round();
    let mut held = 1;
    for _ in 0..doublings(size) {
        let length = held.min(size - held);
        let (to, from) = (up(rank, held, size), down(rank, held, size));
        for (first, blocks) in cyclic(down(from, length - 1, size), length, size) {
            s.recv(Peer::Local(from), packed(first, blocks));
        }
        for (first, blocks) in cyclic(down(rank, length - 1, size), length, size) {
            s.send(Peer::Local(to), packed(first, blocks));
        }
        s.end_round();
        held += length;
    }
    for peer in (0..size).filter(|&peer| peer != rank) {
        s.copy(packed(peer, 1), recv.block(peer));
    }
    s.end_round();
    s
}
