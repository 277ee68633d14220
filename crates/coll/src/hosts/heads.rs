//! What the heads of hosts do among themselves, for callers that collect and distribute inside a host by other means than
//! messages.
//!
//! Buffers are those of the heads: packed bytes, or operands. All ranks of these schedules are
//! ranks of the whole group.

use super::{Between, Hosts, links};
use crate::barrier::dissemination;
use crate::input::{Broadcast, GatherV, Group, Reduction, Vectors};
use crate::schedule::{Block, Buffer, Peer, Schedule};
use crate::select::Tables;
use crate::{
    allgatherv, allreduce as plain_allreduce, bcast as plain_bcast, reduce as plain_reduce,
};

/// A barrier. The head of a host is its lowest rank.
pub fn barrier(hosts: &Hosts, rank: u32) -> Schedule {
    let group = Group { rank: hosts.host(rank), size: hosts.count() };
    let part = match &hosts.between {
        Between::Cables => dissemination::schedule(&group),
        Between::Sites(sites) => super::barrier(sites, group.rank),
        Between::Links => links::barrier(&group),
    };
    renamed(&part, |host| hosts.team(host)[0])
}

/// A broadcast of the receive buffer. The root is the head of its host.
pub fn bcast(tables: &Tables, hosts: &Hosts, input: &Broadcast) -> Schedule {
    let Broadcast { rank, root, .. } = *input;
    let (rank, size, top) = (hosts.host(rank), hosts.count(), hosts.host(root));
    let among = Broadcast { rank, size, root: top, ..*input };
    let part = match &hosts.between {
        Between::Cables => plain_bcast::schedule_with(tables, &among),
        Between::Sites(sites) => super::bcast(tables, sites, &among),
        Between::Links => links::bcast(&among),
    };
    renamed(&part, |host| hosts.head(host, root))
}

/// An allreduce in place. The head of a host is its lowest rank.
pub fn allreduce(tables: &Tables, hosts: &Hosts, input: &Reduction) -> Schedule {
    let (rank, size) = (hosts.host(input.rank), hosts.count());
    let among = Reduction { rank, size, in_place: true, ..*input };
    let part = match &hosts.between {
        Between::Cables => plain_allreduce::schedule_with(tables, &among),
        Between::Sites(sites) => super::allreduce(tables, sites, &among),
        Between::Links => links::allreduce(tables, &among),
    };
    renamed(&part, |host| hosts.team(host)[0])
}

/// A reduction, in place at the root, which is the head of its host; elsewhere the operand is in
/// the send buffer.
pub fn reduce(tables: &Tables, hosts: &Hosts, input: &Reduction) -> Schedule {
    let Reduction { rank, root, .. } = *input;
    let in_place = rank == root;
    let (rank, size, top) = (hosts.host(rank), hosts.count(), hosts.host(root));
    let among = Reduction { rank, size, root: top, in_place, ..*input };
    let part = match &hosts.between {
        Between::Cables => plain_reduce::schedule_with(tables, &among),
        Between::Sites(sites) => super::reduce(tables, sites, &among),
        Between::Links => links::reduce(tables, &among),
    };
    renamed(&part, |host| hosts.head(host, root))
}

/// An allgather in place, of packed blocks of `bytes` in the order of positions. The head of a host is
/// its lowest rank.
pub fn allgather(tables: &Tables, hosts: &Hosts, rank: u32, bytes: i64) -> Schedule {
    let numbers = 0..hosts.count();
    let counts: Vec<i64> =
        numbers.clone().map(|host| hosts.team(host).len() as i64 * bytes).collect();
    let displs: Vec<i64> = numbers.map(|host| i64::from(hosts.start(host)) * bytes).collect();
    let part = allgather_in_place(
        tables,
        hosts,
        &GatherV {
            rank: hosts.host(rank),
            size: hosts.count(),
            root: 0,
            send_count: 0,
            send_size: 1,
            recv: Vectors { counts: &counts, displs: &displs, extent: 1, size_bytes: 1 },
            in_place: true,
        },
    );
    renamed(&part, |host| hosts.team(host)[0])
}

/// An allgather in place of a block for each host, one behind the other. All ranks of this schedule
/// are hosts.
pub(super) fn allgather_in_place(tables: &Tables, hosts: &Hosts, input: &GatherV) -> Schedule {
    match &hosts.between {
        Between::Cables => allgatherv::schedule_with(tables, input),
        Between::Sites(sites) => super::allgather::in_place(tables, sites, input),
        Between::Links => links::allgather(input),
    }
}

/// One message to and from the carrier of each host that [`Hosts::loads`] names. Both buffers hold
/// packed blocks of `bytes`, load after load: by sender, then by receiver.
pub fn alltoall(hosts: &Hosts, rank: u32, bytes: i64) -> Schedule {
    let mut s = Schedule::new();
    let mut at = 0;
    for load in hosts.loads(rank) {
        let length = load.blocks * bytes;
        let peer = Peer::Local(load.peer);
        s.recv(peer, Block::bytes(Buffer::Recv, at, length));
        s.send(peer, Block::bytes(Buffer::Send, at, length));
        at += length;
    }
    s.end_round();
    s
}

/// One message to the [`Hosts::landing`] of each other host, with the blocks for all of that host,
/// and one from each of the [`Hosts::arrivals`]. In the send buffer are packed blocks of `bytes` for
/// all ranks, in the receive buffer those that arrive, both in the order of positions.
pub fn alltoall_of_all(hosts: &Hosts, rank: u32, bytes: i64) -> Schedule {
    let mut s = Schedule::new();
    let here = hosts.host(rank);
    let each = hosts.team(here).len() as i64 * bytes;
    for (i, sender) in (0..).zip(hosts.arrivals(rank)) {
        s.recv(Peer::Local(sender), Block::bytes(Buffer::Recv, i * each, each));
    }
    for other in hosts.others(here) {
        let (first, count) = (hosts.start(other), hosts.team(other).len());
        let blocks = Block::bytes(Buffer::Send, i64::from(first) * bytes, count as i64 * bytes);
        s.send(Peer::Local(hosts.landing(rank, other)), blocks);
    }
    s.end_round();
    s
}

fn renamed(part: &Schedule, name: impl Fn(u32) -> u32) -> Schedule {
    let mut s = Schedule::new();
    s.append(part, name, |block| block);
    s
}
