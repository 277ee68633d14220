//! Binomial tree scatter.

use super::block_bytes;
use crate::input::Exchange;
use crate::schedule::{Block, Peer, Schedule};
use crate::tree::{children, cyclic, down, parent, span, up};

/// Binomial tree scatter; blocks travel packed and many to a message.
///
/// Cost: ceil(log2 n) messages on the longest path, log2 n of them out of the root, n - 1 blocks in
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
        distribute(&mut s, (rank, size, root), input.received(0, 1), bytes);
        return s;
    }
    for child in children(0, size).rev() {
        let to = up(child, root, size);
        // A range that wraps around the last rank goes as two messages.
        for (first, blocks) in cyclic(to, span(child, size), size) {
            s.send(Peer::Local(to), input.sent(first, blocks));
        }
    }
    if !input.in_place {
        s.copy(input.sent(root, 1), input.received(0, 1));
    }
    s.end_round();
    s
}

/// Appends the part of a rank that is not the root.
fn distribute(s: &mut Schedule, (rank, size, root): (u32, u32, u32), own: Block, bytes: i64) {
    let v = down(rank, root, size);
    let blocks = span(v, size);
    let above = Peer::Local(up(parent(v), root, size));
    if blocks == 1 {
        s.recv(above, own);
        s.end_round();
        return;
    }
    let held = Block::bytes(s.temp_bytes(i64::from(blocks) * bytes), 0, i64::from(blocks) * bytes);
    if parent(v) == 0 {
        let mut at = 0;
        for (_, blocks) in cyclic(rank, blocks, size) {
            let length = i64::from(blocks) * bytes;
            s.recv(above, Block::bytes(held.buffer, at, length));
            at += length;
        }
    } else {
        s.recv(above, held);
    }
    s.end_round();
    scatter_packed(s, (rank, size, root), held, own, bytes);
}

/// Appends the scatter of the packed blocks of this rank's subtree, which lie in `held` in the
/// order of the ranks from this one on.
pub(crate) fn scatter_packed(
    s: &mut Schedule,
    (rank, size, root): (u32, u32, u32),
    held: Block,
    own: Block,
    bytes: i64,
) {
    let v = down(rank, root, size);
    let at = |first: u32, blocks: u32| {
        let start = held.offset + i64::from(first - v) * bytes;
        Block::bytes(held.buffer, start, i64::from(blocks) * bytes)
    };
    for child in children(v, size).rev() {
        s.send(Peer::Local(up(child, root, size)), at(child, span(child, size)));
    }
    s.copy(at(v, 1), own);
    s.end_round();
}

/// Appends the scatter from rank 0, whose packed blocks lie in `held`, within the local group.
pub(crate) fn scatter_from_leader(
    s: &mut Schedule,
    (rank, size): (u32, u32),
    held: Option<Block>,
    own: Block,
    bytes: i64,
) {
    match held {
        Some(held) => scatter_packed(s, (rank, size, 0), held, own, bytes),
        None => distribute(s, (rank, size, 0), own, bytes),
    }
}
