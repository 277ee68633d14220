//! What a virtual network is made of.

use crate::lossy::Weather;
use core::ops::RangeInclusive;
use hpvm_transport::Limits;
use hpvm_wire::datagram::{HEADER, RECORD};

/// Whether [`hpvm_transport::PeerMemory::read`] works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// `read_pays` is false and every pull is refused, as where seccomp forbids it.
    Never,
    /// Every pull of readable memory succeeds.
    Always,
    /// `read_pays` is true, but this many reads in a hundred are refused as not permitted, so that
    /// the protocol above needs its other path at any moment.
    Sometimes { refused_percent: u8 },
}

/// The shape of a virtual network. Every time is in ticks of virtual time.
#[derive(Clone, Debug)]
pub struct Config {
    /// Processes of the job.
    pub size: u32,
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// How long a packet travels.
    pub delay: RangeInclusive<u64>,
    /// Packets in a hundred that travel ten times as long.
    pub slow_percent: u8,
    /// How long a credit or a buffer takes to come home once its packet was polled.
    pub return_delay: RangeInclusive<u64>,
    /// How long after a death each survivor's poll reports it.
    pub death_delay: RangeInclusive<u64>,
    /// Packets that one receiver ever has to hold. At least `size`.
    pub credits: usize,
    /// Most credits that one sender holds unused toward one receiver. Lowered to
    /// `credits / size` where it is more, so that senders that took credits and fell silent never
    /// keep another from sending.
    pub batch: usize,
    /// Packets above `limits.inline` that one sender has on their way at once. At least 1.
    pub buffers: usize,
    /// Payload limits of the endpoints.
    pub limits: Limits,
    /// Grants, buffers and messages in fragments in a hundred that are refused although there is room,
    /// and packets after which a poll stops although more wait. Below 100.
    pub refused_percent: u8,
    /// Bytes of a fragment of a message that goes out by `Packets::send_fragments`; `None`: nothing does.
    pub fragment: Option<usize>,
    /// Whether single-copy transfers work.
    pub reads: Reads,
    /// Rounds of [`Network::run`](crate::Network::run) for which a process is held back once it has read a
    /// peer's memory, up to so many: copying takes time, in which the others go on.
    pub read_rounds: u32,
    /// Reads of a peer's memory in a hundred that are slow (`PeerMemory::read_was_slow`).
    pub slow_reads_percent: u8,
    /// By how much each poll moves time on. With 0 only `step`, `advance` and `settle` do.
    pub poll_ticks: u64,
    /// The packets travel in datagrams through this weather, under the reliability protocol. Then
    /// delays, credits and buffers are the protocol's affair, not those above; a tick is a
    /// nanosecond.
    pub weather: Option<Box<Weather>>,
}

impl Config {
    /// A network on which everything that a protocol must survive happens often: few credits and
    /// buffers, small packets, long and uneven delays, refusals. Seed 0.
    pub fn new(size: u32) -> Config {
        let n = size as usize;
        Config {
            size,
            seed: 0,
            delay: 1..=50,
            slow_percent: 5,
            return_delay: 0..=30,
            death_delay: 0..=200,
            credits: (2 * n).max(8),
            batch: 4,
            buffers: 4,
            limits: Limits { inline: 40, packet: 512 },
            refused_percent: 10,
            fragment: Some(512),
            reads: Reads::Sometimes { refused_percent: 50 },
            read_rounds: 0,
            slow_reads_percent: 0,
            poll_ticks: 1,
            weather: None,
        }
    }

    /// A network with room for everything, one tick of delay and no refusals: for tests that
    /// check what happens, not when. Time moves only when told. Seed 0.
    pub fn calm(size: u32) -> Config {
        Config {
            delay: 1..=1,
            slow_percent: 0,
            return_delay: 0..=0,
            death_delay: 0..=0,
            credits: 64 * size as usize,
            batch: 64,
            buffers: 64,
            limits: Limits { inline: 104, packet: 8192 },
            refused_percent: 0,
            fragment: None,
            reads: Reads::Always,
            poll_ticks: 0,
            ..Config::new(size)
        }
    }

