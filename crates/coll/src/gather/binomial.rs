//! Binomial tree gather.

use super::block_bytes;
use crate::input::Exchange;
use crate::schedule::{Block, Peer, Schedule};
use crate::tree::{children, cyclic, down, parent, span, up};

/// Binomial tree gather; blocks travel packed and many to a message.
///
/// Cost: ceil(log2 n) messages on the longest path, log2 n of them into the root, n - 1 blocks in
/// total; a block is forwarded up to log2 n times.
/// Wins: short blocks on many ranks.
/// Source: Chan et al., "Collective communication: theory, practice, and experience", 2007.
pub fn schedule(input: &Exchange) -> Schedule {
    let mut s = Schedule::new();
    let Exchange { rank, size, root, .. } = *input;
    let bytes = block_bytes(input);
    if bytes == 0 {
        return s;
    }
    if rank != root {
        collect(&mut s, (rank, size, root), input.sent(0, 1), bytes);
        return s;
    }
    for child in children(0, size) {
        let from = up(child, root, size);
        // A range that wraps around the last rank comes as two messages.
        for (first, blocks) in cyclic(from, span(child, size), size) {
            s.recv(Peer::Local(from), input.received(first, blocks));
        }
    }
    if !input.in_place {
        s.copy(input.sent(0, 1), input.received(root, 1));
    }
    s.end_round();
    s
}

/// Appends the part of a rank that is not the root.
fn collect(s: &mut Schedule, (rank, size, root): (u32, u32, u32), own: Block, bytes: i64) {
    let v = down(rank, root, size);
    let up_to = Peer::Local(up(parent(v), root, size));
    let held = gather_packed(s, (rank, size, root), own, bytes);
    if held == own {
        s.send(up_to, own);
    } else if parent(v) == 0 {
        let mut at = held.offset;
        for (_, blocks) in cyclic(rank, span(v, size), size) {
            let length = i64::from(blocks) * bytes;
            s.send(up_to, Block::bytes(held.buffer, at, length));
            at += length;
        }
    } else {
        s.send(up_to, held);
    }
    s.end_round();
}

/// Appends the gather of the blocks of this rank's subtree; returns where they lie, packed in the
/// order of the ranks from this one on. A rank without children just has its own block.
pub(crate) fn gather_packed(
    s: &mut Schedule,
    (rank, size, root): (u32, u32, u32),
    own: Block,
    bytes: i64,
) -> Block {
    let v = down(rank, root, size);
    let blocks = span(v, size);
    if blocks == 1 {
        return own;
    }
    let temp = s.temp_bytes(i64::from(blocks) * bytes);
    let at = |first: u32, blocks: u32| {
        Block::bytes(temp, i64::from(first - v) * bytes, i64::from(blocks) * bytes)
    };
    for child in children(v, size) {
        s.recv(Peer::Local(up(child, root, size)), at(child, span(child, size)));
    }
    s.copy(own, at(v, 1));
    s.end_round();
    at(v, blocks)
}
