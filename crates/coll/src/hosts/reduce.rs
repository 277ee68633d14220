//! Reductions by hosts.

use super::{Hosts, heads, moved, parts, spread};
use crate::input::Reduction;
use crate::schedule::{Buffer, Peer, Schedule, TempSpec};
use crate::select::Tables;
use crate::{allreduce as plain_all, reduce as plain};

/// A reduction in each host to its head, an allreduce among the heads, a broadcast in each host.
///
/// Cost: between hosts that of an allreduce with one rank per host.
pub fn allreduce(tables: &Tables, hosts: &Hosts, input: &Reduction) -> Schedule {
    let keeps_order = input.commutative || hosts.in_order();
    let limits = hosts.limits(tables);
    if input.bytes() > limits.allreduce.max(limits.parts) || !keeps_order {
        return plain_all::schedule_with(tables, input);
    }
    if input.bytes() > limits.allreduce {
        return match hosts.smallest() {
            1 => plain_all::schedule_with(tables, input),
            _ => parts::allreduce(tables, hosts, input),
        };
    }
    let mut s = Schedule::new();
    if input.count == 0 {
        return s;
    }
    let host = hosts.host(input.rank);
    let head = hosts.team(host)[0];
    // Away from its root a reduction has no input in place, but here it may lie there.
    let source = input.source();
    gather(&mut s, tables, hosts, input, head, |b| moved(b, Buffer::Send, source));
    if input.rank == head {
        s.append(&heads::allreduce(tables, hosts, input), |rank| rank, |block| block);
    }
    let whole = input.whole(Buffer::Recv);
    spread(&mut s, tables, hosts, (input.rank, head), whole, input.bytes());
    s
}

/// A reduction in each host to its head, then one among the heads, of which the root is one.
///
/// Cost: between hosts that of a reduction with one rank per host.
pub fn reduce(tables: &Tables, hosts: &Hosts, input: &Reduction) -> Schedule {
    let Reduction { rank, root, count, .. } = *input;
    let may_order = input.commutative || hosts.in_order();
    if input.bytes() > hosts.limits(tables).reduce || !may_order {
        return plain::schedule_with(tables, input);
    }
    if !(input.commutative || hosts.leads(root)) {
        return match hosts.sites() {
            None => plain::schedule_with(tables, input),
            Some(_) => by_leader(tables, hosts, input),
        };
    }
    let mut s = Schedule::new();
    if count == 0 {
        return s;
    }
    let host = hosts.host(rank);
    let head = hosts.head(host, root);
    if rank != head {
        gather(&mut s, tables, hosts, input, head, |block| block);
        return s;
    }
    let lone = hosts.team(host).len() == 1;
    let result = match rank == root {
        true => Buffer::Recv,
        false if lone => Buffer::Send,
        false => s.temp(TempSpec::Elements(count)),
    };
    if !lone || rank == root {
        gather(&mut s, tables, hosts, input, head, |b| moved(b, Buffer::Recv, result));
    }
    let part = heads::reduce(tables, hosts, input);
    s.append(&part, |rank| rank, |b| moved(b, Buffer::Send, result));
    s
}

/// A reduction to the first rank of the root's site, where operands come together in rank order, which passes
/// the result to the root.
fn by_leader(tables: &Tables, hosts: &Hosts, input: &Reduction) -> Schedule {
    let Reduction { rank, root, .. } = *input;
    let leader = hosts.leader(root);
    let part = reduce(tables, hosts, &Reduction { root: leader, in_place: false, ..*input });
    let mut s = Schedule::new();
    let whole = |buffer| input.whole(buffer);
    if rank == leader {
        let result = s.temp(TempSpec::Elements(input.count));
        s.append(&part, |rank| rank, |b| moved(b, Buffer::Recv, result));
        s.send(Peer::Local(root), whole(result));
    } else {
        let source = if rank == root { input.source() } else { Buffer::Send };
        s.append(&part, |rank| rank, |b| moved(b, Buffer::Send, source));
        if rank == root {
            s.recv(Peer::Local(leader), whole(Buffer::Recv));
        }
    }
    s.end_round();
    s
}

/// Appends the reduction within a host; its result is in what `place` makes of the head's receive
/// buffer.
fn gather(
    s: &mut Schedule,
    tables: &Tables,
    hosts: &Hosts,
    input: &Reduction,
    head: u32,
    place: impl Fn(crate::Block) -> crate::Block,
) {
    let team = hosts.team(hosts.host(input.rank));
    let part = plain::schedule_with(
        tables,
        &Reduction {
            rank: hosts.number(input.rank),
            size: team.len() as u32,
            root: hosts.number(head),
            in_place: input.in_place && input.rank == head,
            ..*input
        },
    );
    s.append(&part, |number| team[number as usize], place);
}