    /// A network whose every dimension is drawn from the seed: one test run over many seeds meets
    /// starved pools and generous ones, tiny packets and large, with pull and without.
    pub fn random(size: u32, seed: u64) -> Config {
        // A stream of its own: the network itself starts from `seed`.
        let mut r = fastrand::Rng::with_seed(seed ^ 0x5851_f42d_4c95_7f2d);
        let inline = r.usize(1..=128);
        let n = size as usize;
        Config {
            size,
            seed,
            delay: r.u64(0..=5)..=r.u64(5..=100),
            slow_percent: r.u8(0..=20),
            return_delay: 0..=r.u64(0..=100),
            death_delay: 0..=r.u64(0..=500),
            credits: n + r.usize(0..=4 * n),
            batch: r.usize(1..=16),
            buffers: r.usize(1..=8),
            limits: Limits { inline, packet: inline + r.usize(64..=1024) },
            refused_percent: r.u8(0..=40),
            fragment: r.bool().then(|| inline + r.usize(20..=64)),
            reads: match r.u8(0..3) {
                0 => Reads::Never,
                1 => Reads::Always,
                _ => Reads::Sometimes { refused_percent: r.u8(1..=99) },
            },
            read_rounds: 0,
            poll_ticks: r.u64(0..=3),
            // Last: what a seed drew before there were slow reads it still draws.
            slow_reads_percent: *[0, 50, 100].get(r.usize(0..3)).unwrap_or(&0),
            weather: None,
        }
    }

    /// Datagrams in this weather. Seed 0.
    pub fn in_weather(size: u32, weather: Weather) -> Config {
        let protocol = &weather.protocol;
        let inline = protocol.least_datagram - HEADER - RECORD;
        let packet = protocol.packet;
        Config {
            limits: Limits { inline: inline.min(packet), packet },
            death_delay: 0..=1_000_000,
            refused_percent: 0,
            poll_ticks: 200,
            weather: Some(Box::new(weather)),
            ..Config::new(size)
        }
    }

    /// Datagrams in weather of which every dimension is drawn from the seed.
    pub fn lossy(size: u32, seed: u64) -> Config {
        let mut r = fastrand::Rng::with_seed(seed ^ 0x1f83_d9ab_fb41_bd6b);
        Config {
            seed,
            poll_ticks: r.u64(50..2000),
            refused_percent: r.u8(0..=20),
            ..Config::in_weather(size, Weather::random(seed))
        }
    }

    /// The batch after the rule on [`Config::batch`].
    pub(crate) fn fair_batch(&self) -> usize {
        self.batch.min(self.credits / self.size as usize).max(1)
    }

    /// Panics when the numbers contradict each other, and says which.
    pub(crate) fn check(&self) {
        assert!(self.size > 0, "a network needs at least one process");
        assert!(
            self.credits >= self.size as usize,
            "{} credits for {} senders: each must be able to hold one",
            self.credits,
            self.size
        );
        assert!(self.buffers > 0, "without a buffer no large packet can ever be sent");
        assert!(
            self.refused_percent < 100,
            "a network that refuses everything makes no progress: refused_percent is {}",
            self.refused_percent
        );
        assert!(
            self.limits.inline <= self.limits.packet,
            "inline limit {} above packet limit {}",
            self.limits.inline,
            self.limits.packet
        );
        if let Some(weather) = &self.weather {
            let most = weather.protocol.packet;
            assert!(self.limits.packet <= most, "packet limit above the protocol's {most}");
            let small = weather.protocol.least_datagram - HEADER - RECORD;
            assert!(self.limits.inline <= small, "inline limit above the protocol's {small}");
        }
        for (name, range) in [
            ("delay", &self.delay),
            ("return_delay", &self.return_delay),
            ("death_delay", &self.death_delay),
        ] {
            assert!(!range.is_empty(), "{name} {range:?} is an empty range");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_random_network_is_possible() {
        for seed in 0..10_000 {
            let config = Config::random(1 + (seed % 9) as u32, seed);
            config.check();
            assert!(config.fair_batch() * config.size as usize <= config.credits, "{config:?}");
        }
        for size in 1..100 {
            Config::new(size).check();
            Config::calm(size).check();
        }
    }

    #[test]
    #[should_panic(expected = "3 credits for 4 senders")]
    fn too_few_credits_are_named() {
        Config { credits: 3, ..Config::new(4) }.check();
    }

    #[test]
    #[should_panic(expected = "delay 5..=4 is an empty range")]
    #[allow(clippy::reversed_empty_ranges)]
    fn an_empty_range_is_named() {
        Config { delay: 5..=4, ..Config::new(4) }.check();
    }
}
