//! How large a datagram the path carries, found out by trying.
//!
//! The size is lowered when the system or the network says so (`lower`), or when a datagram came
//! through in small parts after it had not come through whole (see `Outgoing`). It is raised when
//! a probe, a datagram of padding, is answered.

use crate::config::{Config, MS};

/// Probes of one size before it counts as too large, and how long each is waited for.
const PROBES_MAX: u8 = 3;
const PROBE_TIMEOUT: u64 = 20 * MS;
/// Differences below this are not worth a probe.
const SIZE_STEP_MIN: usize = 32;
/// The interval between searches doubles up to so many times the first.
const SEARCH_INTERVAL_FACTOR_MAX: u64 = 60;

pub(crate) struct PathSize {
    /// Datagrams are cut to this.
    current: usize,
    /// Never tried above this.
    most: usize,
    /// The smallest size that is known to be too large in this search, or `most`.
    ceiling: usize,
    target: usize,
    tries: u8,
    /// When to probe next; nothing is probed while `current` is `most`.
    at: u64,
    interval: u64,
}

impl PathSize {
    pub fn new(config: &Config) -> PathSize {
        let most = config.most_probed.max(config.datagram);
        PathSize {
            current: config.datagram,
            most,
            ceiling: most,
            target: most,
            tries: 0,
            at: 0,
            interval: config.probe_interval,
        }
    }

    #[inline(always)]
    pub fn current(&self) -> usize {
        self.current
    }

    /// The path carries at most `size`, says the caller; it is not asked again for more.
    pub fn set(&mut self, config: &Config, size: usize) {
        self.most = size.clamp(config.least_datagram, config.most_datagram);
        self.current = self.current.min(self.most);
        (self.ceiling, self.target, self.tries) = (self.most, self.most, 0);
    }

    /// `size` came through, and more may not. True when this is news.
    pub fn lower(&mut self, config: &Config, now: u64, size: usize) -> bool {
        let size = size.max(config.least_datagram);
        if size >= self.current {
            return false;
        }
        self.current = size;
        self.ceiling = self.most;
        self.target = self.most;
        self.tries = 0;
        self.at = now + PROBE_TIMEOUT;
        true
    }

    /// A probe of this size has come through.
    pub fn answered(&mut self, config: &Config, now: u64, size: usize) {
        if size <= self.current || size > self.most {
            return;
        }
        self.current = size;
        self.tries = 0;
        self.interval = config.probe_interval;
        self.target = (size + self.ceiling) / 2;
        self.at = if self.target < size + SIZE_STEP_MIN { self.rest(now) } else { now };
    }

    /// The size to probe now, if any. Asking counts as a try.
    pub fn due(&mut self, now: u64) -> Option<usize> {
        if now < self.deadline() {
            return None;
        }
        if self.tries == PROBES_MAX {
            self.tries = 0;
            self.ceiling = self.target;
            self.target = (self.current + self.ceiling) / 2;
            if self.target < self.current + SIZE_STEP_MIN {
                self.at = self.rest(now);
                return None;
            }
        }
        self.tries += 1;
        self.at = now + PROBE_TIMEOUT;
        Some(self.target)
    }

    /// When a probe is due.
    #[inline(always)]
    pub fn deadline(&self) -> u64 {
        if self.current < self.most { self.at } else { u64::MAX }
    }

    /// Ends a search; when the next begins.
    fn rest(&mut self, now: u64) -> u64 {
        self.ceiling = self.most;
        self.target = self.most;
        let next = now + self.interval;
        self.interval = (2 * self.interval).min(SEARCH_INTERVAL_FACTOR_MAX * 1000 * MS);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a path that carries `limit` answer probes for 10 s; how many there were.
    fn search(size: &mut PathSize, config: &Config, limit: usize, now: &mut u64) -> usize {
        let mut probes = 0;
        let end = *now + 10_000 * MS;
        while size.deadline() < end {
            *now = (*now).max(size.deadline());
            if let Some(probe) = size.due(*now) {
                probes += 1;
                assert!(probe > size.current() && probe <= config.most_datagram);
                if probe <= limit {
                    size.answered(config, *now, probe);
                }
            }
        }
        *now = end;
        probes
    }

    #[test]
    fn finds_what_the_path_carries() {
        let config = Config { datagram: 8000, most_datagram: 8000, ..Config::default() };
        let mut size = PathSize::new(&config);
        let mut now = 1;
        assert_eq!((size.current(), size.deadline()), (8000, u64::MAX));
        assert!(size.lower(&config, now, 10));
        assert_eq!(size.current(), config.least_datagram);
        assert!(!size.lower(&config, now, 2000));
        let probes = search(&mut size, &config, 5000, &mut now);
        assert!((5000 - SIZE_STEP_MIN..=5000).contains(&size.current()), "{}", size.current());
        assert!(probes < 150, "{probes}");
        search(&mut size, &config, 9000, &mut now);
        assert_eq!((size.current(), size.deadline()), (8000, u64::MAX));
        size.set(&config, 1500);
        assert_eq!((size.current(), size.deadline()), (1500, u64::MAX));
        size.answered(&config, now, 8000);
        assert_eq!(size.current(), 1500);
    }

    #[test]
    fn tries_what_is_larger_than_the_first_size() {
        let config = Config { most_probed: 8900, most_datagram: 8900, ..Config::default() };
        for (carried, probes_max) in [(8900, 1), (9000, 1), (4000, 150), (1436, 150)] {
            let (mut size, mut now) = (PathSize::new(&config), 1);
            assert_eq!((size.current(), size.deadline()), (config.datagram, 0));
            let first = size.due(now);
            assert_eq!(first, Some(8900), "at once");
            if carried >= 8900 {
                size.answered(&config, now, 8900);
            }
            let probes = 1 + search(&mut size, &config, carried, &mut now);
            assert!(probes <= probes_max, "{probes} for {carried}");
            let wrong_by = carried.min(8900) - size.current();
            assert!(wrong_by < SIZE_STEP_MIN, "{} of {carried}", size.current());
        }
        // What the system says of the path's end of ours is believed at once.
        let mut size = PathSize::new(&config);
        size.set(&config, 1400);
        assert_eq!((size.current(), size.deadline()), (1400, u64::MAX));
        let mut size = PathSize::new(&config);
        size.set(&config, 4000);
        assert_eq!((size.current(), size.due(1)), (config.datagram, Some(4000)));
    }
}
