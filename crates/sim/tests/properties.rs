//! What the network promises, over thousands of seeds.
//!
//! HPVM_SEED=n runs the checks of seed n alone; HPVM_SEEDS=n runs n seeds instead of the default.

mod talker;

use hpvm_sim::{Config, Network, SimTransport, Statistics, Turn};
use hpvm_transport::{Broken, Head, Packets, PeerMemory};
use std::panic::{AssertUnwindSafe, catch_unwind};
use talker::{for_each_seed, talkers};

/// Calls per run after which it counts as endless.
const ROUNDS: u64 = 1_000_000;

fn run(seed: u64) -> Statistics {
    let (network, mut all) = talkers(seed, 30, Config::random);
    network.run(ROUNDS, &mut all, |_, talker| talker.turn());
    let total: u64 = all.iter().map(|t| t.expected).sum();
    let statistics = network.statistics();
    assert_eq!((statistics.packets, statistics.polled, statistics.lost), (total, total, 0));
    network.settle();
    assert!(network.idle());
    statistics
}

#[test]
fn everything_arrives_once_and_in_order() {
    for_each_seed(3000, |seed| {
        run(seed);
    });
}

#[test]
fn a_seed_replays_its_run() {
    for_each_seed(300, |seed| assert_eq!(run(seed), run(seed)));
}

#[test]
fn seeds_differ() {
    let mut digests: Vec<u64> =
        (0..200).map(run).filter(|s| s.packets > 10).map(|s| s.digest).collect();
    let runs = digests.len();
    digests.sort_unstable();
    digests.dedup();
    assert!(runs > 100);
    assert_eq!(digests.len(), runs, "two seeds gave the same run");
}

#[test]
fn every_kind_of_backpressure_happens() {
    let mut sum = Statistics::default();
    for seed in 0..200 {
        let s = run(seed);
        sum.empty_grants += s.empty_grants;
        sum.no_buffer += s.no_buffer;
        sum.refused += s.refused;
    }
    assert!(sum.empty_grants > 100 && sum.no_buffer > 100 && sum.refused > 100, "{sum:?}");
}

#[test]
fn packets_of_different_pairs_overtake() {
    let mut overtaken = 0;
    for seed in 0..100 {
        let network = Network::new(Config { seed, ..Config::new(3) });
        let mut ends = network.endpoints();
        for (src, imm) in [(1, 1), (2, 2)] {
            while ends[src].take_credits(0) == 0 {}
            ends[src].send(0, Head::single(0, imm), 0, |_| ()).unwrap();
        }
        network.settle();
        let mut order = Vec::new();
        while order.len() < 2 {
            ends[0].poll(8, |_, head, _| order.push(head.imm)).unwrap();
        }
        overtaken += u32::from(order == [2, 1]);
    }
    assert!((20..80).contains(&overtaken), "{overtaken} of 100 overtook");
}

/// A run in which one rank dies and everybody waits for one packet more than is ever sent, so
/// that only the death ends it. How many packets were lost.
fn run_with_a_death(seed: u64) -> u64 {
    let (network, mut all) = talkers(seed, 30, Config::random);
    let victim = (seed % u64::from(network.size())) as u32;
    all.iter_mut().for_each(|t| t.expected += 1);
    let mut calls = 0;
    network.run(ROUNDS, &mut all, |_, talker| {
        calls += 1;
        if calls == 1 + seed % 50 {
            network.kill(victim);
        }
        match talker.turn() {
            // Before the death a network on which nothing moves is no fault.
            Turn::Idle if network.alive(victim) => Turn::Worked,
            other => other,
        }
    });
    for survivor in all.iter().filter(|t| t.end.rank() != victim) {
        let rank = survivor.end.rank();
        match &survivor.lost {
            Some(Broken::PeerLost { rank: lost, .. }) => assert_eq!(*lost, victim),
            other => panic!("rank {rank} heard {other:?}"),
        }
    }
    network.statistics().lost
}

