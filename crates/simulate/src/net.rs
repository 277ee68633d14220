//! The state of a job in virtual time: processors, packets, what is seen when.

use crate::agenda::{Agenda, Event};
use crate::error::Error;
use crate::machine::Machine;
use crate::packet::{HEADERS, Packet};
use crate::routes::Routes;
use crate::time::Time;
use hpvm_transport::Rank;
use std::collections::VecDeque;

/// Packets that one receiver ever has to hold, as in the ring of a real one, and at least one from every other.
pub(crate) const CREDITS: u32 = 512;
/// Most credits that one sender takes at once.
const BATCH: u32 = 8;
/// No turn is planned.
const NEVER: Time = Time::MAX;

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets inside hosts and between them, and their payload bytes.
    pub inside: u64,
    pub inside_bytes: u64,
    pub between: u64,
    pub between_bytes: u64,
    /// Slots that were posted for a reader.
    pub slots: u64,
    /// Times that a rank was looked at.
    pub turns: u64,
    /// Grants of no credit.
    pub starved: u64,
    /// Packets that waited for the network of their host, and how long all did together.
    pub queued: u64,
    pub queued_time: Time,
}

/// One rank.
pub(crate) struct RankState {
    /// Until when its processor's time is spent.
    pub clock: Time,
    turn: Time,
    pub inbox: VecDeque<Box<Packet>>,
    /// Slots that others have posted for it, in the order of their posts: who, and when this rank can see it.
    posts: Vec<(Rank, Time)>,
    /// Packets that may still be sent to it.
    credits: u32,
    /// Who found no credit.
    starved: Vec<Rank>,
    /// Bytes that it shows in the slots of the collective that it is in.
    pub shows: u32,
    /// Its script is through.
    pub done: bool,
}

/// One host.
struct Host {
    /// From when on its network can send, and receive.
    sends: Time,
    receives: Time,
    processors: Box<[Processor]>,
}

#[derive(Clone)]
struct Processor {
    /// The rank that it ran last, and when its last turn began.
    rank: Rank,
    began: Time,
    /// When that rank's work is done.
    free: Time,
    /// Until when the rank keeps it, though it waits.
    kept: Time,
}

pub(crate) struct Net {
    pub machine: Machine,
    pub places: Vec<RankState>,
    pub statistics: Statistics,
    pub now: Time,
    /// The host of each rank.
    pub host_of: Box<[u32]>,
    hosts: Vec<Host>,
    pub routes: Option<Routes>,
    agenda: Agenda,
    random: fastrand::Rng,
    /// By how much the work of a processor is stretched at most, in a thousand.
    noise: u32,
    /// What went wrong on the way; the run ends with it.
    pub error: Option<Error>,
}

impl Net {
    pub fn new(
        machine: Machine,
        host_of: Box<[u32]>,
        routes: Option<Routes>,
        (seed, noise): (u64, u32),
    ) -> Net {
        let credits = CREDITS.max(host_of.len() as u32);
        let place = |_: &u32| RankState {
            clock: 0,
            turn: NEVER,
            inbox: VecDeque::new(),
            posts: Vec::new(),
            credits,
            starved: Vec::new(),
            shows: 0,
            done: false,
        };
        let places = host_of.iter().map(place).collect();
        let count = host_of.iter().max().map_or(0, |most| most + 1);
        let idle = Processor { rank: Rank::MAX, began: 0, free: 0, kept: 0 };
        let host = |_| Host {
            sends: 0,
            receives: 0,
            processors: vec![idle.clone(); machine.processors as usize].into(),
        };
        Net {
            places,
            statistics: Statistics::default(),
            now: 0,
            hosts: (0..count).map(host).collect(),
            host_of,
            routes,
            agenda: Agenda::default(),
            random: fastrand::Rng::with_seed(seed),
            noise,
            error: None,
            machine,
        }
    }

    pub fn place(&mut self, rank: Rank) -> &mut RankState {
        &mut self.places[rank as usize]
    }

    pub fn together(&self, a: Rank, b: Rank) -> bool {
        self.host_of[a as usize] == self.host_of[b as usize]
    }

    /// Spends time of a rank's processor.
    pub fn work(&mut self, rank: Rank, time: Time) {
        let more = match self.noise {
            0 => 0,
            noise => time * Time::from(self.random.u32(0..=noise)) / 1000,
        };
        self.place(rank).clock += time + more;
    }

