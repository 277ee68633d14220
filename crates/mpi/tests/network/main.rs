//! Jobs of many processes on the virtual network: random collectives and random point-to-point
//! traffic, checked against models. A failure names the seed that replays it.
//!
//! The runs in datagrams that get lost and those of collectives through shared memory take HPVM_SEED=n (seed n
//! alone) and HPVM_SEEDS=n (n seeds).

mod calls;
mod cancels;
mod coll_slots;
mod collectives;
mod data;
mod direct;
mod exchange;
mod flood;
mod harness;
mod mistakes;
mod models;
mod reductions;
mod spaces;
mod split_copies;
mod steps;
mod streams;
mod traffic;

use coll_slots::CollSlots;
use collectives::Collectives;
use flood::{Flood, Flooding};
use harness::{Part, Shared, run};
use hpvm_sim::{Config, Reads};
use models::Packets;
use traffic::Traffic;

/// A part of every process's work: `calls` collectives.
fn collectives(shared: &Shared, calls: u32) -> Vec<Box<dyn Part>> {
    vec![Box::new(Collectives::new(shared, calls))]
}

/// `messages` from every process.
fn traffic(shared: &Shared, messages: u32) -> Vec<Box<dyn Part>> {
    vec![Box::new(Traffic::new(shared, messages))]
}

#[test]
fn few_processes_many_seeds_collectives() {
    for seed in 0..300 {
        let size = 1 + (seed % 9) as u32;
        run(Config::random(size, seed), |shared| collectives(shared, 12));
    }
}

#[test]
fn few_processes_many_seeds_traffic() {
    for seed in 1000..1300 {
        let size = 1 + (seed % 9) as u32;
        run(Config::random(size, seed), |shared| traffic(shared, 24));
    }
}

#[test]
fn collectives_and_traffic_at_once() {
    for seed in 2000..2150 {
        let size = 2 + (seed % 8) as u32;
        run(Config::random(size, seed), |shared| {
            let mut parts = collectives(shared, 8);
            parts.extend(traffic(shared, 12));
            parts
        });
    }
}

#[test]
fn every_kind_of_read() {
    let refused = Reads::Sometimes { refused_percent: 50 };
    for (i, reads) in [Reads::Never, Reads::Always, refused].into_iter().enumerate() {
        for seed in 0..20 {
            let config = Config { seed: 3000 + seed, reads, ..Config::new(2 + i as u32) };
            run(config, |shared| traffic(shared, 40));
        }
    }
}

#[test]
fn messages_copied_from_both_ends() {
    let refused = Reads::Sometimes { refused_percent: 20 };
    let mut writes = 0;
    for seed in 0..60 {
        let reads = if seed % 2 == 0 { Reads::Always } else { refused };
        // A receiver that is held back after each read does not have all before its request arrives.
        let config = Config {
            seed: 3500 + seed,
            reads,
            read_rounds: 400,
            ..Config::new(2 + seed as u32 % 4)
        };
        // Long enough for several parts.
        let part = |shared: &Shared| Traffic::one_way(shared, 6, 100_000);
        writes += run(config, |shared| vec![Box::new(part(shared))]).writes;
    }
    assert!(writes > 100, "senders have helped with {writes} parts only");
}

#[test]
fn many_processes_collectives() {
    // A call costs the square of the size.
    for (seed, size, calls) in [(1, 33, 16), (2, 64, 16), (3, 100, 16), (7, 150, 6), (4, 200, 4)] {
        let config = Config { seed, ..Config::new(size) };
        run(config, |shared| collectives(shared, calls));
    }
}

#[test]
fn many_processes_traffic() {
    for (seed, size) in [(5, 64), (6, 200)] {
        let config = Config { seed, ..Config::new(size) };
        run(config, |shared| traffic(shared, 30));
    }
}