#[test]
fn a_death_reaches_every_survivor() {
    for_each_seed(1000, |seed| {
        run_with_a_death(seed);
    });
}

#[test]
fn a_death_loses_packets_sometimes() {
    let runs = 200;
    let with_loss = (0..runs).filter(|seed| run_with_a_death(*seed) > 0).count() as u64;
    assert!((runs / 10..runs).contains(&with_loss), "{with_loss} of {runs} deaths lost a packet");
}

#[test]
fn the_dead_do_nothing() {
    let network = Network::new(Config::calm(2));
    let mut ends = network.endpoints();
    let granted = ends[0].take_credits(1);
    assert!(granted > 0);
    network.kill(0);
    network.settle();
    let bytes = [1_u8; 8];
    let mut room = [0_u8; 8];
    assert_eq!(ends[0].take_credits(1), 0);
    assert!(ends[0].send(1, Head::single(0, 0), 0, |_| ()).is_err());
    assert_eq!(ends[0].poll(1, |_, _, _| ()), Ok(0));
    assert!(!ends[1].read_pays(0));
    let from = bytes.as_ptr().expose_provenance() as u64;
    // SAFETY: `room` is 8 bytes long.
    assert!(unsafe { ends[1].read(0, from, room.as_mut_ptr(), 8) }.is_err());
    for _ in 0..3 {
        assert!(matches!(ends[1].poll(1, |_, _, _| ()), Err(Broken::PeerLost { rank: 0, .. })));
    }
}

#[test]
fn a_broken_endpoint_says_why() {
    let network = Network::new(Config::calm(2));
    let mut ends = network.endpoints();
    let why = Broken::Corrupt("length 77 in a slot of 64".into());
    network.break_later(1, 10, why.clone());
    assert_eq!(ends[1].poll(1, |_, _, _| ()), Ok(0));
    network.advance(10);
    assert_eq!(ends[1].poll(1, |_, _, _| ()), Err(why));
    assert_eq!(ends[0].poll(1, |_, _, _| ()), Ok(0));
}

#[test]
fn a_deadlock_is_named_with_its_seed() {
    let text = panic_text(|| {
        let network = Network::new(Config { seed: 4711, ..Config::new(3) });
        let mut ends = network.endpoints();
        // Ranks 0 and 1 wait for a packet that nobody sends.
        network.run(ROUNDS, &mut ends, |rank, end| match end.poll(1, |_, _, _| ()) {
            Ok(0) if rank < 2 => Turn::Idle,
            _ => Turn::Done,
        });
    });
    assert!(text.contains("no progress: ranks [0, 1] wait; seed 4711"), "{text}");
}

#[test]
fn a_livelock_is_named_with_its_seed() {
    let text = panic_text(|| {
        let network = Network::new(Config { seed: 4712, ..Config::new(1) });
        network.run(100, &mut network.endpoints(), |_, _| Turn::Worked);
    });
    assert!(text.contains("100 rounds were not enough: ranks [0]"), "{text}");
    assert!(text.contains("seed 4712"), "{text}");
}

#[test]
fn misuse_is_named_with_its_seed() {
    let misuse = |act: fn(&mut SimTransport)| {
        panic_text(|| act(&mut Network::new(Config { seed: 9, ..Config::calm(2) }).endpoint(0)))
    };
    let text = misuse(|end| _ = end.send(1, Head::single(0, 0), 0, |_| ()));
    assert!(text.contains("seed 9") && text.contains("no credit toward 1"), "{text}");
    let text = misuse(|end| {
        end.take_credits(1);
        let len = end.limits().packet + 1;
        _ = end.send(1, Head::single(0, 0), len, |_| ());
    });
    assert!(text.contains("seed 9: rank 0 sends 8193 bytes, at most 8192 fit"), "{text}");
}

fn panic_text(act: impl FnOnce()) -> String {
    let cause = catch_unwind(AssertUnwindSafe(act)).expect_err("no panic");
    cause.downcast_ref::<String>().cloned().unwrap_or_default()
}
