//! The processes of a network of datagrams: socket, protocol, inbox.

use super::Weather;
use super::road::Roads;
use hpvm_reliable::{Full, Hub};
use hpvm_transport::{Head, Rank};
use std::collections::VecDeque;

/// Packets in an inbox above which a process leaves its socket alone.
const INBOX: usize = 64;

/// Nanoseconds after which a process that has something to do is called again.
const NEXT_LOOK: u64 = 1000;

struct Process {
    /// Away while its owner fills a packet.
    hub: Option<Hub>,
    socket: VecDeque<(Rank, Vec<u8>)>,
    inbox: VecDeque<(Rank, Head, Vec<u8>)>,
    /// It does nothing until then; when the next stall may come.
    stalled_until: u64,
    stall_at: u64,
    /// It has finished, and only answers.
    retired: bool,
    alive: bool,
}

/// All processes and the roads between them.
pub(crate) struct Lossy {
    weather: Weather,
    processes: Vec<Process>,
    roads: Roads,
    /// Datagrams that came while a socket was full.
    overflown: u64,
}

impl Lossy {
    /// Panics when the weather contradicts itself.
    pub fn new(weather: Weather, size: u32) -> Lossy {
        let process = |_| Process {
            hub: Some(Hub::new(weather.protocol, size).unwrap_or_else(|e| panic!("{e}"))),
            socket: VecDeque::new(),
            inbox: VecDeque::new(),
            stalled_until: 0,
            stall_at: weather.stall_every,
            retired: false,
            alive: true,
        };
        Lossy {
            processes: (0..size).map(process).collect(),
            roads: Roads::new(weather.clone(), size),
            overflown: 0,
            weather,
        }
    }

    /// Most packets that were taken for a receiver and not polled, in a job of `size`: for each
    /// sender the datagrams that may wait, full of the smallest packets, and the inbox, into
    /// which one datagram may bring all that waited behind it.
    pub fn bound(weather: &Weather, size: u32) -> usize {
        let p = &weather.protocol;
        let packets = p.most_datagram / hpvm_wire::datagram::RECORD;
        let waiting = p.window as usize + p.guaranteed();
        size as usize * waiting * packets + INBOX + p.window as usize * packets
    }

    pub fn grant(&mut self, src: Rank, dst: Rank) -> u16 {
        self.process(src).hub.as_mut().map_or(0, |hub| hub.grant(dst))
    }

    /// The protocol of a process, to push a packet into while the network is free.
    pub fn lend(&mut self, rank: Rank) -> Option<Hub> {
        self.process(rank).hub.take()
    }

    /// Gives it back, and sends what it has to send, now or when the process is polled.
    pub fn take_back(
        &mut self,
        r: &mut fastrand::Rng,
        now: u64,
        (src, dst): (Rank, Rank),
        mut hub: Hub,
        outcome: Result<(), Full>,
    ) {
        if outcome.is_ok() && r.u8(0..5) > 0 {
            let roads = &mut self.roads;
            hub.transmit_to(now, dst, &mut |to, bytes| roads.depart(r, now, (src, to), bytes));
        }
        self.process(src).hub = Some(hub);
    }

    /// Lets datagrams come and the protocol of one process do its work.
    pub fn progress(&mut self, r: &mut fastrand::Rng, now: u64, rank: Rank) {
        self.arrive(now);
        let weather = &self.weather;
        let size = self.processes.len() as u32;
        let process = &mut self.processes[rank as usize];
        if now >= process.stall_at {
            process.stalled_until = now + r.u64(weather.stall.clone());
            process.stall_at = process.stalled_until + r.u64(0..=2 * weather.stall_every);
        }
        if now < process.stalled_until || !process.alive {
            return;
        }
        let Some(hub) = &mut process.hub else { return };
        while process.inbox.len() < INBOX {
            let Some((src, bytes)) = process.socket.pop_front() else { break };
            let inbox = &mut process.inbox;
            // What is dropped, the protocol counts.
            let _ = hub.on_datagram(now, src, &bytes, &mut |head, payload| {
                inbox.push_back((src, head, payload.to_vec()));
            });
        }
        if hub.has_work(now) {
            let roads = &mut self.roads;
            hub.transmit(now, &mut |to, bytes| roads.depart(r, now, (rank, to), bytes));
        }
        check_memory(hub, size);
    }

