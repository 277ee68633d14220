//! Binomial tree broadcast.

use crate::input::Broadcast;
use crate::schedule::{Block, Peer, Schedule};
use crate::tree::{children, down, parent, up};

/// Binomial tree broadcast.
///
/// Cost: ceil(log2 n) messages on the longest path, each of the whole length; two rounds per rank.
/// Wins: short messages, where the number of hops counts and not the volume.
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
/// MPICH", 2005.
pub fn schedule(input: &Broadcast) -> Schedule {
    if input.bytes() == 0 {
        return Schedule::new();
    }
    let mut s = Schedule::with_capacity(2, 4, 0);
    tree_bcast(&mut s, input.rank, input.size, input.root, input.whole());
    s
}

/// Appends the broadcast of `block` within the local group.
pub(crate) fn tree_bcast(s: &mut Schedule, rank: u32, size: u32, root: u32, block: Block) {
    let v = down(rank, root, size);
    if v != 0 {
        s.recv(Peer::Local(up(parent(v), root, size)), block);
        s.end_round();
    }
    for child in children(v, size).rev() {
        s.send(Peer::Local(up(child, root, size)), block);
    }
    s.end_round();
}
