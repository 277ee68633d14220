//! The reliability protocol over roads that lose datagrams, over thousands of seeds: everything
//! arrives once and in order, memory stays below its bound (checked at every step inside of the
//! network), and every run ends.
//!
//! HPVM_SEED=n runs the checks of seed n alone; HPVM_SEEDS=n runs n seeds instead of the default.

mod talker;

use hpvm_sim::{Config, Network, Weather};
use talker::{for_each_seed, talkers};

/// Calls per run after which it counts as endless.
const ROUNDS: u64 = 3_000_000;

/// Runs talkers to the end; the network, for questions about what happened.
fn run(seed: u64, most: usize, config: fn(u32, u64) -> Config) -> Network {
    let (network, mut all) = talkers(seed, most, config);
    network.run(ROUNDS, &mut all, |_, talker| talker.turn());
    let total: u64 = all.iter().map(|t| t.expected).sum();
    let statistics = network.statistics();
    assert_eq!((statistics.packets, statistics.polled, statistics.lost), (total, total, 0));
    network.settle();
    assert!(network.idle(), "{}", network.describe());
    let bound = Network::bound(&config(network.size(), seed));
    assert!(statistics.max_outstanding <= bound);
    network
}

/// Adds up what the protocols of some runs have counted.
fn counters(seeds: u64, most: usize, config: fn(u32, u64) -> Config) -> impl Fn(&str) -> u64 {
    let mut sum: Vec<(&str, u64)> = Vec::new();
    for seed in 0..seeds {
        for (name, n) in run(seed, most, config).protocol_counters() {
            match sum.iter_mut().find(|(other, _)| *other == name) {
                Some(entry) => entry.1 += n,
                None => sum.push((name, n)),
            }
        }
    }
    move |name| sum.iter().find(|(other, _)| *other == name).expect("a counter").1
}

#[test]
fn everything_arrives_once_and_in_order() {
    for_each_seed(2000, |seed| {
        run(seed, 60, Config::lossy);
    });
}

#[test]
fn long_lists_arrive() {
    for_each_seed(60, |seed| {
        run(seed, 2000, Config::lossy);
    });
}

#[test]
fn a_seed_replays_its_run() {
    for_each_seed(100, |seed| {
        let runs = [(); 2].map(|()| {
            let network = run(seed, 60, Config::lossy);
            (network.statistics(), network.protocol_counters(), network.now())
        });
        assert_eq!(runs[0], runs[1]);
    });
}

#[test]
fn everything_that_can_happen_does() {
    let count = counters(300, 60, Config::lossy);
    for (name, least) in [
        ("retransmitted", 1000),
        ("reordered", 1000),
        ("duplicates", 100),
        ("replayed", 1000),
        ("lost", 1000),
        ("timeouts", 100),
        ("slowdowns", 100),
        ("probes", 10),
        ("size_lowered", 10),
        ("overflown", 10),
        ("lost_on_the_road", 1000),
    ] {
        assert!(count(name) >= least, "{name}: {}", count(name));
    }
    assert_eq!(count("garbage"), 0);
}

#[test]
fn fair_weather_needs_nothing_twice() {
    let fair = |size, seed| Config { seed, ..Config::in_weather(size, Weather::fair()) };
    let count = counters(50, 500, fair);
    assert!(count("packets_delivered") > 10_000);
    for name in ["lost", "replayed", "garbage", "no_room", "outside", "overflown"] {
        assert_eq!(count(name), 0, "{name}");
    }
    // Only processes that nap, and do not answer meanwhile.
    assert!(count("retransmitted") * 20 < count("datagrams_sent"));
    assert!(count("acks_sent") * 3 < count("datagrams_sent"));
}
