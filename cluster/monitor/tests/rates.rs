//! Rates from made-up readings: what is counted, what is reset, what is missing.

use std::time::Duration;

use hpvm_monitor::rates::{between, first};
use hpvm_monitor::read::{DiskCounters, InterfaceCounters, Reading, Ticks};
use hpvm_monitor::{Capacity, Memory};

fn ticks(user: u64, system: u64, idle: u64, iowait: u64, steal: u64) -> Ticks {
    Ticks { user, system, idle, iowait, steal }
}

fn interface(name: &str, hardware: bool, received: u64, sent: u64) -> InterfaceCounters {
    InterfaceCounters { name: name.to_owned(), hardware, received, sent }
}

fn disk(name: &str, read: u64, written: u64) -> DiskCounters {
    DiskCounters { name: name.to_owned(), read, written }
}

/// Two processors, a network card, a disk, at second 100.
fn before() -> Reading {
    Reading {
        clock: Duration::from_secs(100),
        at_ms: 1_000_000,
        cpu: ticks(1000, 500, 8000, 100, 0),
        cores: vec![ticks(600, 300, 4000, 100, 0), ticks(400, 200, 4000, 0, 0)],
        memory: Memory { total: 1000, available: 600, swap_total: 10, swap_free: 10 },
        interfaces: vec![interface("eth0", true, 5000, 7000), interface("lo", false, 10, 10)],
        disks: vec![disk("sda", 1 << 20, 1 << 21)],
        capacity: Some(Capacity { total: 9, available: 4 }),
        load: [0.5, 0.25, 0.125],
        uptime_seconds: 100.0,
    }
}

/// Two seconds later: processor 0 busy, processor 1 idle; 400 ticks in all.
fn now() -> Reading {
    let mut now = before();
    now.clock = Duration::from_secs(102);
    now.at_ms = 1_002_000;
    now.cpu = ticks(1150, 550, 8180, 110, 10);
    now.cores = vec![ticks(750, 350, 4000, 100, 0), ticks(400, 200, 4180, 10, 10)];
    now.interfaces = vec![interface("eth0", true, 6000, 7200), interface("lo", false, 5010, 5010)];
    now.disks = vec![disk("sda", (1 << 20) + 512, (1 << 21) + 4096)];
    now
}

#[test]
fn the_first_sample_has_levels_and_no_rates() {
    let sample = first(&before());
    assert_eq!(sample.interval_seconds, None);
    assert_eq!((&sample.cpu, &sample.network), (&None, &None));
    assert_eq!((sample.disk.read, sample.disk.written), (None, None));
    assert_eq!(sample.disk.capacity, Some(Capacity { total: 9, available: 4 }));
    assert_eq!((sample.memory.available, sample.load[0]), (600, 0.5));
}

#[test]
fn processor_time_is_shared_out() {
    let cpu = between(&before(), &now()).cpu.expect("ticks passed");
    assert_eq!((cpu.total.user, cpu.total.system), (0.375, 0.125));
    assert_eq!((cpu.total.iowait, cpu.total.steal), (0.025, 0.025));
    assert_eq!((cpu.cores[0].busy(), cpu.cores[1].busy()), (1.0, 0.0));
}

#[test]
fn bytes_are_per_second_of_the_steady_clock() {
    let mut now = now();
    now.at_ms = 5; // the wall clock was set back meanwhile
    let sample = between(&before(), &now);
    assert_eq!((sample.at_ms, sample.interval_seconds), (5, Some(2.0)));
    let network = sample.network.expect("an interval");
    assert_eq!((network.received, network.sent), (500.0, 100.0));
    assert_eq!((sample.disk.read, sample.disk.written), (Some(256.0), Some(2048.0)));
}

#[test]
fn the_sum_leaves_out_what_lies_on_other_interfaces() {
    let network = between(&before(), &now()).network.expect("an interval");
    assert_eq!(network.interfaces.len(), 2);
    assert_eq!(network.interfaces[1].received, 2500.0, "lo is listed");
    assert_eq!(network.received, 500.0, "and not in the sum");
    let (mut then, mut later) = (before(), now());
    then.interfaces = vec![interface("lo", false, 0, 0), interface("eth0", false, 0, 0)];
    later.interfaces = vec![interface("lo", false, 8, 8), interface("eth0", false, 6, 4)];
    let network = between(&then, &later).network.expect("an interval");
    assert_eq!((network.received, network.sent), (3.0, 2.0), "a container: all but lo");
}

#[test]
fn a_counter_that_was_reset_gives_no_rate() {
    let mut now = now();
    now.interfaces[0].received = 12;
    now.disks[0].written = 0;
    now.cpu.user = 3;
    let sample = between(&before(), &now);
    let network = sample.network.expect("an interval");
    assert_eq!(network.interfaces.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["lo"]);
    assert_eq!((sample.disk.read, sample.disk.written), (None, None));
    assert_eq!(sample.cpu, None);
}

#[test]
fn waiting_may_step_back() {
    let mut now = now();
    now.cpu.iowait = 90;
    let cpu = between(&before(), &now).cpu.expect("not a reset");
    assert_eq!(cpu.total.iowait, 0.0);
    let all = cpu.total.user + cpu.total.system + cpu.total.steal;
    assert!(all <= 1.0, "{all}");
}

#[test]
fn what_comes_and_goes_is_compared_only_with_itself() {
    let mut now = now();
    now.cores.push(ticks(1, 1, 1, 0, 0));
    now.interfaces.push(interface("eth1", true, 1 << 40, 1 << 40));
    now.disks.push(disk("sdb", 1 << 40, 1 << 40));
    let sample = between(&before(), &now);
    assert_eq!(sample.cpu.expect("the total is known").cores, vec![]);
    assert_eq!(sample.network.expect("an interval").received, 500.0);
    assert_eq!(sample.disk.read, Some(256.0));
}

#[test]
fn no_time_no_rates() {
    for clock in [Duration::from_secs(100), Duration::from_secs(99), Duration::from_millis(100_020)]
    {
        let sample = between(&before(), &Reading { clock, ..now() });
        assert_eq!((sample.interval_seconds, sample.cpu, sample.network), (None, None, None));
    }
    let same = Reading { clock: Duration::from_secs(101), ..before() };
    assert_eq!(between(&before(), &same).cpu, None, "no tick passed");
}