    /// Has a rank looked at when `at` comes.
    pub fn look(&mut self, rank: Rank, at: Time) {
        self.agenda.enter(at, Event::Look(rank));
    }

    /// Has a rank looked at at `at`, or now if that is past, as soon as its processor's time is spent.
    pub fn plan(&mut self, rank: Rank, at: Time) {
        let place = self.place(rank);
        let at = at.max(place.clock);
        if at < place.turn {
            place.turn = at;
            self.agenda.enter(at, Event::Turn(rank));
        }
    }

    /// Lets time pass until a rank has its turn: which. `None`: nothing is to happen any more.
    pub fn next_turn(&mut self) -> Option<Rank> {
        while let Some((at, event)) = self.agenda.next() {
            self.now = at;
            match event {
                Event::Depart(packet) => self.depart(packet),
                Event::Arrive(packet) => self.arrive(packet),
                Event::Look(rank) => self.plan(rank, at),
                Event::Turn(rank) if self.place(rank).turn == at => {
                    self.place(rank).turn = NEVER;
                    if self.gets_processor(rank) {
                        self.statistics.turns += 1;
                        return Some(rank);
                    }
                }
                // It was planned for an earlier moment since.
                Event::Turn(_) => {}
            }
        }
        None
    }

    /// One event, without a turn: for tests that poll the ends themselves. False: nothing is to happen any more.
    #[cfg(test)]
    pub fn step(&mut self) -> bool {
        match self.agenda.next() {
            None => return false,
            Some((at, event)) => {
                self.now = at;
                match event {
                    Event::Depart(packet) => self.depart(packet),
                    Event::Arrive(packet) => self.arrive(packet),
                    Event::Look(rank) => self.plan(rank, at),
                    Event::Turn(rank) => self.place(rank).turn = NEVER,
                }
            }
        }
        true
    }

    /// Whether `rank` runs now; otherwise it is planned for when a processor is free.
    fn gets_processor(&mut self, rank: Rank) -> bool {
        let now = self.now.max(self.place(rank).clock);
        if now > self.now {
            self.plan(rank, now);
            return false;
        }
        let host = &self.hosts[self.host_of[rank as usize] as usize];
        if host.processors.is_empty() {
            self.place(rank).clock = now;
            return true;
        }
        let own = host.processors.iter().position(|p| p.rank == rank && p.free <= now);
        let earliest = || (0..host.processors.len()).min_by_key(|at| host.processors[*at].kept);
        let Some(at) = own.or_else(earliest) else { return true };
        let kept = host.processors[at].kept;
        if own.is_none() && kept > now {
            self.plan(rank, kept);
            return false;
        }
        let began = if own.is_some() { now } else { now + self.machine.switch };
        self.place(rank).clock = began;
        let kept = if own.is_some() { kept } else { began + self.machine.spin };
        let host = self.host_of[rank as usize] as usize;
        self.hosts[host].processors[at] = Processor { rank, began, free: began, kept };
        true
    }

    /// The turn of `rank` has ended; it is through with its script if it is `done`.
    pub fn end_turn(&mut self, rank: Rank, done: bool) {
        let (clock, spin) = (self.place(rank).clock, self.machine.spin);
        self.place(rank).done = done;
        let host = &mut self.hosts[self.host_of[rank as usize] as usize];
        if let Some(processor) = host.processors.iter_mut().find(|p| p.rank == rank) {
            processor.free = clock;
            // Who looks in vain again and again does not keep it for ever.
            if done {
                processor.kept = clock;
            } else if clock > processor.began {
                processor.kept = clock + spin;
            }
        }
    }

    /// Credits toward `dst`.
    pub fn grant(&mut self, src: Rank, dst: Rank) -> u16 {
        let size = self.places.len() as u32;
        let place = self.place(dst);
        // Nobody may hold so many that others find none.
        let batch = (CREDITS / size / 2).clamp(1, BATCH);
        let granted = place.credits.min(batch);
        place.credits -= granted;
        if granted == 0 {
            if !place.starved.contains(&src) {
                place.starved.push(src);
            }
            self.statistics.starved += 1;
        }
        granted as u16
    }

