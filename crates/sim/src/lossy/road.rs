//! The roads between processes: what happens to one datagram.

use super::Weather;
use core::cmp::Ordering;
use hpvm_reliable::Sent;
use std::collections::{BinaryHeap, VecDeque};

/// Old datagrams that somebody may send again.
const REMEMBERED: usize = 200;

pub(crate) struct Arrival {
    pub at: u64,
    order: u64,
    pub src: u32,
    pub dst: u32,
    pub bytes: Vec<u8>,
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Arrival {}
impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Arrival {
    /// Reversed: the heap's greatest is the next to come.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

/// What happened on the roads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Toll {
    pub sent: u64,
    pub lost: u64,
    pub too_large: u64,
    pub replayed: u64,
}

pub(crate) struct Roads {
    weather: Weather,
    size: u32,
    arrivals: BinaryHeap<Arrival>,
    order: u64,
    /// Datagrams still to be lost, by pair.
    burst: Vec<u32>,
    /// When each process's outgoing line is free.
    line: Vec<u64>,
    /// The largest datagram now, and when it changes.
    mtu: usize,
    mtu_at: u64,
    /// Two processes that do not reach each other, until when; when the next cut may come.
    cut: Option<(u32, u32, u64)>,
    cut_at: u64,
    old: VecDeque<(u32, u32, Vec<u8>)>,
    pub toll: Toll,
}

impl Roads {
    pub fn new(weather: Weather, size: u32) -> Roads {
        Roads {
            mtu: *weather.mtu.end(),
            mtu_at: weather.mtu_every,
            cut: None,
            cut_at: weather.cut_every,
            arrivals: BinaryHeap::new(),
            order: 0,
            burst: vec![0; size as usize * size as usize],
            line: vec![0; size as usize],
            old: VecDeque::new(),
            toll: Toll::default(),
            size,
            weather,
        }
    }

    /// Puts a datagram on its way, or does not.
    pub fn depart(
        &mut self,
        r: &mut fastrand::Rng,
        now: u64,
        (src, dst): (u32, u32),
        bytes: &[u8],
    ) -> Sent {
        self.change(r, now);
        if permille(r, self.weather.busy_permille) {
            return Sent::Later;
        }
        self.toll.sent += 1;
        if bytes.len() > self.mtu {
            self.toll.too_large += 1;
            if permille(r, self.weather.told_permille) {
                return Sent::TooLarge(if r.bool() { self.mtu } else { 0 });
            }
            return Sent::Taken;
        }
        let Some(leaves) = self.leave(now, src, bytes.len() as u64) else {
            self.toll.lost += 1;
            return Sent::Taken;
        };
        if self.is_lost(r, src, dst) {
            self.toll.lost += 1;
        } else {
            let copies = 1 + u32::from(permille(r, self.weather.twice_permille));
            for _ in 0..copies {
                self.travel(r, leaves, (src, dst), bytes.to_vec());
            }
        }
        self.replay(r, now, (src, dst), bytes);
        Sent::Taken
    }

    /// Somebody who listens sends an old datagram again.
    fn replay(&mut self, r: &mut fastrand::Rng, now: u64, pair: (u32, u32), bytes: &[u8]) {
        if self.weather.replay_permille == 0 {
            return;
        }
        if self.old.len() == REMEMBERED {
            let forgotten = r.usize(0..REMEMBERED);
            self.old.swap_remove_back(forgotten);
        }
        self.old.push_back((pair.0, pair.1, bytes.to_vec()));
        if permille(r, self.weather.replay_permille) {
            let (src, dst, bytes) = self.old[r.usize(0..self.old.len())].clone();
            self.toll.replayed += 1;
            self.travel(r, now, (src, dst), bytes);
        }
    }

    /// When the datagram has left its process; None when too many wait to leave.
    fn leave(&mut self, now: u64, src: u32, len: u64) -> Option<u64> {
        if self.weather.rate == 0 {
            return Some(now);
        }
        let line = &mut self.line[src as usize];
        let waiting = line.saturating_sub(now) * self.weather.rate / 1000;
        if waiting > self.weather.buffer {
            return None;
        }
        *line = now.max(*line) + len * 1000 / self.weather.rate;
        Some(*line)
    }

    fn is_lost(&mut self, r: &mut fastrand::Rng, src: u32, dst: u32) -> bool {
        if let Some((a, b, _)) = self.cut
            && ((src, dst) == (a, b) || (src, dst) == (b, a))
        {
            return true;
        }
        let burst = &mut self.burst[(src * self.size + dst) as usize];
        if *burst == 0 && permille(r, self.weather.burst_permille) {
            *burst = r.u32(self.weather.burst.clone());
        }
        if *burst > 0 {
            *burst -= 1;
            return true;
        }
        permille(r, self.weather.loss_permille)
    }

    fn travel(&mut self, r: &mut fastrand::Rng, now: u64, pair: (u32, u32), bytes: Vec<u8>) {
        let mut delay = r.u64(self.weather.delay.clone());
        if permille(r, self.weather.spike_permille) {
            delay += r.u64(self.weather.spike.clone());
        }
        self.order += 1;
        let (src, dst) = pair;
        self.arrivals.push(Arrival { at: now + delay, order: self.order, src, dst, bytes });
    }

    /// The weather changes.
    fn change(&mut self, r: &mut fastrand::Rng, now: u64) {
        if now >= self.mtu_at {
            self.mtu = r.usize(self.weather.mtu.clone());
            self.mtu_at = now + r.u64(0..=2 * self.weather.mtu_every);
        }
        // From the moment that was drawn, not from the moment at which somebody sends.
        while now >= self.cut_at {
            let until = self.cut_at + r.u64(self.weather.cut.clone());
            self.cut = Some((r.u32(0..self.size), r.u32(0..self.size), until));
            self.cut_at = until + r.u64(0..=2 * self.weather.cut_every);
        }
        if self.cut.is_some_and(|(_, _, until)| now >= until) {
            self.cut = None;
        }
    }

    pub fn next(&self) -> Option<u64> {
        self.arrivals.peek().map(|a| a.at)
    }

    /// The next datagram that has come by `now`.
    pub fn arrive(&mut self, now: u64) -> Option<Arrival> {
        if self.next()? > now {
            return None;
        }
        self.arrivals.pop()
    }
}

/// True so many times in a thousand.
pub(super) fn permille(r: &mut fastrand::Rng, chance: u16) -> bool {
    chance > 0 && r.u16(0..1000) < chance
}
