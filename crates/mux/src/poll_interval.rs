//! How often a rank polls its sockets.
//!
//! Polling sockets costs a system call, some 0.2 µs, as much as a message in shared memory. So a rank is in one of
//! three states:
//!
//! - hot after a packet came from or went to another host: every progress step polls the sockets, until
//!   some hundred polls have brought nothing;
//! - waiting when shared memory has been silent for some 5 µs: every eighth step polls the sockets. Not
//!   sooner, because a poll delays the answer to a message that comes meanwhile: the peer would wait
//!   longer and begin to poll its sockets, too, and both would stay slow;
//! - busy while shared memory brings packets: the clock is read after every 64th packet, and the sockets
//!   are polled 20 µs after the last time. Each poll that brings nothing doubles that time, up to 0.3 ms:
//!   then polling takes 0.1 % of the time instead of 2.

use hpvm_net::now;

/// Polls without a packet until a rank is not hot any more: some 80 µs, more than an answer over Ethernet
/// takes.
const HOT_POLLS: u32 = 400;
/// Steps in a row without a packet from shared memory after which a rank counts as waiting: some 5 µs.
const SILENT_STEPS: u32 = 2000;
/// Steps from one poll of the sockets to the next while a rank waits: polling takes an eighth of them.
const WAITING_STEPS: u32 = 8;
/// Packets from shared memory between two readings of the clock, which cost 20 ns each.
const CLOCK_PACKETS: u32 = 64;
/// Nanoseconds between two polls of the sockets while a rank is busy: after a packet from another host,
/// and at most, after many polls without one.
const MIN_INTERVAL: u64 = 20_000;
const MAX_INTERVAL: u64 = 16 * MIN_INTERVAL;

/// When to poll the network.
#[derive(Debug)]
pub struct PollInterval {
    /// Steps left of those that all poll the network.
    hot: u32,
    /// While waiting: steps left until the next poll.
    steps: u32,
    /// Steps since shared memory brought something.
    silent: u32,
    /// Packets since the clock was read.
    packets: u32,
    /// While busy: when to poll next, and the time from then to the poll after that.
    next: u64,
    interval: u64,
}

impl Default for PollInterval {
    fn default() -> PollInterval {
        PollInterval { hot: 0, steps: 0, silent: 0, packets: 0, next: 0, interval: MIN_INTERVAL }
    }
}

impl PollInterval {
    /// A packet went out: an answer may come.
    #[inline(always)]
    pub fn expect(&mut self) {
        self.hot = HOT_POLLS;
    }

    /// The next step polls the network.
    pub fn poll_next(&mut self) {
        self.steps = 0;
        self.silent = SILENT_STEPS;
    }

    /// After shared memory has brought `packets` in this step: true when the step leaves the network out.
    #[inline(always)]
    pub fn skips(&mut self, packets: usize) -> bool {
        if self.hot > 0 {
            return false;
        }
        if packets == 0 {
            self.silent += 1;
            self.silent < SILENT_STEPS || self.wait()
        } else {
            self.silent = 0;
            self.packets += packets as u32;
            self.packets < CLOCK_PACKETS || self.busy()
        }
    }

    #[inline(always)]
    fn wait(&mut self) -> bool {
        if self.steps > 0 {
            self.steps -= 1;
            return true;
        }
        self.steps = WAITING_STEPS - 1;
        self.silent = SILENT_STEPS;
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
        self.interval = (2 * self.interval).min(MAX_INTERVAL);
        false
    }

    /// The network was polled and brought `packets`.
    #[inline(always)]
    pub fn polled(&mut self, packets: usize) {
        if packets == 0 && self.hot == 1 {
            // Whoever has waited for the network goes on waiting for it.
            self.silent = SILENT_STEPS;
        }
        if packets > 0 {
            (self.hot, self.interval) = (HOT_POLLS, MIN_INTERVAL);
        } else {
            self.hot = self.hot.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `steps` steps poll the network when nothing comes from either side.
    fn polls(interval: &mut PollInterval, steps: u32) -> u32 {
        let polls = |_: &u32| {
            let polls = !interval.skips(0);
            if polls {
                interval.polled(0);
            }
            polls
        };
        (0..steps).filter(polls).count() as u32
    }

    #[test]
    fn a_rank_that_waits_polls_often_and_a_hot_one_always() {
        let mut interval = PollInterval::default();
        assert_eq!(polls(&mut interval, SILENT_STEPS - 1), 0);
        assert_eq!(polls(&mut interval, 8000), 1000);
        interval.expect();
        assert_eq!(polls(&mut interval, HOT_POLLS), HOT_POLLS);
        interval.polled(1);
        assert_eq!(polls(&mut interval, HOT_POLLS), HOT_POLLS);
        assert!(polls(&mut interval, 800) <= 101);
    }

    #[test]
    fn a_busy_rank_polls_seldom_but_polls() {
        let mut interval = PollInterval::default();
        // How many polls there are in a time, and the longest time between two.
        let mut polls_in = |time: u64, brings: usize| {
            let start = now();
            let (mut polls, mut last, mut longest) = (0, start, 0);
            while now() - start < time {
                if !interval.skips(1) {
                    interval.polled(brings);
                    interval.hot = 0;
                    polls += 1;
                    longest = longest.max(now() - last);
                    last = now();
                }
            }
            (polls, longest)
        };
        let (polls, longest) = polls_in(64 * MAX_INTERVAL, 0);
        assert!((1..=64 + 5).contains(&polls), "{polls}");
        assert!(longest >= MAX_INTERVAL, "{longest}");
        let (polls, _) = polls_in(20 * MIN_INTERVAL, 1);
        assert!((1..=21).contains(&polls), "{polls}");
    }

    #[test]
    fn the_step_before_sleep_polls() {
        let mut interval = PollInterval::default();
        assert!(interval.skips(0));
        interval.poll_next();
        assert!(!interval.skips(0));
    }
}
