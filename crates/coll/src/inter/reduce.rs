//! Reductions whose operands come from one group and whose result goes to the other.

use super::Role;
use crate::bcast::binomial::tree_bcast;
use crate::input::{self, Reduction};
use crate::reduce::tree_reduce;
use crate::reduce_scatter::{Job, tree::deal};
use crate::schedule::{Block, Buffer, Peer, Schedule, TempSpec};

/// `MPI_Reduce`: the other group reduces to its leader in rank order, which sends to the root.
///
/// Cost: log2 n + 1 messages on the longest path.
///
/// `rank` and `size` are those of the local group, `root` is not looked at.
pub fn reduce(role: Role, input: &Reduction) -> Schedule {
    let mut s = Schedule::new();
    if input.count == 0 {
        return s;
    }
    match role {
        Role::Bystander => {}
        Role::Root => s.recv(Peer::Remote(0), input.whole(Buffer::Recv)),
        Role::Member { root } => {
            if let Some(value) = to_leader(&mut s, input) {
                s.send(Peer::Remote(root), value);
            }
        }
    }
    s.end_round();
    s
}

/// `MPI_Allreduce`: each group reduces to its leader, the leaders exchange, and broadcast.
///
/// Cost: log2 n + 1 + log2 m messages on the longest path. All ranks of a group get the same bits.
///
/// `rank` and `size` are those of the local group.
pub fn allreduce(input: &Reduction) -> Schedule {
    let mut s = Schedule::new();
    if input.count == 0 {
        return s;
    }
    let result = input.whole(Buffer::Recv);
    if let Some(value) = to_leader(&mut s, input) {
        s.recv(Peer::Remote(0), result);
        s.send(Peer::Remote(0), value);
        s.end_round();
    }
    tree_bcast(&mut s, input.rank, input.size, 0, result);
    s
}

/// `MPI_Reduce_scatter`: as the allreduce, with a scatter in place of the broadcast.
///
/// `rank`, `size` and `counts` are those of the local group; both groups' counts have one sum.
pub fn reduce_scatter(input: &input::ReduceScatter) -> Schedule {
    scatter_job(&Job::uneven(input))
}

/// `MPI_Reduce_scatter_block`: `count` is that of one rank's result in the local group; times the
/// size of the group it is the same in both.
pub fn reduce_scatter_block(input: &Reduction) -> Schedule {
    scatter_job(&Job::even(input))
}

fn scatter_job(job: &Job) -> Schedule {
    let mut s = Schedule::new();
    let all = job.all();
    if all.count == 0 {
        return s;
    }
    let theirs = to_leader(&mut s, all).map(|value| {
        let theirs = all.whole(s.temp(TempSpec::Elements(all.count)));
        s.recv(Peer::Remote(0), theirs);
        s.send(Peer::Remote(0), value);
        s.end_round();
        theirs
    });
    deal(&mut s, job, theirs);
    s
}

/// Appends the reduction to the leader, in rank order; returns there where the result lies.
fn to_leader(s: &mut Schedule, input: &Reduction) -> Option<Block> {
    let needs_room = input.rank == 0 && input.size > 1;
    let target = if needs_room { s.temp(TempSpec::Elements(input.count)) } else { Buffer::Recv };
    tree_reduce(s, input, 0, Buffer::Send, target)
}
