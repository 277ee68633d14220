//! Broadcast to the other group.

use super::Role;
use crate::bcast::binomial::tree_bcast;
use crate::input::Broadcast;
use crate::schedule::{Peer, Schedule};

/// The root sends to the leader of the other group, which broadcasts along a binomial tree.
///
/// Cost: 1 + log2 n messages on the longest path.
///
/// `rank` and `size` are those of the local group, `root` is not looked at.
pub fn schedule(role: Role, input: &Broadcast) -> Schedule {
    let mut s = Schedule::new();
    if input.bytes() == 0 {
        return s;
    }
    match role {
        Role::Bystander => {}
        Role::Root => s.send(Peer::Remote(0), input.whole()),
        Role::Member { root } => {
            if input.rank == 0 {
                s.recv(Peer::Remote(root), input.whole());
                s.end_round();
            }
            tree_bcast(&mut s, input.rank, input.size, 0, input.whole());
        }
    }
    s.end_round();
    s
}
