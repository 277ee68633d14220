//! Allgather by hosts.

use super::{Hosts, heads, spread};
use crate::allgather as plain;
use crate::input::{Exchange, GatherV, Vectors};
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};
use crate::select::Tables;

/// The blocks of a host go to its head, the heads exchange what they have, and each gives the whole
/// to its host.
///
/// Cost: between hosts that of an allgather with one rank per host. Where the ranks of a host are
/// not neighbours, a packed copy of the whole on every rank.
pub fn allgather(tables: &Tables, hosts: &Hosts, input: &Exchange) -> Schedule {
    let bytes = input.recv_bytes() * i64::from(input.size);
    if bytes > hosts.limits(tables).allgather {
        return plain::schedule_with(tables, input);
    }
    let mut s = Schedule::new();
    if bytes == 0 {
        return s;
    }
    let whole = Whole::new(&mut s, hosts, input);
    let rank = input.rank;
    let head = hosts.team(hosts.host(rank))[0];
    let own = if input.in_place { input.received(rank, 1) } else { input.sent(0, 1) };
    if rank == head {
        collect(&mut s, hosts, input, own, &whole);
        among(&mut s, tables, hosts, input, &whole);
    } else {
        s.send(Peer::Local(head), own);
        s.end_round();
    }
    spread(&mut s, tables, hosts, (rank, head), whole.blocks(0, input.size), bytes);
    if whole.temp.is_some() {
        for position in 0..input.size {
            s.copy(whole.blocks(position, 1), input.received(hosts.ranks[position as usize], 1));
        }
        s.end_round();
    }
    s
}

/// The same in place of a block for each rank, one behind the other. Positions have to be ranks.
pub(super) fn in_place(tables: &Tables, hosts: &Hosts, input: &GatherV) -> Schedule {
    let (rank, recv) = (input.rank, &input.recv);
    let block = |first: u32, end: u32| {
        let first = first as usize;
        let count = recv.counts[first..end as usize].iter().sum();
        Block::new(Buffer::Recv, recv.displs[first] * recv.extent, count, Ty::Recv)
    };
    let of_host = |host: u32| block(hosts.start(host), hosts.start(host + 1));
    let mut s = Schedule::new();
    let team = hosts.team(hosts.host(rank));
    let head = team[0];
    if rank == head {
        team[1..].iter().for_each(|rank| s.recv(Peer::Local(*rank), block(*rank, rank + 1)));
        s.end_round();
        let numbers = 0..hosts.count();
        let blocks: Vec<Block> = numbers.map(of_host).collect();
        let counts: Vec<i64> = blocks.iter().map(|block| block.count).collect();
        let displs: Vec<i64> =
            (0..hosts.count()).map(|host| recv.displs[hosts.start(host) as usize]).collect();
        let recv = Vectors { counts: &counts, displs: &displs, ..*recv };
        let (rank, size) = (hosts.host(rank), hosts.count());
        let among = GatherV { rank, size, recv, ..*input };
        let part = heads::allgather_in_place(tables, hosts, &among);
        s.append(&part, |host| hosts.team(host)[0], |block| block);
    } else {
        s.send(Peer::Local(head), block(rank, rank + 1));
        s.end_round();
    }
    let whole = block(0, input.size);
    spread(&mut s, tables, hosts, (rank, head), whole, whole.count * recv.size_bytes);
    s
}

/// All blocks in the order of positions: the receive buffer, or packed in a temporary.
struct Whole<'a> {
    input: &'a Exchange,
    temp: Option<Buffer>,
}

impl<'a> Whole<'a> {
    fn new(s: &mut Schedule, hosts: &Hosts, input: &'a Exchange) -> Whole<'a> {
        let bytes = input.recv_bytes() * i64::from(input.size);
        Whole { input, temp: (!hosts.in_order()).then(|| s.temp_bytes(bytes)) }
    }

    fn blocks(&self, position: u32, count: u32) -> Block {
        let bytes = self.input.recv_bytes();
        match self.temp {
            None => self.input.received(position, count),
            Some(t) => Block::bytes(t, i64::from(position) * bytes, i64::from(count) * bytes),
        }
    }
}

/// Appends that the head gets the blocks of its host.
fn collect(s: &mut Schedule, hosts: &Hosts, input: &Exchange, own: Block, whole: &Whole<'_>) {
    let host = hosts.host(input.rank);
    for (position, rank) in (hosts.start(host)..).zip(hosts.team(host)) {
        let block = whole.blocks(position, 1);
        match *rank == input.rank {
            false => s.recv(Peer::Local(*rank), block),
            true if own != block => s.copy(own, block),
            true => {}
        }
    }
    s.end_round();
}

/// Appends the exchange among heads.
fn among(s: &mut Schedule, tables: &Tables, hosts: &Hosts, input: &Exchange, whole: &Whole<'_>) {
    // Elements of a rank's block, where it lies in the end or in the packed form.
    let (each, extent, size_bytes) = match whole.temp {
        None => (input.recv_count, input.recv_extent, input.recv_size),
        Some(_) => (input.recv_bytes(), 1, 1),
    };
    let numbers = 0..hosts.count();
    let counts: Vec<i64> =
        numbers.clone().map(|host| hosts.team(host).len() as i64 * each).collect();
    let displs: Vec<i64> = numbers.map(|host| i64::from(hosts.start(host)) * each).collect();
    let part = heads::allgather_in_place(
        tables,
        hosts,
        &GatherV {
            rank: hosts.host(input.rank),
            size: hosts.count(),
            root: 0,
            send_count: 0,
            send_size: 1,
            recv: Vectors { counts: &counts, displs: &displs, extent, size_bytes },
            in_place: true,
        },
    );
    s.append(
        &part,
        |host| hosts.team(host)[0],
        |b| match (b.buffer, whole.temp) {
            (Buffer::Recv, Some(temp)) => Block { buffer: temp, ty: Ty::Bytes, ..b },
            _ => b,
        },
    );
}