    /// Lets the processes that have finished answer the others; or all, for a test in which
    /// nobody polls a sender.
    pub fn answer(&mut self, r: &mut fastrand::Rng, now: u64, all: bool) {
        for rank in 0..self.processes.len() {
            if all || self.processes[rank].retired {
                self.progress(r, now, rank as Rank);
            }
        }
    }

    /// A packet that `rank` may have now.
    pub fn take(&mut self, now: u64, rank: Rank) -> Option<(Rank, Head, Vec<u8>)> {
        let process = self.process(rank);
        if now < process.stalled_until {
            return None;
        }
        process.inbox.pop_front()
    }

    /// Datagrams reach the sockets.
    fn arrive(&mut self, now: u64) {
        while let Some(arrival) = self.roads.arrive(now) {
            let process = &mut self.processes[arrival.dst as usize];
            if process.socket.len() < self.weather.socket {
                process.socket.push_back((arrival.src, arrival.bytes));
            } else {
                self.overflown += 1;
            }
        }
    }

    /// When something happens by itself after `now`: a datagram comes, a stall ends, or a timer
    /// of the protocol is due.
    pub fn next_event(&mut self, now: u64) -> Option<u64> {
        let mut next = self.roads.next();
        for process in self.processes.iter_mut().filter(|p| p.alive) {
            let timer = process.hub.as_mut().and_then(Hub::deadline);
            let work = process.hub.as_ref().is_some_and(|hub| hub.has_work(now));
            let unread = process.retired && !process.socket.is_empty();
            if process.stalled_until <= now && (work || unread) {
                // It is called again soon.
                next = [next, Some(now + NEXT_LOOK)].into_iter().flatten().min();
            }
            let stall = (process.stalled_until > now).then_some(process.stalled_until);
            let soonest = [timer, stall].into_iter().flatten().filter(|at| *at > now).min();
            next = [next, soonest].into_iter().flatten().min();
        }
        next.map(|at| at.max(now))
    }

    /// True while somebody waits for an acknowledgement or a packet waits in a socket or inbox.
    pub fn is_busy(&self) -> bool {
        let busy = |p: &Process| {
            let waits = p.hub.as_ref().is_some_and(|hub| !hub.all_acknowledged());
            p.alive && (waits || !p.socket.is_empty() || !p.inbox.is_empty())
        };
        self.processes.iter().any(busy) || self.roads.next().is_some()
    }

    /// True when nothing waits for `rank`.
    pub fn is_quiet(&self, rank: Rank) -> bool {
        let process = &self.processes[rank as usize];
        process.socket.is_empty() && process.inbox.is_empty()
    }

    pub fn retire(&mut self, rank: Rank) {
        self.process(rank).retired = true;
    }

    pub fn kill(&mut self, rank: Rank) {
        let process = self.process(rank);
        process.alive = false;
        process.socket.clear();
        process.inbox.clear();
    }

    /// The sum of the protocol's counters over all processes.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut sum = hpvm_reliable::Counters::default().read();
        for hub in self.processes.iter().filter_map(|p| p.hub.as_ref()) {
            for (total, (_, n)) in sum.iter_mut().zip(hub.counters().read()) {
                total.1 += n;
            }
        }
        sum.push(("overflown", self.overflown));
        sum.push(("lost_on_the_road", self.roads.toll.lost));
        sum
    }

    pub fn describe(&self) -> String {
        let mut text = format!("\n  {:?}, {} overflown", self.roads.toll, self.overflown);
        for (rank, p) in self.processes.iter().enumerate() {
            text += &format!(
                "\n  rank {rank}: {} in the socket, {} in the inbox",
                p.socket.len(),
                p.inbox.len()
            );
            let Some(hub) = &p.hub else { continue };
            for peer in 0..self.processes.len() as Rank {
                let pending = hub.pending(peer);
                if pending.datagrams > 0 {
                    text += &format!(", to {peer} {pending:?}");
                }
            }
        }
        text += &format!("\n  {:?}", self.counters());
        text
    }

    fn process(&mut self, rank: Rank) -> &mut Process {
        &mut self.processes[rank as usize]
    }
}

/// The protocol keeps to its bound.
fn check_memory(hub: &Hub, size: u32) {
    let (memory, bound) = (hub.memory(), Hub::bound(hub.config(), size, hub.links()));
    assert!(
        memory <= bound,
        "{memory} bytes are above the bound of {bound} for {} links: {:?}",
        hub.links(),
        hub.config()
    );
}
