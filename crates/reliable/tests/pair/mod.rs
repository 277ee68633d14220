//! Two processes, a road with a fixed delay between them, and a clock that goes from event to
//! event.

// Not every test uses all of it.
#![allow(dead_code)]

use hpvm_reliable::{Config, Head, Hub, Peer, Sent};
use std::collections::VecDeque;

pub const US: u64 = 1000;
pub const MS: u64 = 1000 * US;

/// A datagram on its way: when it comes, to whom, its bytes.
type Arrival = (u64, usize, Vec<u8>);

/// What becomes of a datagram, by time, sender and bytes.
type Road = Box<dyn FnMut(u64, usize, &[u8]) -> Fate>;

pub struct Pair {
    pub hubs: [Hub; 2],
    pub now: u64,
    pub delay: u64,
    /// Time that a datagram takes for itself, in each direction: those behind it wait.
    pub gap: u64,
    free: [u64; 2],
    pub road: VecDeque<Arrival>,
    /// Numbers in `imm` of what each received, in order.
    pub got: [Vec<u64>; 2],
    credits: [u16; 2],
    sent: [u64; 2],
    /// What the road does with a datagram of a sender.
    pub fate: Road,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Lose,
    TooLarge(usize),
}

impl Pair {
    pub fn new(config: Config) -> Pair {
        let hub = || Hub::new(config, 2).expect("sound settings");
        Pair {
            hubs: [hub(), hub()],
            now: MS,
            delay: 5 * US,
            gap: 0,
            free: [0; 2],
            road: VecDeque::new(),
            got: Default::default(),
            credits: [0; 2],
            sent: [0; 2],
            fate: Box::new(|_, _, _| Fate::Pass),
        }
    }

    /// Takes a packet of `len` bytes for the other, if there is room. Its bytes say its number.
    pub fn push(&mut self, from: usize, len: usize) -> bool {
        let to = 1 - from as Peer;
        if self.credits[from] == 0 {
            self.credits[from] = self.hubs[from].grant(to);
        }
        if self.credits[from] == 0 {
            return false;
        }
        let number = self.sent[from];
        let fill = |room: &mut [u8]| {
            assert_eq!(room.len(), len);
            room.fill(number as u8);
        };
        let taken = self.hubs[from].push(self.now, to, Head::single(1, number), len, fill).is_ok();
        if taken {
            self.credits[from] -= 1;
            self.sent[from] += 1;
        }
        taken
    }

    /// Sends what may be sent.
    pub fn transmit(&mut self, from: usize) {
        let (now, delay, gap) = (self.now, self.delay, self.gap);
        let (road, fate, free) = (&mut self.road, &mut self.fate, &mut self.free[from]);
        let mut take = |to: Peer, bytes: &[u8]| {
            *free = now.max(*free) + gap;
            let at = *free + delay;
            let place = road.partition_point(|other| other.0 <= at);
            road.insert(place, (at, to as usize, bytes.to_vec()));
            Sent::Taken
        };
        self.hubs[from].transmit(now, &mut |to, bytes| match fate(now, from, bytes) {
            Fate::Pass => take(to, bytes),
            Fate::Lose => Sent::Taken,
            Fate::TooLarge(most) if bytes.len() <= most => take(to, bytes),
            Fate::TooLarge(most) => Sent::TooLarge(most),
        });
    }

    /// Hands a datagram in; how many packets it delivered.
    pub fn hand_in(&mut self, to: usize, bytes: &[u8]) -> usize {
        let got = &mut self.got[to];
        let mut deliver = |head: Head, payload: &[u8]| {
            assert_eq!(head, Head::single(1, got.len() as u64), "out of order");
            assert!(payload.iter().all(|b| *b == head.imm as u8), "content of {}", head.imm);
            got.push(head.imm);
        };
        self.hubs[to].on_datagram(self.now, 1 - to as Peer, bytes, &mut deliver).unwrap_or(0)
    }

    /// Moves the clock to the next event and lets it happen. False: there is none.
    pub fn step(&mut self) -> bool {
        let timers = self.hubs.iter_mut().filter_map(Hub::deadline).min();
        let arrival = self.road.front().map(|a| a.0);
        let Some(at) = [timers, arrival].into_iter().flatten().min() else { return false };
        self.now = self.now.max(at);
        while self.road.front().is_some_and(|a| a.0 <= self.now) {
            if let Some((_, to, bytes)) = self.road.pop_front() {
                self.hand_in(to, &bytes);
            }
        }
        self.transmit(0);
        self.transmit(1);
        let bound = Hub::bound(self.hubs[0].config(), 2, 1);
        assert!(self.hubs.iter().all(|hub| hub.memory() <= bound));
        true
    }

    /// Steps until nothing happens any more, or the clock is at `end`.
    pub fn run_until(&mut self, end: u64) {
        while self.now < end && self.step() {}
    }

    /// Sends `count` packets of `len` bytes from 0 to 1 as fast as they are taken, until all have
    /// been acknowledged; how long that took.
    pub fn stream(&mut self, count: u64, len: usize) -> u64 {
        let (start, end) = (self.now, self.sent[0] + count);
        while self.sent[0] < end || !self.hubs[0].all_acknowledged() {
            while self.sent[0] < end && self.push(0, len) {
                self.transmit(0);
            }
            assert!(self.step(), "nothing happens any more");
        }
        self.now - start
    }
}
