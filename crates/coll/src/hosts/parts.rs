//! Allreduce by hosts of operands that are long enough to be shared out.

use super::Hosts;
use crate::allreduce as plain;
use crate::input::Reduction;
use crate::schedule::{Block, Buffer, Peer, Schedule, TempSpec, Ty};
use crate::select::Tables;
use crate::tree::part_start;

/// Every host cuts the operand into as many parts as its smallest host has ranks. In each host a
/// part goes to the rank of its number, which combines it, then combines it with the ranks of the
/// same number on other hosts, and gives the result to its host.
///
/// Cost: two rounds within hosts, in which a rank sends and receives m (t - 1) / t bytes on a host of
/// t ranks; between hosts that of an allreduce of m / t bytes with one rank per host, t of them at
/// once.
/// Wins: where the head's copies and reductions of the whole would take longer than more messages.
pub fn allreduce(tables: &Tables, hosts: &Hosts, input: &Reduction) -> Schedule {
    let mut s = Schedule::new();
    if input.count == 0 {
        return s;
    }
    let work = Work::new(hosts, input);
    work.scatter(&mut s);
    work.among(&mut s, tables);
    work.gather(&mut s);
    s
}

struct Work<'a> {
    hosts: &'a Hosts,
    input: &'a Reduction,
    team: &'a [u32],
    /// Our number in the team, which is the number of our part if there are so many.
    own: u32,
    parts: u32,
}

impl<'a> Work<'a> {
    fn new(hosts: &'a Hosts, input: &'a Reduction) -> Work<'a> {
        let team = hosts.team(hosts.host(input.rank));
        let own = hosts.number(input.rank);
        Work { hosts, input, team, own, parts: hosts.smallest() }
    }

    fn part(&self, buffer: Buffer, number: u32) -> Block {
        let start = |number| part_start(self.input.count, self.parts, number);
        let (first, end) = (start(number), start(number + 1));
        Block::new(buffer, first * self.input.extent, end - first, Ty::Recv)
    }

    fn owns(&self) -> bool {
        self.own < self.parts
    }

    /// The owners of parts on this host, with the numbers of their parts, without ourselves.
    fn owners(&self) -> impl Iterator<Item = (u32, u32)> {
        let owners = (0..self.parts).zip(self.team.iter().copied());
        owners.filter(|(number, _)| *number != self.own)
    }

    /// Every part goes to its owner, who combines it in the order of ranks.
    fn scatter(&self, s: &mut Schedule) {
        for (number, owner) in self.owners() {
            s.send(Peer::Local(owner), self.part(self.input.source(), number));
        }
        if !self.owns() {
            return s.end_round();
        }
        let result = self.part(Buffer::Recv, self.own);
        let own = self.part(self.input.source(), self.own);
        let last = self.team.len() - 1;
        let mut operands = Vec::with_capacity(self.team.len());
        for (i, member) in self.team.iter().enumerate() {
            if *member == self.input.rank {
                operands.push(own);
                continue;
            }
            // The last operand is the first to be combined into, so it may come where the result
            // goes, unless the own one is there.
            let direct = i == last && own.buffer != Buffer::Recv;
            let place = match direct {
                true => result,
                false => {
                    let temp = s.temp(TempSpec::Elements(result.count));
                    Block { buffer: temp, offset: 0, ..result }
                }
            };
            s.recv(Peer::Local(*member), place);
            operands.push(place);
        }
        let mut sum = operands.pop().unwrap_or(own);
        if sum == own && own != result {
            s.copy(own, result);
            sum = result;
        }
        operands.into_iter().rev().for_each(|operand| s.reduce(operand, sum));
        if sum != result {
            s.copy(sum, result);
        }
        s.end_round();
    }

    /// The owners of a part on all hosts combine it.
    fn among(&self, s: &mut Schedule, tables: &Tables) {
        let whole = self.part(Buffer::Recv, self.own);
        if !self.owns() || whole.count == 0 {
            return;
        }
        let (rank, size) = (self.hosts.host(self.input.rank), self.hosts.count());
        let among = Reduction { rank, size, count: whole.count, in_place: true, ..*self.input };
        let part = plain::schedule_with(tables, &among);
        s.append(
            &part,
            |host| self.hosts.team(host)[self.own as usize],
            |b| Block { offset: b.offset + whole.offset, ..b },
        );
    }

    /// Owners give their parts to all of the host.
    fn gather(&self, s: &mut Schedule) {
        for (number, owner) in self.owners() {
            s.recv(Peer::Local(owner), self.part(Buffer::Recv, number));
        }
        if self.owns() {
            let others = self.team.iter().filter(|member| **member != self.input.rank);
            others.for_each(|m| s.send(Peer::Local(*m), self.part(Buffer::Recv, self.own)));
        }
        s.end_round();
    }
}
