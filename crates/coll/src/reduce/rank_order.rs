//! Binomial tree reduce in rank order.

use super::{bring, source, tree_reduce};
use crate::input::Reduction;
use crate::schedule::{Buffer, Peer, Schedule, TempSpec};

/// Binomial tree reduce to rank 0, which passes the result to the root.
///
/// Cost: as the binomial tree, and one message more unless rank 0 is the root.
/// Wins: operations that do not commute; also the result does not depend on the root.
/// Source: as the binomial tree.
pub fn schedule(input: &Reduction) -> Schedule {
    let Reduction { rank, root, count, .. } = *input;
    let mut s = Schedule::new();
    if count == 0 {
        return s;
    }
    let target = match (rank, root) {
        (_, 0) => Buffer::Recv,
        (0, _) if input.size > 1 => s.temp(TempSpec::Elements(count)),
        _ => Buffer::Recv,
    };
    let value = tree_reduce(&mut s, input, 0, source(input), target);
    match value {
        Some(value) if root == 0 => bring(&mut s, value, input.whole(Buffer::Recv)),
        Some(value) => s.send(Peer::Local(root), value),
        None if rank == root => s.recv(Peer::Local(0), input.whole(Buffer::Recv)),
        None => {}
    }
    s.end_round();
    s
}
