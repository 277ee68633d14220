//! Alltoall by hosts.

use super::varied::all_at_once;
use super::{Hosts, joined};
use crate::alltoall as plain;
use crate::exchange;
use crate::input::Exchange;
use crate::schedule::{Block, Buffer, Peer, Schedule};
use crate::select::Tables;

/// All blocks from one host to another travel in one message. For each other host one rank carries
/// what its own host sends there and gets from there; the ranks of a host share this work.
///
/// Cost: one message out and in per pair of hosts; within a host, per rank and other host, one
/// message to the carrier and one from it.
/// Wins: short blocks, where messages between hosts cost more than their bytes.
/// Source: in the manner of Traff, Rougier, "MPI collectives and datatypes for hierarchical
/// all-to-all communication", 2014.
pub fn alltoall(tables: &Tables, hosts: &Hosts, input: &Exchange) -> Schedule {
    let bytes = input.recv_bytes();
    let carried = bytes.saturating_mul(hosts.heaviest());
    let limits = hosts.limits(tables);
    if carried > limits.alltoall && bytes <= limits.joined {
        return joined::alltoall(hosts, input);
    }
    if carried > limits.alltoall {
        return match hosts.sites() {
            Some(_) if !input.in_place => all_at_once(
                hosts,
                (input.rank, input.size),
                &exchange::Sent(input),
                &exchange::Received(input),
            ),
            _ => plain::schedule_with(tables, input),
        };
    }
    let mut s = Schedule::new();
    if bytes == 0 {
        return s;
    }
    let mut work = Work::new(&mut s, hosts, input);
    work.hand_over(&mut s);
    work.cross(&mut s);
    work.hand_out(&mut s);
    s
}

/// What a carrier has for another host.
struct Load {
    host: u32,
    /// From the own host: by sender, then by receiver.
    out: Buffer,
    /// From the other host: by receiver, then by sender.
    sorted: Buffer,
}

struct Work<'a> {
    hosts: &'a Hosts,
    input: &'a Exchange,
    host: u32,
    team: &'a [u32],
    /// Packed blocks in the order of positions: what is sent, and what comes. Without one, the
    /// program's buffer has them in this order.
    packed: Option<Buffer>,
    landing: Option<Buffer>,
    loads: Vec<Load>,
}

impl<'a> Work<'a> {
    fn new(s: &mut Schedule, hosts: &'a Hosts, input: &'a Exchange) -> Work<'a> {
        let host = hosts.host(input.rank);
        let all = input.recv_bytes() * i64::from(input.size);
        let sorted = hosts.in_order();
        let packed = (input.in_place || !sorted).then(|| s.temp_bytes(all));
        let landing = (!sorted).then(|| s.temp_bytes(all));
        let team = hosts.team(host);
        let mut work = Work { hosts, input, host, team, packed, landing, loads: Vec::new() };
        for other in hosts.others(host) {
            if work.hosts.carrier(host, other) != input.rank {
                continue;
            }
            let bytes = work.between(other) * input.recv_bytes();
            let (out, sorted) = (s.temp_bytes(bytes), s.temp_bytes(bytes));
            work.loads.push(Load { host: other, out, sorted });
        }
        work
    }

    /// Blocks between the own host and another.
    fn between(&self, other: u32) -> i64 {
        self.team.len() as i64 * self.hosts.team(other).len() as i64
    }

    /// Blocks of a packed buffer.
    fn bytes(&self, buffer: Buffer, first: i64, count: i64) -> Block {
        let each = self.input.recv_bytes();
        Block::bytes(buffer, first * each, count * each)
    }

    fn source(&self, position: u32, count: u32) -> Block {
        match self.packed {
            None => self.input.sent(position, count),
            Some(packed) => self.bytes(packed, position.into(), count.into()),
        }
    }

    fn target(&self, position: u32, count: u32) -> Block {
        match self.landing {
            None => self.input.received(position, count),
            Some(landing) => self.bytes(landing, position.into(), count.into()),
        }
    }

    /// The positions of a host: the first, and how many.
    fn positions(&self, host: u32) -> (u32, u32) {
        (self.hosts.start(host), self.hosts.team(host).len() as u32)
    }

    /// Blocks for the own host go where they belong, the others to the carriers.
    fn hand_over(&mut self, s: &mut Schedule) {
        let (me, input) = (self.input.rank, self.input);
        if self.packed.is_some() {
            for position in 0..input.size {
                let rank = self.hosts.ranks[position as usize];
                let from =
                    if input.in_place { input.received(rank, 1) } else { input.sent(rank, 1) };
                s.copy(from, self.source(position, 1));
            }
            s.end_round();
        }
        let start = self.hosts.start(self.host);
        for (position, rank) in (start..).zip(self.team) {
            if *rank == me {
                s.copy(self.source(position, 1), self.target(position, 1));
            } else {
                s.recv(Peer::Local(*rank), self.target(position, 1));
                s.send(Peer::Local(*rank), self.source(position, 1));
            }
        }
        // On both sides in the order of hosts, so that messages of a pair match.
        for load in &self.loads {
            let there = self.hosts.team(load.host).len() as i64;
            for (number, rank) in (0..).zip(self.team) {
                let room = self.bytes(load.out, number * there, there);
                match *rank == me {
                    true => {
                        let (first, count) = self.positions(load.host);
                        s.copy(self.source(first, count), room);
                    }
                    false => s.recv(Peer::Local(*rank), room),
                }
            }
        }
        for other in self.hosts.others(self.host) {
            let carrier = self.hosts.carrier(self.host, other);
            if carrier != me {
                let (first, count) = self.positions(other);
                s.send(Peer::Local(carrier), self.source(first, count));
            }
        }
        s.end_round();
    }

    /// Carriers exchange, and sort what has come by receiver.
    fn cross(&mut self, s: &mut Schedule) {
        let mut sorts = Vec::new();
        for load in &self.loads {
            let blocks = self.between(load.host);
            let came = s.temp_bytes(blocks * self.input.recv_bytes());
            let peer = Peer::Local(self.hosts.carrier(load.host, self.host));
            s.recv(peer, self.bytes(came, 0, blocks));
            s.send(peer, self.bytes(load.out, 0, blocks));
            let (here, there) = (self.team.len() as i64, blocks / self.team.len() as i64);
            for to in 0..here {
                sorts.extend((0..there).map(|from| {
                    let sorted = self.bytes(load.sorted, to * there + from, 1);
                    (self.bytes(came, from * here + to, 1), sorted)
                }));
            }
        }
        sorts.into_iter().for_each(|(from, to)| s.copy(from, to));
        s.end_round();
    }

    /// Carriers give everybody what has come.
    fn hand_out(&mut self, s: &mut Schedule) {
        let me = self.input.rank;
        for load in &self.loads {
            let (first, there) = self.positions(load.host);
            for (number, rank) in (0..).zip(self.team) {
                let part = self.bytes(load.sorted, number * i64::from(there), there.into());
                match *rank == me {
                    true => s.copy(part, self.target(first, there)),
                    false => s.send(Peer::Local(*rank), part),
                }
            }
        }
        for other in self.hosts.others(self.host) {
            let carrier = self.hosts.carrier(self.host, other);
            if carrier != me {
                let (first, there) = self.positions(other);
                s.recv(Peer::Local(carrier), self.target(first, there));
            }
        }
        if self.landing.is_some() {
            for position in 0..self.input.size {
                let rank = self.hosts.ranks[position as usize];
                s.copy(self.target(position, 1), self.input.received(rank, 1));
            }
        }
        s.end_round();
    }
}
