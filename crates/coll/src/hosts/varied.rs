//! Exchanges whose lengths differ by rank, between sites. Without sites the plain algorithms are used.

use super::{Hosts, heads, moved, spread};
use crate::exchange::{self, Blocks, Typed, Varied};
use crate::input::{AlltoallV, AlltoallW, GatherV, ScatterV, Vectors};
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};
use crate::select::Tables;
use crate::{allgatherv as plain, alltoallv as plain_v, alltoallw as plain_w, gather, scatter};

/// The blocks of a host go to its head, the heads exchange what they have, host by host and site by site, and each gives the
/// whole to its host.
///
/// Cost: one message for each pair of sites, and a packed copy of the whole on every rank.
pub fn allgatherv(tables: &Tables, hosts: &Hosts, input: &GatherV) -> Schedule {
    let GatherV { rank, size, .. } = *input;
    let recv = Varied(&input.recv, Buffer::Recv);
    // Where the packed block at each position starts, and the end.
    let mut starts = vec![0];
    starts.extend((0..size).scan(0, |at, position| {
        *at += recv.bytes(hosts.at(position));
        Some(*at)
    }));
    let total = starts[size as usize];
    if hosts.sites().is_none() || total > hosts.limits(tables).allgather {
        return plain::schedule_with(tables, input);
    }
    let mut s = Schedule::new();
    if total == 0 {
        return s;
    }
    let all = s.temp_bytes(total);
    let run = |first: u32, end: u32| {
        let (first, end) = (starts[first as usize], starts[end as usize]);
        Block::bytes(all, first, end - first)
    };
    let block = |position: u32| run(position, position + 1);
    let host = hosts.host(rank);
    let (team, own) = (hosts.team(host), plain::own(input));
    if rank == team[0] {
        for (position, member) in (hosts.start(host)..).zip(team) {
            match *member == rank {
                _ if recv.bytes(*member) == 0 => {}
                true => s.copy(own, block(position)),
                false => s.recv(Peer::Local(*member), block(position)),
            }
        }
        s.end_round();
        let numbers = 0..hosts.count();
        let runs: Vec<Block> =
            numbers.map(|host| run(hosts.start(host), hosts.start(host + 1))).collect();
        let counts: Vec<i64> = runs.iter().map(|run| run.count).collect();
        let displs: Vec<i64> = runs.iter().map(|run| run.offset).collect();
        let recv = Vectors { counts: &counts, displs: &displs, extent: 1, size_bytes: 1 };
        let (rank, size) = (host, hosts.count());
        let among =
            GatherV { rank, size, root: 0, send_count: 0, send_size: 1, recv, in_place: true };
        let part = heads::allgather_in_place(tables, hosts, &among);
        let packed = |b: Block| match b.buffer {
            Buffer::Recv => Block { ty: Ty::Bytes, ..moved(b, Buffer::Recv, all) },
            _ => b,
        };
        s.append(&part, |host| hosts.team(host)[0], packed);
    } else if recv.bytes(rank) > 0 {
        s.send(Peer::Local(team[0]), own);
        s.end_round();
    }
    spread(&mut s, tables, hosts, (rank, team[0]), run(0, size), total);
    for position in (0..size).filter(|position| recv.bytes(hosts.at(*position)) > 0) {
        s.copy(block(position), recv.block(hosts.at(position)));
    }
    s.end_round();
    s
}

/// The plain exchange, but that all blocks between sites are on their way at once: nobody knows the lengths of others, so a message
/// for each pair of ranks it has to be, but none waits for another's crossing.
pub fn alltoallv(hosts: &Hosts, input: &AlltoallV) -> Schedule {
    if hosts.sites().is_none() || input.in_place {
        return plain_v::schedule(input);
    }
    let (send, recv) = (Varied(&input.send, Buffer::Send), Varied(&input.recv, Buffer::Recv));
    all_at_once(hosts, (input.rank, input.size), &send, &recv)
}

/// The plain gather, but that the root takes all blocks at once.
pub fn gatherv(hosts: &Hosts, input: &GatherV) -> Schedule {
    match hosts.sites() {
        Some(_) => gather::linear::schedule_v_with_window(input, input.size),
        None => gather::schedule_v(input),
    }
}

/// The plain scatter, but that the root sends all blocks at once.
pub fn scatterv(hosts: &Hosts, input: &ScatterV) -> Schedule {
    match hosts.sites() {
        Some(_) => scatter::linear::schedule_v_with_window(input, input.size),
        None => scatter::schedule_v(input),
    }
}

/// As [`alltoallv`].
pub fn alltoallw(hosts: &Hosts, input: &AlltoallW) -> Schedule {
    if hosts.sites().is_none() || input.in_place {
        return plain_w::schedule(input);
    }
    let (send, recv) = (Typed(&input.send, Buffer::Send), Typed(&input.recv, Buffer::Recv));
    all_at_once(hosts, (input.rank, input.size), &send, &recv)
}

/// The exchange of every pair of ranks, those between sites in the first round.
pub(super) fn all_at_once(
    hosts: &Hosts,
    (rank, size): (u32, u32),
    send: &impl Blocks,
    recv: &impl Blocks,
) -> Schedule {
    let mut s = Schedule::new();
    exchange::keep(&mut s, rank, send, recv);
    let site = hosts.site(rank);
    let far = |peer: u32| hosts.site(peer) != site;
    exchange::local_with(&mut s, (rank, size), exchange::WINDOW, send, recv, far);
    s
}
