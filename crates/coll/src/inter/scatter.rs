//! Scatter to the other group.

use super::{Inter, Role};
use crate::exchange::{self, Blocks, Sent, Varied};
use crate::input::{Exchange, ScatterV};
use crate::scatter::binomial::scatter_from_leader;
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};
use crate::select::{DEFAULT, Scatter, Tables};

/// The schedule that the default tables choose.
pub fn schedule(inter: &Inter, role: Role, input: &Exchange) -> Schedule {
    schedule_with(&DEFAULT, inter, role, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, inter: &Inter, role: Role, input: &Exchange) -> Schedule {
    let (size, bytes) = match role {
        Role::Member { .. } => (inter.local_size, input.recv_bytes()),
        _ => (inter.remote_size, input.send_bytes()),
    };
    build(tables.scatter(size, bytes), inter, role, input)
}

/// The schedule of one algorithm: the root sends to all, or everything in one message to the
/// leader, which scatters along a binomial tree. `rank` and `size` of `input` are not looked at.
pub fn build(algorithm: Scatter, inter: &Inter, role: Role, input: &Exchange) -> Schedule {
    let own = input.received(0, 1);
    match (algorithm, role) {
        (_, Role::Bystander) => Schedule::new(),
        (Scatter::Linear, Role::Root) => from_root(inter, &Sent(input)),
        (Scatter::Linear, Role::Member { root }) => into_member(root, own, input.recv_bytes()),
        (Scatter::Binomial, Role::Root) => {
            let mut s = Schedule::new();
            if input.send_bytes() > 0 {
                s.send(Peer::Remote(0), input.sent(0, inter.remote_size));
                s.end_round();
            }
            s
        }
        (Scatter::Binomial, Role::Member { root }) => {
            by_leader(inter, root, own, input.recv_bytes())
        }
    }
}

/// `MPI_Scatterv`: the root sends to all. `rank`, `size` and `root` of `input` are not looked at.
pub fn schedule_v(inter: &Inter, role: Role, input: &ScatterV) -> Schedule {
    let own = Block::new(Buffer::Recv, 0, input.recv_count, Ty::Recv);
    match role {
        Role::Bystander => Schedule::new(),
        Role::Root => from_root(inter, &Varied(&input.send, Buffer::Send)),
        Role::Member { root } => into_member(root, own, input.recv_count * input.recv_size),
    }
}

fn by_leader(inter: &Inter, root: u32, own: Block, bytes: i64) -> Schedule {
    let mut s = Schedule::new();
    if bytes == 0 {
        return s;
    }
    let Inter { rank, local_size, .. } = *inter;
    let held = (rank == 0).then(|| {
        let total = i64::from(local_size) * bytes;
        let held = Block::bytes(s.temp_bytes(total), 0, total);
        s.recv(Peer::Remote(root), held);
        s.end_round();
        held
    });
    scatter_from_leader(&mut s, (rank, local_size), held, own, bytes);
    s
}

fn into_member(root: u32, own: Block, bytes: i64) -> Schedule {
    let mut s = Schedule::new();
    if bytes > 0 {
        s.recv(Peer::Remote(root), own);
        s.end_round();
    }
    s
}

fn from_root(inter: &Inter, send: &impl Blocks) -> Schedule {
    let mut s = Schedule::new();
    for to in 0..inter.remote_size {
        if send.bytes(to) > 0 {
            s.send(Peer::Remote(to), send.block(to));
        }
        if (to + 1) % exchange::WINDOW == 0 {
            s.end_round();
        }
    }
    s.end_round();
    s
}
