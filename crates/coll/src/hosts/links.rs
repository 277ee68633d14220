//! What the heads of sites do among themselves, over a slow link between each two. Where possible every head sends to every
//! other at once, so that nothing waits for more than one crossing. In these schedules ranks are sites.

use crate::allgatherv;
use crate::allreduce::{self, direct};
use crate::barrier::dissemination;
use crate::input::{Broadcast, GatherV, Group, Reduction};
use crate::reduce;
use crate::schedule::{Block, Buffer, Peer, Schedule, TempSpec};
use crate::select::Tables;

/// A barrier: everybody signals to everybody.
pub fn barrier(group: &Group) -> Schedule {
    dissemination::with_radix(group, group.size)
}

/// A broadcast: the root sends to everybody.
pub fn bcast(input: &Broadcast) -> Schedule {
    let mut s = Schedule::new();
    let whole = input.whole();
    match input.rank == input.root {
        true => others(input.rank, input.size).for_each(|to| s.send(Peer::Local(to), whole)),
        false => s.recv(Peer::Local(input.root), whole),
    }
    s.end_round();
    s
}

/// An allreduce: everybody gets all operands, unless they are too many.
pub fn allreduce(tables: &Tables, input: &Reduction) -> Schedule {
    match is_direct(tables, input) {
        true => direct::schedule(input),
        false => allreduce::schedule_with(tables, input),
    }
}

/// A reduction: the root gets all operands and combines them in rank order, unless they are too many.
pub fn reduce(tables: &Tables, input: &Reduction) -> Schedule {
    let Reduction { rank, size, root, count, .. } = *input;
    if !is_direct(tables, input) {
        return reduce::schedule_with(tables, input);
    }
    let mut s = Schedule::new();
    if rank != root {
        s.send(Peer::Local(root), input.whole(Buffer::Send));
        s.end_round();
        return s;
    }
    let own = input.whole(input.source());
    let operands: Vec<Block> = (0..size)
        .map(|from| match from == root {
            true => own,
            false => {
                let place = input.whole(s.temp(TempSpec::Elements(count)));
                s.recv(Peer::Local(from), place);
                place
            }
        })
        .collect();
    // The last one takes up all before it.
    if let Some((last, before)) = operands.split_last() {
        let result = input.whole(Buffer::Recv);
        let sum = match *last == own && own != result {
            true => {
                s.copy(own, result);
                result
            }
            false => *last,
        };
        before.iter().rev().for_each(|operand| s.reduce(*operand, sum));
        if sum != result {
            s.copy(sum, result);
        }
    }
    s.end_round();
    s
}

/// An allgather: everybody sends its block to everybody.
pub fn allgather(input: &GatherV) -> Schedule {
    allgatherv::direct::schedule(input)
}

/// Whether all operands are few enough bytes to come together in one place.
fn is_direct(tables: &Tables, input: &Reduction) -> bool {
    let others = input.size - 1;
    let fits = input.bytes().saturating_mul(others.into()) <= tables.direct;
    others <= 1 || fits && input.size <= direct::MOST_RANKS
}

fn others(rank: u32, size: u32) -> impl Iterator<Item = u32> {
    (0..size).filter(move |other| *other != rank)
}
