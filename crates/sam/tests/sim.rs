//! Shared objects on the virtual network, checked against what a single memory would have shown. A failure names the
//! seed that replays it. HPVM_SEED=n runs seed n alone, HPVM_SEEDS=n that many.

mod model;

use hpvm_sim::Config;
use model::{Job, run};

/// Seeds of a test: `most`, or what the environment says.
fn seeds(from: u64, most: u64) -> impl Iterator<Item = u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let one = number("HPVM_SEED");
    let many = number("HPVM_SEEDS").unwrap_or(most);
    let range = one.map_or(from..from + many, |seed| seed..seed + 1);
    range.into_iter()
}

#[test]
fn objects_over_networks_of_every_shape() {
    for seed in seeds(0, 500) {
        let config = Config::random(1 + (seed % 6) as u32, seed);
        run(config, Job { operations: 150, tasks: 20, cache: 1500, kill: None });
    }
}

#[test]
fn in_datagrams_that_get_lost() {
    for seed in seeds(10_000, 60) {
        let config = Config::lossy(2 + (seed % 3) as u32, seed);
        run(config, Job { operations: 80, tasks: 10, cache: 1500, kill: None });
    }
}

#[test]
fn with_room_for_hardly_anything_and_for_everything() {
    for seed in seeds(20_000, 200) {
        let cache = if seed % 2 == 0 { 0 } else { 1 << 20 };
        let config = Config::random(2 + (seed % 4) as u32, seed);
        run(config, Job { operations: 150, tasks: 0, cache, kill: None });
    }
}

#[test]
fn tasks_are_done_once_and_phases_end() {
    for seed in seeds(30_000, 300) {
        let config = Config::random(1 + (seed % 7) as u32, seed);
        run(config, Job { operations: 0, tasks: 60, cache: 0, kill: None });
    }
}

/// A rank dies in the middle: the others learn of it, and nothing else goes wrong.
#[test]
fn with_a_death() {
    for seed in seeds(40_000, 200) {
        let size = 2 + (seed % 4) as u32;
        let kill = Some((seed as u32 % size, 20 + seed % 900));
        let config = Config::random(size, seed);
        run(config, Job { operations: 120, tasks: 20, cache: 1500, kill });
    }
}
