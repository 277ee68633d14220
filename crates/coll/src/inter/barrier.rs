//! Barrier between two groups.

use super::Inter;
use crate::schedule::{Peer, Schedule};
use crate::tree::{children, parent};

/// Each group gathers signals at its leader, the leaders exchange one, and release their groups.
///
/// Cost: 2 log2 n + 1 messages on the longest path. No rank leaves before all of the other group
/// have entered (which is all that MPI asks for).
pub fn schedule(input: &Inter) -> Schedule {
    let Inter { rank, local_size, .. } = *input;
    let mut s = Schedule::new();
    for child in children(rank, local_size) {
        s.await_signal(Peer::Local(child));
    }
    s.end_round();
    let above = if rank == 0 { Peer::Remote(0) } else { Peer::Local(parent(rank)) };
    s.signal(above);
    s.await_signal(above);
    s.end_round();
    for child in children(rank, local_size).rev() {
        s.signal(Peer::Local(child));
    }
    s.end_round();
    s
}
