//! The state of a virtual network and the events that change it.

use crate::coll_slots::AllCollSlots;
use crate::config::{Config, Reads};
use crate::lossy::Lossy;
use crate::network::Statistics;
use core::cmp::Ordering;
use core::ops::RangeInclusive;
use hpvm_reliable::{Full, Hub};
use hpvm_transport::{Broken, Head, PREFIX, PeerMemoryError, Rank, Refused};
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

/// One packet, on its way or waiting to be polled.
pub(crate) struct Packet {
    pub src: Rank,
    pub head: Head,
    pub payload: Vec<u8>,
    /// It took one of the sender's buffers.
    pub buffered: bool,
    /// One that needed no credit: see `send_fragment`.
    pub follows: bool,
}

enum Event {
    /// The oldest packet of the pair reaches its receiver.
    Arrival { src: Rank, dst: Rank },
    /// A credit is back in the pool of `dst`.
    Credit { dst: Rank },
    /// A buffer is back with its sender.
    Buffer { src: Rank },
    /// From now on `rank`'s poll reports `why`.
    Broken { rank: Rank, why: Broken },
}

struct Scheduled {
    at: u64,
    /// Earlier scheduled goes first among events of one tick.
    order: u64,
    event: Event,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Scheduled {}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scheduled {
    /// Reversed: the heap's greatest is the next to happen.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

/// Packets that a failure's text shows.
const RECENT: usize = 16;

/// One process.
pub(crate) struct Process {
    pub alive: bool,
    /// Its endpoint has been handed out.
    pub taken: bool,
    /// Rounds for which it is held back, because it has read a peer's memory.
    pub held_back: u32,
    pub inbox: VecDeque<Packet>,
    /// Packets on their way to it.
    pub incoming: usize,
    /// Credits that nobody holds.
    pool: usize,
    /// Credits that senders hold.
    held: usize,
    /// Credits of packets that were sent and whose credit is not back.
    outstanding: usize,
    /// Buffers for packets of its own.
    buffers: usize,
    pub broken: Option<Broken>,
}

/// What one sender knows of one receiver.
#[derive(Default)]
struct Pair {
    held: usize,
    /// When its latest packet arrives: no later packet arrives before.
    latest: u64,
    road: VecDeque<Packet>,
}

pub(crate) struct State {
    pub config: Config,
    pub random: fastrand::Rng,
    /// Where packets travel when they travel in datagrams.
    pub lossy: Option<Box<Lossy>>,
    pub now: u64,
    /// Grows with everything that can let a waiting process go on.
    pub activity: u64,
    pub statistics: Statistics,
    pub processes: Vec<Process>,
    pub coll_slots: Rc<AllCollSlots>,
    pairs: Vec<Pair>,
    events: BinaryHeap<Scheduled>,
    order: u64,
    /// The latest packets sent: when, from, to, header, bytes.
    recent: VecDeque<(u64, Rank, Rank, Head, usize)>,
}

impl State {
    pub fn new(config: Config) -> State {
        config.check();
        let size = config.size as usize;
        let process = |_| Process {
            alive: true,
            taken: false,
            held_back: 0,
            inbox: VecDeque::new(),
            incoming: 0,
            pool: config.credits,
            held: 0,
            outstanding: 0,
            buffers: config.buffers,
            broken: None,
        };
        let weather = config.weather.as_deref();
        State {
            lossy: weather.map(|w| Box::new(Lossy::new(w.clone(), config.size))),
            random: fastrand::Rng::with_seed(config.seed),
            now: 0,
            activity: 0,
            statistics: Statistics::default(),
            processes: (0..size).map(process).collect(),
            coll_slots: Rc::new(AllCollSlots::new(config.size)),
            pairs: (0..size * size).map(|_| Pair::default()).collect(),
            events: BinaryHeap::new(),
            order: 0,
            recent: VecDeque::new(),
            config,
        }
    }

    /// Credits for `src` toward `dst`; 0 when there are none now, or by chance.
    pub fn grant(&mut self, src: Rank, dst: Rank) -> u16 {
        if !self.alive(src) {
            return 0;
        }
        if self.lossy.is_some() {
            return self.grant_lossy(src, dst);
        }
        let held = self.pair(src, dst).held;
        let pool = self.process(dst).pool;
        let most = pool.min(self.config.fair_batch().saturating_sub(held)).min(u16::MAX as usize);
        if most == 0 {
            self.statistics.empty_grants += 1;
            return 0;
        }
        if self.refuses() {
            return 0;
        }
        let n = self.random.usize(1..=most);
        self.pair(src, dst).held += n;
        let receiver = self.process(dst);
        receiver.pool -= n;
        receiver.held += n;
        self.statistics.granted += n as u64;
        self.check_credits(dst);
        n as u16
    }

    /// Whether a packet of `len` bytes may be sent now; panics when the sender breaks the contract.
    pub fn may_send(&mut self, src: Rank, dst: Rank, len: usize) -> Result<(), Refused> {
        let (seed, limit) = (self.config.seed, self.config.limits.packet);
        assert!(dst < self.config.size, "seed {seed}: rank {src} sends to {dst}, which is nobody");
        assert!(len <= limit, "seed {seed}: rank {src} sends {len} bytes, at most {limit} fit");
        if !self.alive(src) {
            return Err(Refused::NoBuffer);
        }
        assert!(self.pair(src, dst).held > 0, "seed {seed}: rank {src} has no credit toward {dst}");
        if self.lossy.is_none() && len > self.config.limits.inline {
            if self.process(src).buffers == 0 {
                self.statistics.no_buffer += 1;
                return Err(Refused::NoBuffer);
            }
            if self.refuses() {
                return Err(Refused::NoBuffer);
            }
        }
        Ok(())
    }

    /// The same of a message in fragments, which needs many buffers even when its first packet needs none.
    pub fn may_send_fragments(&mut self, src: Rank, dst: Rank) -> Result<(), Refused> {
        self.may_send(src, dst, PREFIX)?;
        if self.refuses() { Err(Refused::NoBuffer) } else { Ok(()) }
    }

    /// Puts a packet on its way. `may_send` has said yes and nothing of `src` happened since.
    pub fn depart(&mut self, src: Rank, dst: Rank, head: Head, payload: Vec<u8>) {
        let buffered = payload.len() > self.config.limits.inline;
        if buffered {
            self.process(src).buffers -= 1;
        }
        self.pay(src, dst);
        self.travel(dst, Packet { src, head, payload, buffered, follows: false });
        self.check_credits(dst);
    }

    /// A credit is used up.
    fn pay(&mut self, src: Rank, dst: Rank) {
        self.pair(src, dst).held -= 1;
        let receiver = self.process(dst);
        receiver.held -= 1;
        receiver.outstanding += 1;
        let outstanding = receiver.outstanding;
        self.statistics.max_outstanding = self.statistics.max_outstanding.max(outstanding);
    }

    /// Puts a fragment of a message on its way; `paid`: what came before has paid for it.
    pub fn send_fragment(
        &mut self,
        src: Rank,
        dst: Rank,
        head: Head,
        payload: Vec<u8>,
        paid: bool,
    ) {
        if !self.alive(src) {
            return;
        }
        if !paid {
            self.pay(src, dst);
        }
        self.travel(dst, Packet { src, head, payload, buffered: false, follows: paid });
        self.check_credits(dst);
    }

    /// Decides when a packet arrives.
    fn travel(&mut self, dst: Rank, packet: Packet) {
        let Packet { src, head, .. } = packet;
        let len = packet.payload.len();
        let mut delay = self.draw(self.config.delay.clone());
        if self.chance(self.config.slow_percent) {
            delay = delay.saturating_mul(10);
        }
        let soonest = self.now.saturating_add(delay);
        let pair = self.pair(src, dst);
        let at = soonest.max(pair.latest);
        pair.latest = at;
        self.statistics.packets += 1;
        self.statistics.bytes += len as u64;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((self.now, src, dst, head, len));
        self.pair(src, dst).road.push_back(packet);
        self.process(dst).incoming += 1;
        self.activity += 1;
        self.schedule(at, Event::Arrival { src, dst });
    }

    /// The next packet that `rank` may have now.
    pub fn take(&mut self, rank: Rank) -> Option<Packet> {
        let packet = match &mut self.lossy {
            None => self.process(rank).inbox.pop_front()?,
            Some(lossy) => {
                let (src, head, payload) = lossy.take(self.now, rank)?;
                self.process(rank).outstanding -= 1;
                Packet { src, head, payload, buffered: false, follows: false }
            }
        };
        self.statistics.polled += 1;
        self.activity += 1;
        self.statistics.record(self.now, packet.src, rank, &packet.head, &packet.payload);
        Some(packet)
    }

    /// Whether a fragment of a message is the next that `rank` may have.
    pub fn fragment_waits(&mut self, rank: Rank) -> bool {
        self.process(rank).inbox.front().is_some_and(|packet| packet.follows)
    }

    /// The receiver is done with a packet of `src`: what it took goes home.
    pub fn done_with(&mut self, rank: Rank, packet: &Packet) {
        if self.lossy.is_some() || packet.follows {
            return;
        }
        let at = self.now + self.draw(self.config.return_delay.clone());
        self.schedule(at, Event::Credit { dst: rank });
        if packet.buffered {
            let at = self.now + self.draw(self.config.return_delay.clone());
            self.schedule(at, Event::Buffer { src: packet.src });
        }
    }

    /// Whether a poll that has delivered something leaves the rest for later.
    pub fn stops_short(&mut self) -> bool {
        self.chance(self.config.refused_percent)
    }

    /// Ends `rank`. See [`crate::Network::kill`].
    pub fn kill(&mut self, rank: Rank) {
        if !self.alive(rank) {
            return;
        }
        self.activity += 1;
        self.process(rank).alive = false;
        self.process(rank).inbox.clear();
        if let Some(lossy) = &mut self.lossy {
            lossy.kill(rank);
        }
        for other in 0..self.config.size {
            let on_road = self.pair(rank, other).road.len();
            let kept = self.random.usize(0..=on_road);
            self.pair(rank, other).road.truncate(kept);
            self.process(other).incoming -= on_road - kept;
            self.statistics.lost += (on_road - kept) as u64;
            if other != rank {
                let at = self.now + self.draw(self.config.death_delay.clone());
                let why = format!("killed at virtual time {}", self.now);
                let why = Broken::PeerLost { rank, why };
                self.schedule(at, Event::Broken { rank: other, why });
            }
        }
    }

    /// Moves time on to `to` through every event on the way.
    pub fn advance_to(&mut self, to: u64) {
        while self.events.peek().is_some_and(|s| s.at <= to) {
            self.pop_event();
        }
        self.now = self.now.max(to);
    }

    /// When the next event happens.
    pub fn next_event(&mut self) -> Option<u64> {
        let events = self.events.peek().map(|s| s.at);
        let datagrams = self.lossy.as_mut().and_then(|lossy| lossy.next_event(self.now));
        [events, datagrams].into_iter().flatten().min()
    }

    /// The protocol of `rank`, to push a packet into, and the time.
    pub fn lend(&mut self, rank: Rank) -> Option<(Hub, u64)> {
        let hub = self.lossy.as_mut()?.lend(rank)?;
        Some((hub, self.now))
    }

    /// Gives it back with or without a packet of `len` bytes.
    pub fn take_back(
        &mut self,
        (src, dst): (Rank, Rank),
        hub: Hub,
        outcome: Result<(), Full>,
        len: usize,
    ) {
        let Some(lossy) = &mut self.lossy else { return };
        lossy.take_back(&mut self.random, self.now, (src, dst), hub, outcome);
        match outcome {
            Err(Full) => self.statistics.no_buffer += 1,
            Ok(()) => {
                self.pair(src, dst).held -= 1;
                self.statistics.packets += 1;
                self.statistics.bytes += len as u64;
                let receiver = self.process(dst);
                receiver.outstanding += 1;
                let outstanding = receiver.outstanding;
                self.statistics.max_outstanding = self.statistics.max_outstanding.max(outstanding);
                self.activity += 1;
            }
        }
    }

    fn grant_lossy(&mut self, src: Rank, dst: Rank) -> u16 {
        if self.refuses() {
            return 0;
        }
        let n = self.lossy.as_mut().map_or(0, |lossy| lossy.grant(src, dst));
        self.pair(src, dst).held += usize::from(n);
        self.statistics.granted += u64::from(n);
        self.statistics.empty_grants += u64::from(n == 0);
        n
    }

    /// Lets the protocol of `rank` do its work, where there is one.
    pub fn progress(&mut self, rank: Rank) {
        if let Some(lossy) = &mut self.lossy {
            lossy.progress(&mut self.random, self.now, rank);
        }
    }

    /// Lets the protocols of processes that have finished do their work, or of all.
    pub fn answer(&mut self, all: bool) {
        if let Some(lossy) = &mut self.lossy {
            lossy.answer(&mut self.random, self.now, all);
        }
    }

    pub fn alive(&self, rank: Rank) -> bool {
        self.processes[rank as usize].alive
    }

    pub fn process(&mut self, rank: Rank) -> &mut Process {
        &mut self.processes[rank as usize]
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: u8) -> bool {
        percent > 0 && self.random.u8(0..100) < percent
    }

    /// Whether the memory of `peer`, one of `size` processes, may be read or written just now.
    pub fn may_copy(&mut self, peer: Rank, size: u32) -> Result<(), PeerMemoryError> {
        if peer >= size || !self.alive(peer) {
            return Err(PeerMemoryError::Gone);
        }
        let refused_percent = match self.config.reads {
            Reads::Never => return Err(PeerMemoryError::NotPermitted),
            Reads::Always => 0,
            Reads::Sometimes { refused_percent } => refused_percent,
        };
        if self.chance(refused_percent) { Err(PeerMemoryError::NotPermitted) } else { Ok(()) }
    }

    /// `rank` has read a peer's memory, which takes time.
    pub fn hold_back(&mut self, rank: Rank) {
        if self.config.read_rounds > 0 {
            let rounds = self.random.u32(1..=self.config.read_rounds);
            self.process(rank).held_back += rounds;
        }
    }

    /// A line for each process, where its packets and credits are, and for the latest packets.
    pub fn describe(&self) -> String {
        let mut text = format!("virtual time {}, {:?}", self.now, self.statistics);
        for (rank, p) in self.processes.iter().enumerate() {
            text += &format!(
                "\n  rank {rank}: {} waiting, {} on the way, credits {} free {} held {} out, \
                 {} buffers{}{}",
                p.inbox.len(),
                p.incoming,
                p.pool,
                p.held,
                p.outstanding,
                p.buffers,
                if p.alive { "" } else { ", dead" },
                if p.broken.is_some() { ", broken" } else { "" },
            );
        }
        if let Some(lossy) = &self.lossy {
            text += &lossy.describe();
        }
        for (at, src, dst, head, len) in &self.recent {
            text += &format!("\n  sent at {at}: {src} to {dst}, {len} bytes, {head:?}");
        }
        text
    }

    /// From `delay` ticks on, `rank`'s poll reports `why`.
    pub fn break_later(&mut self, rank: Rank, delay: u64, why: Broken) {
        let at = self.now + delay;
        self.schedule(at, Event::Broken { rank, why });
    }

    fn pop_event(&mut self) {
        let Some(Scheduled { at, event, .. }) = self.events.pop() else { return };
        self.now = self.now.max(at);
        self.activity += 1;
        match event {
            Event::Arrival { src, dst } => self.arrive(src, dst),
            Event::Credit { dst } => {
                let receiver = self.process(dst);
                receiver.outstanding -= 1;
                receiver.pool += 1;
                self.check_credits(dst);
            }
            Event::Buffer { src } => self.process(src).buffers += 1,
            Event::Broken { rank, why } => {
                // The first cause is the one to report.
                self.process(rank).broken.get_or_insert(why);
            }
        }
    }

    fn arrive(&mut self, src: Rank, dst: Rank) {
        // None: the packet was lost with its sender.
        let Some(packet) = self.pair(src, dst).road.pop_front() else { return };
        let receiver = self.process(dst);
        receiver.incoming -= 1;
        if receiver.alive {
            receiver.inbox.push_back(packet);
        } else {
            self.statistics.lost += 1;
        }
    }

    /// The invariant of the credits: each is in exactly one place.
    fn check_credits(&self, dst: Rank) {
        let p = &self.processes[dst as usize];
        assert_eq!(
            p.pool + p.held + p.outstanding,
            self.config.credits,
            "seed {}: credits of rank {dst} went astray: {}",
            self.config.seed,
            self.describe()
        );
    }

    fn refuses(&mut self) -> bool {
        let refused = self.chance(self.config.refused_percent);
        if refused {
            self.statistics.refused += 1;
            self.activity += 1;
        }
        refused
    }

    fn draw(&mut self, range: RangeInclusive<u64>) -> u64 {
        self.random.u64(range)
    }

    fn schedule(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.events.push(Scheduled { at, order: self.order, event });
    }

    fn pair(&mut self, src: Rank, dst: Rank) -> &mut Pair {
        &mut self.pairs[src as usize * self.config.size as usize + dst as usize]
    }
}
