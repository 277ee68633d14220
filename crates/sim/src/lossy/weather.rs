//! What happens to datagrams on their way.

use core::ops::RangeInclusive;
use hpvm_reliable::Config as Protocol;

/// Nanoseconds.
const US: u64 = 1000;
const MS: u64 = 1000 * US;

/// The state of the roads between all processes. Times in nanoseconds, chances in a thousand.
#[derive(Clone, Debug)]
pub struct Weather {
    /// The protocol's settings.
    pub protocol: Protocol,
    /// How long a datagram travels.
    pub delay: RangeInclusive<u64>,
    /// Datagrams that travel longer by so much, and are overtaken.
    pub spike_permille: u16,
    pub spike: RangeInclusive<u64>,
    /// Datagrams lost one by one.
    pub loss_permille: u16,
    /// Datagrams with which so many in a row are lost, on the road from one process to another.
    pub burst_permille: u16,
    pub burst: RangeInclusive<u32>,
    /// Datagrams that come twice.
    pub twice_permille: u16,
    /// Datagrams after which somebody sends an old one again.
    pub replay_permille: u16,
    /// Times that a socket takes nothing for now.
    pub busy_permille: u16,
    /// Bytes per microsecond that leave a process, and how many may wait to leave; 0: no limit.
    pub rate: u64,
    pub buffer: u64,
    /// Datagrams that a socket holds until the process looks.
    pub socket: usize,
    /// The largest datagram of the roads: drawn anew every so often. Above it, a sender is told
    /// in so many of a thousand cases, and the datagram is lost otherwise.
    pub mtu: RangeInclusive<usize>,
    pub mtu_every: u64,
    pub told_permille: u16,
    /// Now and then two processes do not reach each other for a time.
    pub cut_every: u64,
    pub cut: RangeInclusive<u64>,
    /// Now and then a process does nothing for a time.
    pub stall_every: u64,
    pub stall: RangeInclusive<u64>,
}

impl Weather {
    /// Nothing is lost and nothing waits: for tests of what happens, not when.
    pub fn fair() -> Weather {
        let protocol = Protocol::default();
        Weather {
            delay: 5 * US..=5 * US,
            spike_permille: 0,
            spike: 0..=0,
            loss_permille: 0,
            burst_permille: 0,
            burst: 1..=1,
            twice_permille: 0,
            replay_permille: 0,
            busy_permille: 0,
            rate: 0,
            buffer: 0,
            socket: 4096,
            mtu: protocol.datagram..=protocol.datagram,
            mtu_every: u64::MAX,
            told_permille: 0,
            cut_every: u64::MAX,
            cut: 0..=0,
            stall_every: u64::MAX,
            stall: 0..=0,
            protocol,
        }
    }

    /// Weather in which every dimension is drawn from the seed, from nearly fair to awful.
    pub fn random(seed: u64) -> Weather {
        // A stream of its own: the network itself starts from `seed`.
        let mut r = fastrand::Rng::with_seed(seed ^ 0x3c6e_f372_fe94_f82b);
        let sometimes = |r: &mut fastrand::Rng, most: u16| match r.u8(0..3) {
            0 => 0,
            1 => r.u16(0..=most / 10),
            _ => r.u16(0..=most),
        };
        let mut protocol = random_protocol(&mut r);
        // A stream of its own again: what a seed drew before paths could carry more than is believed at first it still draws.
        let mut larger = fastrand::Rng::with_seed(seed ^ 0x5851_f42d_4c95_7f2d);
        if larger.bool() {
            protocol.most_probed = protocol.datagram + larger.usize(0..=7000);
            protocol.most_datagram = protocol.most_probed;
        }
        let never_or = |r: &mut fastrand::Rng, every: RangeInclusive<u64>| match r.u8(0..3) {
            0 => r.u64(every),
            _ => u64::MAX,
        };
        let mtu = if r.u8(0..3) == 0 { protocol.least_datagram } else { protocol.datagram };
        let shortest = r.u64(0..20 * US);
        Weather {
            delay: shortest..=shortest + r.u64(0..200 * US),
            spike_permille: sometimes(&mut r, 50),
            spike: 100 * US..=r.u64(MS..20 * MS),
            loss_permille: sometimes(&mut r, 200),
            burst_permille: sometimes(&mut r, 20),
            burst: 1..=r.u32(1..60),
            twice_permille: sometimes(&mut r, 100),
            replay_permille: sometimes(&mut r, 50),
            busy_permille: sometimes(&mut r, 50),
            rate: if r.u8(0..3) == 0 { r.u64(2..100) } else { 0 },
            buffer: r.u64(20_000..200_000),
            socket: if r.u8(0..3) == 0 { r.usize(8..64) } else { 1024 },
            mtu: mtu..=protocol.datagram.max(protocol.most_probed),
            mtu_every: never_or(&mut r, MS..=100 * MS),
            told_permille: r.u16(0..=1000),
            cut_every: never_or(&mut r, 20 * MS..=200 * MS),
            cut: MS..=r.u64(2 * MS..200 * MS),
            stall_every: never_or(&mut r, 5 * MS..=50 * MS),
            stall: MS..=r.u64(2 * MS..50 * MS),
            protocol,
        }
    }
}

/// Windows, pools and sizes from starved to generous.
fn random_protocol(r: &mut fastrand::Rng) -> Protocol {
    let least_datagram = r.usize(600..=1200);
    let datagram = least_datagram + r.usize(0..=800);
    let share = r.u16(2..=16);
    Protocol {
        packet: r.usize(512..=6000),
        datagram,
        most_datagram: datagram,
        least_datagram,
        share,
        window: share + r.u16(0..=128),
        receive_pool: r.u32(0..=256),
        send_pool: r.u32(0..=256),
        queue: r.u16(1..=32),
        ack_delay: r.u64(0..=MS),
        ack_every: r.u16(1..=32),
        ..Protocol::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_random_weather_is_possible() {
        for seed in 0..10_000 {
            let weather = Weather::random(seed);
            weather.protocol.check().expect("sound");
            assert!(*weather.mtu.start() >= weather.protocol.least_datagram);
            assert!(weather.loss_permille < 500);
        }
        Weather::fair().protocol.check().expect("sound");
    }
}
