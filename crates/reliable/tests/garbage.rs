//! Bytes that no correct peer sends, and bytes that come again: no panic, no packet, no growth.
//!
//! HPVM_SEEDS=n runs n seeds.

mod pair;

use hpvm_reliable::{Config, Dropped, Head, Hub, Peer, Sent};
use pair::{MS, Pair, US};

fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    match number("HPVM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HPVM_SEEDS").unwrap_or(default),
    }
}

fn check_memory(hub: &Hub) {
    assert!(hub.memory() <= Hub::bound(hub.config(), 2, hub.links()));
}

#[test]
fn random_bytes_deliver_nothing() {
    let mut r = fastrand::Rng::with_seed(1);
    let mut hub = Hub::new(Config::default(), 2).expect("sound");
    for i in 0..300_000 {
        let mut bytes: Vec<u8> = (0..r.usize(0..120)).map(|_| r.u8(..)).collect();
        if bytes.len() > 27 && r.bool() {
            // Flags and words that pass the first look.
            (bytes[26], bytes[27]) = (r.u8(..) & 127, r.u8(0..4));
        }
        let mut delivered = |_: Head, _: &[u8]| panic!("delivered");
        let outcome = hub.on_datagram(i * US, 1, &bytes, &mut delivered);
        assert!(!matches!(outcome, Ok(n) if n > 0));
        check_memory(&hub);
    }
    let c = hub.counters();
    assert!(c.garbage > 100_000, "{c:?}");
}

/// Datagrams of a conversation, changed here and there, under numbers that were not used: what a
/// peer could send that knows the key and is out of its mind.
#[test]
fn a_mad_peer_does_no_harm() {
    for seed in seeds(300) {
        let mut r = fastrand::Rng::with_seed(seed);
        let config = Config {
            datagram: 1436,
            share: r.u16(2..8),
            window: r.u16(8..200),
            queue: r.u16(1..20),
            ..Config::default()
        };
        let mut p = Pair::new(config);
        let mut recorded: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut victim = Hub::new(config, 2).expect("sound");
        let mut number = 0_u64;
        let mut credits = 0;
        for _ in 0..300 {
            p.push(0, r.usize(0..4000));
            p.push(1, r.usize(0..100));
            p.transmit(0);
            p.transmit(1);
            recorded.extend(p.road.iter().map(|(_, to, bytes)| (*to, bytes.clone())));
            p.step();
            if recorded.is_empty() {
                continue;
            }
            let (_, mut bytes) = recorded[r.usize(0..recorded.len())].clone();
            number += r.u64(1..3);
            mutate(&mut r, &mut bytes, number);
            let now = p.now;
            let _ = victim.on_datagram(now, 0, &bytes, &mut |_, payload| {
                assert!(payload.len() <= config.packet);
            });
            if credits == 0 {
                credits = victim.grant(0);
            }
            if credits > 0
                && victim.push(now, 0, Head::single(1, 1), r.usize(0..4000), |_| ()).is_ok()
            {
                credits -= 1;
            }
            victim.transmit(now + r.u64(0..20 * MS), &mut |_, _| match r.u8(0..10) {
                0 => Sent::Later,
                1 => Sent::TooLarge(r.usize(0..2000)),
                _ => Sent::Taken,
            });
            victim.deadline();
            check_memory(&victim);
            recorded.truncate(500);
        }
    }
}

fn mutate(r: &mut fastrand::Rng, bytes: &mut Vec<u8>, number: u64) {
    for _ in 0..r.usize(0..4) {
        match r.u8(0..5) {
            0 => bytes.truncate(r.usize(0..=bytes.len())),
            1 => bytes.extend((0..r.usize(0..40)).map(|_| r.u8(..))),
            2 if bytes.len() >= 28 => {
                // A whole field: sequence numbers and windows from anywhere or from nearby.
                let at = [8, 12, 24][r.usize(0..3)];
                let old =
                    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
                let new = if r.bool() { r.u32(..) } else { old.wrapping_add(r.u32(0..600)) };
                bytes[at..at + 4].copy_from_slice(&new.to_le_bytes());
            }
            _ if !bytes.is_empty() => {
                let at = r.usize(0..bytes.len().min(60));
                bytes[at] = r.u8(..);
            }
            _ => {}
        }
    }
    if bytes.len() >= 8 {
        bytes[..8].copy_from_slice(&number.to_le_bytes());
    }
}

#[test]
fn whatever_is_replayed_changes_nothing() {
    for seed in seeds(50) {
        let mut r = fastrand::Rng::with_seed(seed);
        let mut p = Pair::new(Config::default());
        let mut old: Vec<(usize, Vec<u8>)> = Vec::new();
        for _ in 0..500 {
            p.push(0, r.usize(0..3000));
            if r.u8(0..3) == 0 {
                p.push(1, 8);
            }
            p.transmit(0);
            p.transmit(1);
            old.extend(p.road.iter().map(|(_, to, bytes)| (*to, bytes.clone())));
            p.step();
        }
        while p.step() {}
        assert!(p.hubs.iter().all(Hub::all_acknowledged));
        let counts = p.got.each_ref().map(Vec::len);
        // More is under way that old acknowledgements must not confirm.
        p.fate = Box::new(|_, _, _| pair::Fate::Lose);
        assert!(p.push(0, 100) && p.push(1, 100));
        p.transmit(0);
        p.transmit(1);
        for _ in 0..5000 {
            let (to, bytes) = old[r.usize(0..old.len())].clone();
            let outcome = p.hubs[to]
                .on_datagram(p.now, 1 - to as Peer, &bytes, &mut |_, _| panic!("delivered twice"));
            assert_eq!(outcome, Err(Dropped::Replayed));
        }
        assert!(p.hubs.iter().all(|hub| !hub.all_acknowledged()));
        // And the conversation goes on.
        p.fate = Box::new(|_, _, _| pair::Fate::Pass);
        while p.step() {}
        assert!(p.hubs.iter().all(Hub::all_acknowledged));
        assert_eq!(p.got.each_ref().map(Vec::len), counts.map(|n| n + 1));
    }
}
