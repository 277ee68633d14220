//! Large messages over virtual connections that break, stall and deliver any number of bytes at a time, under the
//! same random traffic and collectives.

use crate::harness::run_with_streams;
use crate::{collectives, traffic};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Process};
use hpvm_sim::{BulkCounters, Config, Network, Reads, StreamConfig, Streams};

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
    Config { reads: Reads::Never, ..Config::random(size, seed) }
}

#[test]
fn calm_connections_carry_all_large_messages() {
    let config = Config { reads: Reads::Never, seed: 9, ..Config::new(3) };
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
    let (mut streams, mut opened, mut copied, mut breaks, mut waits) = (0, 0, 0, 0, 0);
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
        waits += done.waits();
        sum += counters;
    }
    eprintln!(
        "{streams} streams, {opened} opened, {copied} copied, {breaks} breaks, {waits} waits, {sum:?}"
    );
    if ["HPVM_SEED", "HPVM_SEEDS"].iter().all(|name| std::env::var_os(name).is_none()) {
        // What these networks are for does happen.
        assert!(streams > 1000 && opened > 500 && copied > 0 && breaks > 500 && waits > 500);
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

/// Network cards read long messages while they reach each other, which changes, and one read in four fails.
#[test]
fn traffic_over_cards_that_fail() {
    let (mut came, mut failed, mut streams) = (0, 0, 0);
    for seed in seeds(30_000, 200) {
        let size = 2 + (seed % 7) as u32;
        let bad = StreamConfig {
            rdma_percent: 20 + (seed % 81) as u8,
            rdma_fail_percent: if seed % 3 == 0 { 0 } else { 25 },
            ..StreamConfig::random(seed)
        };
        let (done, ..) = run_with_streams(network(size, seed), bad, |shared| {
            let mut parts = collectives(shared, 4);
            parts.extend(traffic(shared, 24));
            parts
        });
        let reads = done.card_reads();
        came += reads.0;
        failed += reads.1;
        streams += done.moved().0;
        assert!(done.cards_are_idle(), "seed {seed}: memory is still exposed");
    }
    eprintln!("{came} reads, {failed} failed, {streams} streams");
    if ["HPVM_SEED", "HPVM_SEEDS"].iter().all(|name| std::env::var_os(name).is_none()) {
        assert!(came > 1000 && failed > 300 && streams > 1000);
    }
}

/// A connection stops to deliver while its ends believe in it: what goes on in packets is not heaped
/// up at the receiver, which the network checks.
#[test]
fn few_packets_go_behind_an_opening_that_does_not_come() {
    let (long, short, mut buffer) = ([1; 20_000], [2; 10], [0; 20_000]);
    let network = Network::new(Config { reads: Reads::Never, ..Config::calm(2) });
    let never = 1 << 40..=1 << 40;
    let config = StreamConfig {
        least: 1000,
        break_percent: 100,
        life: 25_000..=25_000,
        learn: never,
        ..StreamConfig::calm()
    };
    let streams = Streams::new(&network, config);
    let mut ends = [0, 1].map(|rank| Process::new(streams.endpoint(network.endpoint(rank))));
    // The first message that is received makes the connection.
    let into = Incoming { buf: buffer.as_mut_ptr(), count: 20_000, ty: Datatype::byte() };
    let (comm, pattern) = (ends[1].world().clone(), Pattern { src: 0, tag: 5 });
    // SAFETY: the buffer outlives the processes.
    unsafe { ends[1].recv(into, &comm, Channel::User, pattern, None) };
    let mut turn = |bytes: &[u8]| {
        let context = ends[0].world().context(Channel::User);
        let out = Outgoing { buf: bytes.as_ptr(), count: bytes.len() as i64, ty: Datatype::byte() };
        // SAFETY: both outlive the processes.
        let sent = unsafe { ends[0].send(out, 1, context, 5, Mode::Standard, None) };
        for end in [0, 1, 0, 1] {
            network.settle();
            ends[end].progress().unwrap();
        }
        matches!(sent, Started::Done)
    };
    (0..20).for_each(|_| _ = turn(&long));
    let at_once = (0..1000).filter(|_| turn(&short)).count();
    assert!((1..=64).contains(&at_once), "{at_once} packets went behind the opening");
    assert!(streams.waits() > 0 && streams.moved().2 > 0 && streams.trouble().0 > 0);
}
