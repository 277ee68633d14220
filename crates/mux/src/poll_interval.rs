//! How often a rank looks at its sockets.
//!
//! A look costs a system call, some 0.2 µs, as much as a message in shared memory. So:
//! - hot: after a packet came from or went to another host, every turn looks, for some hundred
//!   looks in vain;
//! - waiting: when shared memory has been silent for some 5 µs, every eighth turn looks. Not
//!   sooner: a look delays the answer to a message that comes meanwhile, so that the peer waits
//!   longer and looks too, and both stay slow;
//! - busy: while shared memory talks, the clock is asked after every 64th packet, and a look comes
//!   20 µs after the one before. Each in vain doubles that time, up to 0.3 ms: then looks take 0.1 %
//!   of the time, instead of 2.

use crate::net::now;

/// Looks in vain until the network is not hot any more.
const HOT: u32 = 400;
/// Turns in a row in which nothing came from shared memory: then the rank waits.
const SILENT: u32 = 2000;
/// Turns between looks of a rank that waits.
const WAITING: u32 = 8;
/// Packets from shared memory between two looks at the clock.
const PACKETS: u32 = 64;
/// Nanoseconds between two looks of a rank that is busy with shared memory: after a packet from
/// another host, and after many looks in vain.
const INTERVAL: u64 = 20_000;
const LONGEST: u64 = 16 * INTERVAL;

/// When to look at the network.
#[derive(Debug)]
pub struct Pace {
    /// Looks that every turn makes.
    hot: u32,
    /// Turns left until the next look, or until the decision about it.
    turns: u32,
    /// Turns since shared memory brought something.
    silent: u32,
    packets: u32,
    /// When a busy rank looks next, and the time from then to the look after that.
    next: u64,
    interval: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { hot: 0, turns: 0, silent: 0, packets: 0, next: 0, interval: INTERVAL }
    }
}

impl Pace {
    /// A packet went out: an answer may come.
    #[inline(always)]
    pub fn expect(&mut self) {
        self.hot = HOT;
    }

    /// The next turn looks.
    pub fn look_next(&mut self) {
        self.turns = 0;
        self.silent = SILENT;
    }

    /// After a turn in which shared memory brought `packets`: true when the network is not looked
    /// at.
    #[inline(always)]
    pub fn passes(&mut self, packets: usize) -> bool {
        if self.hot > 0 {
            return false;
        }
        if packets == 0 {
            self.silent += 1;
            self.silent < SILENT || self.wait()
        } else {
            self.silent = 0;
            self.packets += packets as u32;
            self.packets < PACKETS || self.busy()
        }
    }

    #[inline(always)]
    fn wait(&mut self) -> bool {
        if self.turns > 0 {
            self.turns -= 1;
            return true;
        }
        self.turns = WAITING - 1;
        self.silent = SILENT;
        false
    }

    #[cold]
    fn busy(&mut self) -> bool {
        self.packets = 0;
        let now = now();
        if now < self.next {
            return true;
        }
        self.next = now + self.interval;
        self.interval = (2 * self.interval).min(LONGEST);
        false
    }

    /// The network was looked at and brought `packets`.
    #[inline(always)]
    pub fn looked(&mut self, packets: usize) {
        if packets == 0 && self.hot == 1 {
            // Whoever has waited for the network goes on waiting for it.
            self.silent = SILENT;
        }
        if packets > 0 {
            (self.hot, self.interval) = (HOT, INTERVAL);
        } else {
            self.hot = self.hot.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `turns` turns look when nothing comes from either side.
    fn looks(pace: &mut Pace, turns: u32) -> u32 {
        (0..turns)
            .filter(|_| {
                let looks = !pace.passes(0);
                if looks {
                    pace.looked(0);
                }
                looks
            })
            .count() as u32
    }

    #[test]
    fn a_rank_that_waits_looks_often_and_a_hot_one_always() {
        let mut pace = Pace::default();
        assert_eq!(looks(&mut pace, SILENT - 1), 0);
        assert_eq!(looks(&mut pace, 8000), 1000);
        pace.expect();
        assert_eq!(looks(&mut pace, HOT), HOT);
        pace.looked(1);
        assert_eq!(looks(&mut pace, HOT), HOT);
        assert!(looks(&mut pace, 800) <= 101);
    }

    #[test]
    fn a_busy_rank_looks_seldom_but_looks() {
        let mut pace = Pace::default();
        // How many looks there are in a time, and the longest time between two.
        let mut looks_in = |time: u64, brings: usize| {
            let start = now();
            let (mut looks, mut last, mut longest) = (0, start, 0);
            while now() - start < time {
                if !pace.passes(1) {
                    pace.looked(brings);
                    pace.hot = 0;
                    looks += 1;
                    longest = longest.max(now() - last);
                    last = now();
                }
            }
            (looks, longest)
        };
        let (looks, longest) = looks_in(64 * LONGEST, 0);
        assert!((1..=64 + 5).contains(&looks), "{looks}");
        assert!(longest >= LONGEST, "{longest}");
        let (looks, _) = looks_in(20 * INTERVAL, 1);
        assert!((1..=21).contains(&looks), "{looks}");
    }

    #[test]
    fn the_turn_before_sleep_looks() {
        let mut pace = Pace::default();
        assert!(pace.passes(0));
        pace.look_next();
        assert!(!pace.passes(0));
    }
}
