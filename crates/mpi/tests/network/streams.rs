//! Large messages over virtual connections that break, stall and deliver in odd pieces, under the
//! same random traffic and collectives.

use crate::harness::run_with_streams;
use crate::{collectives, traffic};
use hpvm_sim::{BulkCounters, Config, Pull, StreamConfig};

/// `HPVM_SEED` replays one seed; `HPVM_SEEDS` is how many are run.
fn seeds(first: u64, many: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    match number("HPVM_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + number("HPVM_SEEDS").unwrap_or(many),
    }
}

/// A network on which large messages have no other way.
fn network(size: u32, seed: u64) -> Config {
    Config { pull: Pull::Never, ..Config::random(size, seed) }
}

#[test]
fn calm_connections_carry_all_large_messages() {
    let config = Config { pull: Pull::Never, seed: 9, ..Config::new(3) };
    let (streams, ..) =
        run_with_streams(config, StreamConfig::calm(), |shared| traffic(shared, 60));
    let (number, bytes, opened, _) = streams.moved();
    assert!(
        number >= 50 && bytes > 50_000 && opened > 0,
        "{number} streams, {bytes} bytes, {opened} opened"
    );
    assert_eq!(streams.trouble(), (0, 0));
}

#[test]
fn traffic_over_bad_connections() {
    let (mut streams, mut opened, mut copied, mut breaks) = (0, 0, 0, 0);
    let mut sum = BulkCounters::default();
    for seed in seeds(10_000, 400) {
        let size = 2 + (seed % 7) as u32;
        let bad = StreamConfig::random(seed);
        let (done, counters, _) =
            run_with_streams(network(size, seed), bad, |shared| traffic(shared, 24));
        streams += done.moved().0;
        opened += done.moved().2;
        copied += done.moved().3;
        breaks += done.trouble().0;
        sum += counters;
    }
    eprintln!("{streams} streams, {opened} opened, {copied} copied, {breaks} breaks, {sum:?}");
    if ["HPVM_SEED", "HPVM_SEEDS"].iter().all(|name| std::env::var_os(name).is_none()) {
        // What these networks are for does happen.
        assert!(streams > 1000 && opened > 500 && copied > 0 && breaks > 500);
        assert!(sum.resent > 100 && sum.moved > 100 && sum.strangers > 100);
    }
}

#[test]
fn collectives_over_bad_connections() {
    for seed in seeds(20_000, 100) {
        let size = 2 + (seed % 9) as u32;
        let bad = StreamConfig { least: seed % 64, ..StreamConfig::random(seed) };
        run_with_streams(network(size, seed), bad, |shared| {
            let mut parts = collectives(shared, 8);
            parts.extend(traffic(shared, 8));
            parts
        });
    }
}