#[test]
fn collectives_through_shared_memory() {
    for seed in seeds(4000, 150) {
        let size = 2 + (seed % 11) as u32;
        run(Config::random(size, seed), |shared| {
            let mut parts: Vec<Box<dyn Part>> = vec![Box::new(CollSlots::new(shared, 6, 25))];
            parts.extend(traffic(shared, 6));
            parts
        });
    }
    if ["HPVM_SEED", "HPVM_SEEDS"].iter().any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    let across = coll_slots::HIERARCHICAL.load(std::sync::atomic::Ordering::Relaxed); // relaxed: all is over
    assert!(across > 10_000, "only {across} operations across hosts");
    let long = coll_slots::LONG.load(std::sync::atomic::Ordering::Relaxed); // relaxed: all is over
    assert!(long > 1000, "only {long} with long data");
    let counts = [
        &coll_slots::RING_REDUCTIONS,
        &coll_slots::IN_PIECES,
        &coll_slots::READS,
        &coll_slots::MESSAGES,
    ];
    // Relaxed: all is over.
    let counts = counts.map(|n| n.load(std::sync::atomic::Ordering::Relaxed));
    assert!(
        counts.iter().all(|n| *n > 20),
        "ring reductions, in pieces, direct reads, refused ones: {counts:?}"
    );
}

#[test]
fn a_communicator_without_operations_leaves_its_slots_to_the_next() {
    for seed in 4400..4440 {
        let size = 2 + (seed % 11) as u32;
        run(Config::random(size, seed), |shared| vec![Box::new(CollSlots::new(shared, 4, 0)) as _]);
    }
}

/// A job in which all ranks flood rank 0.
fn flood(config: Config, flood: Flood) {
    run(config, |shared| vec![Box::new(Flooding::new(shared, flood)) as Box<dyn Part>]);
}

#[test]
fn what_is_kept_of_a_sender_has_a_bound() {
    // One tick of delay, so a word of the receiver comes soon: beyond the share only what is sent
    // without a look, and what was on its way.
    for seed in 0..40 {
        let size = 2 + (seed % 4) as u32;
        let share = [0, 2000, 100_000][seed as usize % 3];
        let most = share + 400 * 900;
        flood(Config { seed, ..Config::calm(size) }, Flood { each: 4000, share, most });
    }
}

#[test]
fn floods_end_in_order_on_any_network() {
    for seed in seeds(30_000, 200) {
        let size = 2 + (seed % 4) as u32;
        let share = [0, 2000, 100_000][seed as usize % 3];
        let most = u64::MAX;
        let config = if seed % 4 == 3 { Config::lossy } else { Config::random };
        flood(config(size, seed), Flood { each: 300, share, most });
    }
}

/// Seeds from `first` on, as many as are asked for.
fn seeds(first: u64, default: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    match number("HPVM_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + number("HPVM_SEEDS").unwrap_or(default),
    }
}

#[test]
fn lost_datagrams_and_collectives() {
    for seed in seeds(10_000, 150) {
        let size = 1 + (seed % 9) as u32;
        run(Config::lossy(size, seed), |shared| collectives(shared, 12));
    }
}

#[test]
fn lost_datagrams_and_traffic() {
    for seed in seeds(20_000, 150) {
        let size = 1 + (seed % 9) as u32;
        run(Config::lossy(size, seed), |shared| traffic(shared, 24));
    }
}

#[test]
fn lost_datagrams_and_many_processes() {
    for (seed, size) in [(1, 33), (2, 64)] {
        run(Config::lossy(size, seed), |shared| {
            let mut parts = collectives(shared, 6);
            parts.extend(traffic(shared, 12));
            parts
        });
    }
}

#[test]
fn packets_of_models_come_once_and_in_order() {
    for seed in 0..60 {
        let size = 1 + (seed % 5) as u32;
        run(Config::random(size, seed), |shared| {
            vec![Box::new(Packets::new(shared, 120)), Box::new(Traffic::new(shared, 20))]
        });
    }
}

#[test]
fn packets_that_a_model_does_not_take_wait_at_their_sender() {
    // Beyond the quota of 4,000 bytes come those that were on their way; all are 600,000.
    for seed in 0..6 {
        run(Config { seed, ..Config::calm(2) }, |shared| {
            vec![Box::new(Packets::flood(shared, 2000, 4000 + 400 * 608))]
        });
    }
}
