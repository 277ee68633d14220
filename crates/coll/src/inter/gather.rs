//! Gather from the other group.

use super::{Inter, Role};
use crate::exchange::{self, Blocks, Received, Varied};
use crate::gather::binomial::gather_packed;
use crate::input::{Exchange, GatherV};
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};
use crate::select::{DEFAULT, Gather, Tables};
use crate::tree::{parent, span};

/// The schedule that the default tables choose.
pub fn schedule(inter: &Inter, role: Role, input: &Exchange) -> Schedule {
    schedule_with(&DEFAULT, inter, role, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, inter: &Inter, role: Role, input: &Exchange) -> Schedule {
    let (size, bytes) = match role {
        Role::Member { .. } => (inter.local_size, input.send_bytes()),
        _ => (inter.remote_size, input.recv_bytes()),
    };
    build(tables.gather(size, bytes), inter, role, input)
}

/// The schedule of one algorithm: all send to the root, or gather along a binomial tree at their
/// leader, which sends everything in one message. `rank` and `size` of `input` are not looked at.
pub fn build(algorithm: Gather, inter: &Inter, role: Role, input: &Exchange) -> Schedule {
    let own = input.sent(0, 1);
    match (algorithm, role) {
        (_, Role::Bystander) => Schedule::new(),
        (Gather::Linear, Role::Root) => into_root(inter, &Received(input)),
        (Gather::Linear, Role::Member { root }) => to_root(root, own, input.send_bytes()),
        (Gather::Binomial, Role::Root) => to_or_from_leader(input.recv_bytes(), |s| {
            s.recv(Peer::Remote(0), input.received(0, inter.remote_size));
        }),
        (Gather::Binomial, Role::Member { root }) => {
            let bytes = input.send_bytes();
            to_or_from_leader(bytes, |s| {
                let held = to_leader(s, inter, own, bytes);
                if let Some(held) = held {
                    s.send(Peer::Remote(root), held);
                }
            })
        }
    }
}

/// `MPI_Gatherv`: all send to the root. `rank`, `size` and `root` of `input` are not looked at.
pub fn schedule_v(inter: &Inter, role: Role, input: &GatherV) -> Schedule {
    let own = Block::new(Buffer::Send, 0, input.send_count, Ty::Send);
    match role {
        Role::Bystander => Schedule::new(),
        Role::Root => into_root(inter, &Varied(&input.recv, Buffer::Recv)),
        Role::Member { root } => to_root(root, own, input.send_count * input.send_size),
    }
}

/// Appends the gather of the group's blocks at the leader, which gets told where they lie.
pub(super) fn to_leader(s: &mut Schedule, inter: &Inter, own: Block, bytes: i64) -> Option<Block> {
    let Inter { rank, local_size, .. } = *inter;
    let held = gather_packed(s, (rank, local_size, 0), own, bytes);
    if rank == 0 {
        return Some(held);
    }
    debug_assert!(held == own || held.count == i64::from(span(rank, local_size)) * bytes);
    s.send(Peer::Local(parent(rank)), held);
    s.end_round();
    None
}

fn to_or_from_leader(bytes: i64, fill: impl FnOnce(&mut Schedule)) -> Schedule {
    let mut s = Schedule::new();
    if bytes > 0 {
        fill(&mut s);
        s.end_round();
    }
    s
}

fn to_root(root: u32, own: Block, bytes: i64) -> Schedule {
    to_or_from_leader(bytes, |s| s.send(Peer::Remote(root), own))
}

fn into_root(inter: &Inter, recv: &impl Blocks) -> Schedule {
    let mut s = Schedule::new();
    for from in 0..inter.remote_size {
        if recv.bytes(from) > 0 {
            s.recv(Peer::Remote(from), recv.block(from));
        }
        if (from + 1) % exchange::WINDOW == 0 {
            s.end_round();
        }
    }
    s.end_round();
    s
}
