//! One-sided operations on the virtual network, checked against a sequential model of memory. A failure names the
//! seed that replays it. HPVM_SEED=n runs seed n alone, HPVM_SEEDS=n that many.

mod common;
mod model;

use hpvm_onesided::Allowed;
use hpvm_sim::{Config, Reads};
use model::{Job, run};

/// Seeds of a test: `most`, or what the environment says.
fn seeds(from: u64, most: u64) -> impl Iterator<Item = u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let one = number("HPVM_SEED");
    let many = number("HPVM_SEEDS").unwrap_or(most);
    let range = one.map_or(from..from + many, |seed| seed..seed + 1);
    range.into_iter()
}

const MESSAGES: Allowed = Allowed { mapped: false, cross_memory: false };
const KERNEL: Allowed = Allowed { mapped: false, cross_memory: true };

#[test]
fn in_messages_over_networks_of_every_shape() {
    for seed in seeds(0, 600) {
        let config = Config::random(2 + (seed % 5) as u32, seed);
        run(config, Job { allowed: MESSAGES, operations: 60, kill: None });
    }
}

#[test]
fn in_datagrams_that_get_lost() {
    for seed in seeds(10_000, 150) {
        let config = Config::lossy(2 + (seed % 3) as u32, seed);
        run(config, Job { allowed: MESSAGES, operations: 40, kill: None });
    }
}

#[test]
fn mapped() {
    for seed in seeds(20_000, 100) {
        let config = Config::random(2 + (seed % 5) as u32, seed);
        run(config, Job { allowed: Allowed::default(), operations: 60, kill: None });
    }
}

/// The kernel copies, or refuses at any moment, so that one operation goes this way and the next in packets.
#[test]
fn through_the_kernel_and_where_it_refuses() {
    let refused = Reads::Sometimes { refused_percent: 30 };
    for seed in seeds(30_000, 300) {
        let reads = if seed % 3 == 0 { Reads::Always } else { refused };
        let config = Config { reads, ..Config::random(2 + (seed % 4) as u32, seed) };
        run(config, Job { allowed: KERNEL, operations: 60, kill: None });
    }
}

/// A rank dies in the middle: the others learn of it, and nothing else goes wrong.
#[test]
fn with_a_death() {
    for seed in seeds(40_000, 200) {
        let size = 2 + (seed % 4) as u32;
        let kill = Some((seed as u32 % size, 50 + seed % 700));
        let config = Config::random(size, seed);
        run(config, Job { allowed: MESSAGES, operations: 60, kill });
    }
}