    /// `src` has written a packet: it is on its way when the work for it is done.
    pub fn send(&mut self, packet: Box<Packet>) {
        let (src, dst, bytes) = (packet.src, packet.dst, packet.len);
        let copy = self.machine.host.bytes(bytes);
        if self.together(src, dst) {
            self.work(src, self.machine.host.send + self.machine.host.gap + copy);
            self.statistics.inside += 1;
            self.statistics.inside_bytes += bytes as u64;
            let at = self.place(src).clock + self.machine.host.latency;
            self.agenda.enter(at, Event::Arrive(packet));
        } else {
            self.work(src, self.machine.network.send + copy);
            self.statistics.between += 1;
            self.statistics.between_bytes += bytes as u64;
            let at = self.place(src).clock;
            self.agenda.enter(at, Event::Depart(packet));
        }
    }

    /// A packet waits for its host's network and passes it, then the fabric, then the network of the receiver's host.
    fn depart(&mut self, packet: Box<Packet>) {
        let hosts = [packet.src, packet.dst].map(|rank| self.host_of[rank as usize]);
        let bytes = packet.len + HEADERS;
        let way = self.machine.network;
        let (time, now) = (way.bytes(bytes), self.now);
        let sender = &mut self.hosts[hosts[0] as usize];
        let start = now.max(sender.sends);
        sender.sends = start + time.max(way.gap);
        self.statistics.queued += u64::from(start > now);
        self.statistics.queued_time += start - now;
        let (mut head, mut narrowest) = (start, time);
        if let Some(routes) = &mut self.routes {
            match routes.pass((hosts[0], hosts[1]), bytes, start, self.machine.hop) {
                Ok((at, time)) => (head, narrowest) = (at, narrowest.max(time)),
                Err(error) => _ = self.error.get_or_insert(error),
            }
        }
        let receiver = &mut self.hosts[hosts[1] as usize];
        let start = (head + way.latency).max(receiver.receives);
        receiver.receives = start + time.max(way.gap);
        self.agenda.enter(start + narrowest, Event::Arrive(packet));
    }

    fn arrive(&mut self, packet: Box<Packet>) {
        let (dst, now) = (packet.dst, self.now);
        self.place(dst).inbox.push_back(packet);
        self.plan(dst, now);
    }

    /// The next packet that `rank` may have, for which it has worked.
    pub fn take(&mut self, rank: Rank) -> Option<Box<Packet>> {
        let packet = self.place(rank).inbox.pop_front()?;
        let way =
            if self.together(packet.src, rank) { self.machine.host } else { self.machine.network };
        self.work(rank, way.receive + self.machine.host.bytes(packet.len));
        self.place(rank).credits += 1;
        let at = self.place(rank).clock + way.latency;
        for starved in core::mem::take(&mut self.place(rank).starved) {
            self.look(starved, at);
        }
        Some(packet)
    }

    /// `rank` has posted a slot for `reader`.
    pub fn post(&mut self, rank: Rank, reader: Rank) {
        // One post has many readers and is work once: the first of a moment pays.
        self.statistics.slots += 1;
        let at = self.place(rank).clock + self.machine.slot;
        self.place(reader).posts.push((rank, at));
        self.look(reader, at);
    }

    /// Whether `rank` can see what `owner` has posted for the collective that `rank` is in.
    pub fn sees(&self, rank: Rank, owner: Rank) -> bool {
        let place = &self.places[rank as usize];
        let first = place.posts.iter().find(|(who, _)| *who == owner);
        first.is_none_or(|(_, at)| *at <= place.clock)
    }

    /// `rank` is through with a collective: it has read one slot of each member that has posted for it.
    pub fn has_read(&mut self, rank: Rank) {
        let clock = self.place(rank).clock;
        let mut posts = core::mem::take(&mut self.place(rank).posts);
        let mut read: Vec<Rank> = Vec::new();
        let mut work = 0;
        let mut at = 0;
        while at < posts.len() {
            let (who, seen) = posts[at];
            if seen <= clock && !read.contains(&who) {
                read.push(who);
                let shows = self.places[who as usize].shows as usize;
                work += self.machine.slot_work + self.machine.host.bytes(shows);
                posts.remove(at);
            } else {
                at += 1;
            }
        }
        self.place(rank).posts = posts;
        self.work(rank, work);
    }

    /// Where each unfinished rank is, for the text of a failure.
    pub fn waiting(&self) -> Vec<Rank> {
        (0..).zip(&self.places).filter(|(_, place)| !place.done).map(|(rank, _)| rank).collect()
    }

    pub fn is_quiet(&self) -> bool {
        self.agenda.is_empty()
    }
}
