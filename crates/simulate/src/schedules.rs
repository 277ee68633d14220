//! The schedules of collectives alone, without engines: for more ranks than engines fit into memory.
//!
//! What is left out: matching, credits, the handshake of long messages, their division into packets, and collective
//! slots. A message of any length is one packet, and ranks of a host send each other messages.

use crate::error::Error;
use crate::net::Net;
use crate::packet::Packet;
use crate::program::{Call, Collective, Kind};
use crate::time::Time;
use core::cell::RefCell;
use hpvm_coll::hosts::{self, Hosts};
use hpvm_coll::select::Tables;
use hpvm_coll::{
    Comm, Exchange, Group, Peer, Reduction, Schedule, Ty, allreduce, alltoall, barrier,
};
use hpvm_transport::Head;
use std::rc::Rc;

/// What all ranks of a job share.
pub(crate) struct Shared {
    pub net: Rc<RefCell<Net>>,
    pub tables: Tables,
    pub hosts: Option<Hosts>,
    pub call: Call,
    pub times: usize,
}

/// One rank.
pub(crate) struct Light {
    shared: Rc<Shared>,
    rank: u32,
    schedule: Schedule,
    round: usize,
    started: bool,
    /// Messages that have come and were not asked for yet: from whom, and how many.
    came: Vec<(u32, u32)>,
    calls: usize,
    pub marks: Vec<Time>,
}

impl Shared {
    /// The schedule of a rank. It is made anew for each collective, so that nothing of it stays.
    fn schedule(&self, rank: u32) -> Result<Schedule, Error> {
        let size = self.net.borrow().places.len() as u32;
        let tables = &self.tables;
        let Call::Collective(call) = self.call else {
            return Err(Error::new("only collectives run as schedules"));
        };
        let bytes = call.bytes;
        Ok(match call.kind {
            Kind::Barrier => match &self.hosts {
                Some(hosts) => hosts::barrier(hosts, rank),
                None => barrier::schedule(&Group { rank, size }),
            },
            Kind::Allreduce => {
                let count = bytes as i64 / 8;
                let input = Reduction {
                    rank,
                    size,
                    root: 0,
                    count,
                    extent: 8,
                    size_bytes: 8,
                    commutative: true,
                    in_place: false,
                };
                match &self.hosts {
                    Some(hosts) => hosts::allreduce(tables, hosts, &input),
                    None => allreduce::schedule_with(tables, &input),
                }
            }
            Kind::Alltoall => {
                let count = bytes as i64;
                let input = Exchange {
                    rank,
                    size,
                    root: 0,
                    send_count: count,
                    send_extent: 1,
                    send_size: 1,
                    recv_count: count,
                    recv_extent: 1,
                    recv_size: 1,
                    in_place: false,
                };
                match &self.hosts {
                    Some(hosts) => hosts::alltoall(tables, hosts, &input),
                    None => alltoall::schedule_with(tables, &input),
                }
            }
            _ => return Err(Error::new("only barrier, allreduce and alltoall run as schedules")),
        })
    }

    /// Bytes of one element.
    fn unit(&self, ty: Ty) -> usize {
        match (ty, self.call) {
            (Ty::Bytes, _) => 1,
            (_, Call::Collective(Collective { kind: Kind::Allreduce, .. })) => 8,
            _ => 1,
        }
    }
}

impl Light {
    pub fn new(shared: Rc<Shared>, rank: u32) -> Light {
        Light {
            shared,
            rank,
            schedule: Schedule::new(),
            round: 0,
            started: false,
            came: Vec::new(),
            calls: 0,
            marks: Vec::new(),
        }
    }

    /// Goes on as far as possible. True: all calls are through.
    pub fn turn(&mut self) -> Result<bool, Error> {
        self.read();
        loop {
            if self.round == self.schedule.len() {
                if !self.next_call()? {
                    return Ok(true);
                }
                continue;
            }
            if !self.started {
                self.started = true;
                self.send();
            }
            if !self.has_all() {
                return Ok(false);
            }
            self.started = false;
            self.round += 1;
        }
    }

    /// Begins the next call, marking the time. The first one is for warming up. False: there is none.
    fn next_call(&mut self) -> Result<bool, Error> {
        let now = self.shared.net.borrow().places[self.rank as usize].clock;
        if self.calls > 0 && self.marks.len() <= self.shared.times {
            self.marks.push(now);
        }
        if self.calls > self.shared.times {
            self.schedule = Schedule::new();
            self.round = 0;
            return Ok(false);
        }
        self.calls += 1;
        self.schedule = self.shared.schedule(self.rank)?;
        self.round = 0;
        Ok(true)
    }

    fn read(&mut self) {
        loop {
            let packet = self.shared.net.borrow_mut().take(self.rank);
            let Some(packet) = packet else { break };
            match self.came.iter_mut().find(|(from, _)| *from == packet.src) {
                Some((_, count)) => *count += 1,
                None => self.came.push((packet.src, 1)),
            }
        }
    }

    fn send(&mut self) {
        let Some(round) = self.schedule.round(self.round) else { return };
        for comm in round.comms {
            let Comm::Send { to: Peer::Local(dst), block } = *comm else { continue };
            let len = block.count.max(0) as usize * self.shared.unit(block.ty);
            let (head, payload) = (Head::single(0, 0), Box::default());
            let packet = Packet { src: self.rank, dst, head, len, payload };
            self.shared.net.borrow_mut().send(Box::new(packet));
        }
    }

    /// Whether all messages of the round have come; then they are taken.
    fn has_all(&mut self) -> bool {
        let Some(round) = self.schedule.round(self.round) else { return true };
        let mut wanted: Vec<(u32, u32)> = Vec::new();
        for comm in round.comms {
            let Comm::Recv { from: Peer::Local(src), .. } = *comm else { continue };
            match wanted.iter_mut().find(|(from, _)| *from == src) {
                Some((_, count)) => *count += 1,
                None => wanted.push((src, 1)),
            }
        }
        let has = |came: &[(u32, u32)], (from, count): (u32, u32)| {
            came.iter().any(|(who, there)| *who == from && *there >= count)
        };
        if !wanted.iter().all(|want| has(&self.came, *want)) {
            return false;
        }
        for (from, count) in wanted {
            self.came.iter_mut().filter(|(who, _)| *who == from).for_each(|c| c.1 -= count);
        }
        self.came.retain(|(_, count)| *count > 0);
        true
    }
}
