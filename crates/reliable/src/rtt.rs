//! Round trips and the time to wait for an acknowledgement (RFC 6298).

use crate::config::{Config, MS};

/// What a clock and a scheduler may be wrong by.
const GRAIN: u64 = MS / 10;

#[derive(Default)]
pub(crate) struct Rtt {
    /// Smoothed round trip, its variation, the latest and the shortest; 0 before the first.
    smooth: u64,
    variation: u64,
    latest: u64,
    least: u64,
}

impl Rtt {
    /// A round trip was measured.
    pub fn sample(&mut self, rtt: u64) {
        let rtt = rtt.max(1);
        self.latest = rtt;
        if self.smooth == 0 {
            (self.smooth, self.variation, self.least) = (rtt, rtt / 2, rtt);
            return;
        }
        self.least = self.least.min(rtt);
        self.variation = (3 * self.variation + self.smooth.abs_diff(rtt)) / 4;
        self.smooth = (7 * self.smooth + rtt) / 8;
    }

    /// Nanoseconds to wait for any acknowledgement after `timeouts` waits in vain.
    #[inline]
    pub fn timeout(&self, config: &Config, timeouts: u32) -> u64 {
        let first = match self.smooth {
            0 => 5 * config.least_timeout,
            smooth => smooth + (4 * self.variation).max(GRAIN) + config.ack_delay,
        };
        let first = first.clamp(config.least_timeout, config.most_timeout);
        (first << timeouts.min(20)).min(config.most_timeout)
    }

    /// After so long, a datagram is lost when a later one has come.
    #[inline]
    pub fn overtaken(&self) -> u64 {
        self.smooth.max(self.latest) * 9 / 8 + GRAIN
    }

    /// True when a copy sent `ago` nanoseconds ago can have been acknowledged by now. Before the first sample nothing says
    /// so: on a long path it is the original that has been.
    #[inline]
    pub fn plausible(&self, ago: u64) -> bool {
        self.smooth > 0 && ago >= self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_rfc_6298_says() {
        let config =
            Config { least_timeout: 1, most_timeout: 1000 * MS, ack_delay: 0, ..Config::default() };
        let mut rtt = Rtt::default();
        assert!(!rtt.plausible(1000 * MS));
        assert_eq!(rtt.timeout(&config, 0), 5);
        rtt.sample(8 * MS);
        assert_eq!(rtt.timeout(&config, 0), 8 * MS + 4 * 4 * MS);
        rtt.sample(16 * MS);
        // 3/4 of 4 ms and 1/4 of 8 ms; 7/8 of 8 ms and 1/8 of 16 ms.
        assert_eq!(rtt.timeout(&config, 0), 9 * MS + 4 * 5 * MS);
        assert_eq!(rtt.timeout(&config, 1), 58 * MS);
        assert_eq!(rtt.timeout(&config, 60), 1000 * MS);
        assert!(rtt.plausible(8 * MS) && !rtt.plausible(8 * MS - 1));
        assert_eq!(rtt.overtaken(), 18 * MS + GRAIN);
    }
}
