//! Alltoall by hosts of blocks that are too long to be carried twice.

use super::Hosts;
use crate::input::Exchange;
use crate::schedule::{Block, Buffer, Peer, Schedule};

/// All blocks of a host for one rank of another travel in one message, straight to that rank: a
/// rank of the host collects them first, and the ranks of the host share this work.
///
/// Cost: between hosts of t ranks each, t messages of t blocks out and in per pair of hosts, where
/// the plain form has t * t; all blocks that leave a host are copied once more.
/// Wins: blocks of some ten KiB, where streams between hosts cost more to start than to copy.
pub fn alltoall(hosts: &Hosts, input: &Exchange) -> Schedule {
    let mut s = Schedule::new();
    if input.recv_bytes() == 0 {
        return s;
    }
    let work = Work::new(&mut s, hosts, input);
    let bundles = work.collect(&mut s);
    work.cross(&mut s, &bundles);
    s
}

/// The blocks of the own host for one rank of another, in rank order.
struct Bundle {
    to: u32,
    blocks: Block,
}

struct Work<'a> {
    hosts: &'a Hosts,
    input: &'a Exchange,
    host: u32,
    team: &'a [u32],
    /// A copy of what is sent, in rank order, where the receive buffer holds it.
    kept: Option<Buffer>,
}

impl<'a> Work<'a> {
    fn new(s: &mut Schedule, hosts: &'a Hosts, input: &'a Exchange) -> Work<'a> {
        let host = hosts.host(input.rank);
        let all = input.recv_bytes() * i64::from(input.size);
        let kept = input.in_place.then(|| s.temp_bytes(all));
        if let Some(kept) = kept {
            s.copy(input.received(0, input.size), Block::bytes(kept, 0, all));
            s.end_round();
        }
        Work { hosts, input, host, team: hosts.team(host), kept }
    }

    fn source(&self, rank: u32) -> Block {
        let bytes = self.input.recv_bytes();
        match self.kept {
            None => self.input.sent(rank, 1),
            Some(kept) => Block::bytes(kept, i64::from(rank) * bytes, bytes),
        }
    }

    /// Who of a team collects for the rank of this number on another host.
    fn collector(team: &[u32], number: u32) -> u32 {
        team[number as usize % team.len()]
    }

    /// Everybody gives blocks for other hosts to those who collect them.
    fn collect(&self, s: &mut Schedule) -> Vec<Bundle> {
        let (me, bytes) = (self.input.rank, self.input.recv_bytes());
        let mut bundles = Vec::new();
        // On both sides in this order, so that messages of a pair match.
        for other in self.hosts.others(self.host) {
            for (number, to) in (0..).zip(self.hosts.team(other)) {
                let collector = Work::collector(self.team, number);
                if collector != me {
                    s.send(Peer::Local(collector), self.source(*to));
                    continue;
                }
                let length = self.team.len() as i64 * bytes;
                let blocks = Block::bytes(s.temp_bytes(length), 0, length);
                for (i, from) in (0..).zip(self.team) {
                    let place = Block::bytes(blocks.buffer, i * bytes, bytes);
                    match *from == me {
                        true => s.copy(self.source(*to), place),
                        false => s.recv(Peer::Local(*from), place),
                    }
                }
                bundles.push(Bundle { to: *to, blocks });
            }
        }
        s.end_round();
        bundles
    }

    /// Bundles go to other hosts, and meanwhile the ranks of a host exchange their blocks.
    fn cross(&self, s: &mut Schedule, bundles: &[Bundle]) {
        let (me, input) = (self.input.rank, self.input);
        let mut sorts = Vec::new();
        for other in self.hosts.others(self.host) {
            let senders = self.hosts.team(other);
            let from = Work::collector(senders, self.hosts.number(me));
            let first = senders[0];
            // Ranks that follow each other have their blocks side by side.
            if self.hosts.is_run(other) {
                s.recv(Peer::Local(from), input.received(first, senders.len() as u32));
                continue;
            }
            let bytes = input.recv_bytes();
            let length = senders.len() as i64 * bytes;
            let landing = s.temp_bytes(length);
            s.recv(Peer::Local(from), Block::bytes(landing, 0, length));
            sorts.extend((0..).zip(senders).map(|(i, sender)| {
                (Block::bytes(landing, i * bytes, bytes), input.received(*sender, 1))
            }));
        }
        bundles.iter().for_each(|bundle| s.send(Peer::Local(bundle.to), bundle.blocks));
        for member in self.team {
            match *member == me {
                true if input.in_place => {}
                true => s.copy(self.source(me), input.received(me, 1)),
                false => {
                    s.recv(Peer::Local(*member), input.received(*member, 1));
                    s.send(Peer::Local(*member), self.source(*member));
                }
            }
        }
        sorts.into_iter().for_each(|(from, to)| s.copy(from, to));
        s.end_round();
    }
}
