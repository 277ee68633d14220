//! Collectives of jobs over several sites: what comes of them, and how many messages cross the links. Skipped, with a word,
//! where test hosts can't be had.

use crate::common::{PATIENCE, clean, conformance, prefix, program, succeed};
use hpvm_tests::hosts::Hosts;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Hosts with a number of ranks each, site by site.
type Layout = &'static [&'static [(u32, u32)]];

const TWO: Layout = &[&[(1, 2), (2, 2)], &[(3, 2), (4, 2)]];
/// A site of one host, and one of one rank.
const THREE: Layout = &[&[(1, 2), (2, 1)], &[(3, 2)], &[(4, 1)]];
/// No two ranks share a host.
const APART: Layout = &[&[(1, 1), (2, 1)], &[(3, 1), (4, 1)]];

/// The hosts of a layout: of two sites only the first ones reach each other.
fn up(layout: Layout) -> Option<Hosts> {
    let hosts = Hosts::up(4, &[])?;
    for (index, site) in layout.iter().enumerate() {
        for other in &layout[index + 1..] {
            for (number, (one, _)) in site.iter().enumerate() {
                for (other_number, (other, _)) in other.iter().enumerate() {
                    if number + other_number > 0 {
                        hosts.path(*one, *other, false);
                    }
                }
            }
        }
    }
    Some(hosts)
}

fn mpirun(hosts: &Hosts, layout: Layout, options: &[&str], file: &Path, words: &[&str]) -> Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    for (name, site) in ["a", "b", "c"].iter().zip(layout) {
        let list: Vec<String> =
            site.iter().map(|(host, ranks)| format!("{}:{ranks}", hosts.name(*host))).collect();
        command.args(["--site", &format!("{name}={}", list.join(","))]);
    }
    command.arg("--launch-agent").arg(Hosts::agent()).args(options).arg(file).args(words);
    command
}

/// The site of each rank, host by host.
fn sites(layout: Layout) -> Vec<usize> {
    let site = |(number, site): (usize, &&'static [(u32, u32)])| {
        let ranks: u32 = site.iter().map(|(_, ranks)| ranks).sum();
        std::iter::repeat_n(number, ranks as usize)
    };
    layout.iter().enumerate().flat_map(site).collect()
}

/// Messages from one site to another so far, by pair.
type Crossings = BTreeMap<(usize, usize), u64>;

fn crossings(launcher: u32, site_of: &[usize]) -> Crossings {
    let mut command = clean(prefix().join("bin/hpvm"));
    let output = command.args(["jobs", &launcher.to_string(), "--matrix"]).output();
    let output = output.expect("hpvm starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let mut found = Crossings::new();
    for line in text.lines().skip(1) {
        let numbers: Vec<u64> =
            line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let pair = (site_of[numbers[0] as usize], site_of[numbers[1] as usize]);
        if pair.0 != pair.1 {
            *found.entry(pair).or_default() += numbers[2];
        }
    }
    found
}

/// Runs a collective so many times and waits until so many messages have crossed each link in each direction.
fn cross(
    hosts: &Hosts,
    layout: Layout,
    name: &str,
    times: u64,
    expected: impl Fn((usize, usize)) -> u64,
) {
    let site_of = sites(layout);
    let words = [name, &times.to_string()];
    let mut command = mpirun(hosts, layout, &["--monitor"], &program("sites"), &words);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut launcher = command.spawn().expect("the launcher starts");
    let lines = BufReader::new(launcher.stdout.take().expect("piped")).lines();
    let done =
        lines.take(site_of.len()).filter(|line| matches!(line.as_deref(), Ok("done"))).count();
    let mut wanted = Crossings::new();
    for from in 0..layout.len() {
        for to in (0..layout.len()).filter(|to| *to != from) {
            wanted.insert((from, to), expected((from, to)));
        }
    }
    wanted.retain(|_, count| *count > 0);
    let (mut found, end) = (Crossings::new(), Instant::now() + PATIENCE);
    while done == site_of.len() && found != wanted && Instant::now() < end {
        // Ranks show their counters from time to time.
        std::thread::sleep(Duration::from_millis(20));
        found = crossings(launcher.id(), &site_of);
    }
    let _ = Command::new("kill").args(["-TERM", &launcher.id().to_string()]).status();
    let _ = launcher.wait();
    assert_eq!((found, done), (wanted, site_of.len()), "{name}");
}

/// Those whose results all have, and those with a root that goes round.
fn cross_once(layout: Layout) {
    const TIMES: u64 = 24;
    let Some(hosts) = up(layout) else { return };
    for name in ["barrier", "allreduce", "allgather"] {
        cross(&hosts, layout, name, TIMES, |_| TIMES);
    }
    let site_of = sites(layout);
    let roots = |site: usize| {
        (0..TIMES).filter(|turn| site_of[*turn as usize % site_of.len()] == site).count() as u64
    };
    cross(&hosts, layout, "bcast", TIMES, |(from, _)| roots(from));
    cross(&hosts, layout, "reduce", TIMES, |(_, to)| roots(to));
}

#[test]
fn one_message_crosses_between_two_sites() {
    cross_once(TWO);
}

#[test]
fn one_message_crosses_each_link_of_three_sites() {
    cross_once(THREE);
}

#[test]
fn one_message_crosses_where_no_two_ranks_share_a_host() {
    cross_once(APART);
}

/// Results beside sequential ones, of all sizes and operations, with groups that are a part of the job.
const PROGRAMS: [&str; 14] = [
    "coll_allgather",
    "coll_allreduce",
    "coll_barrier",
    "coll_bcast",
    "coll_comms",
    "coll_gather",
    "coll_long",
    "coll_noncommutative",
    "coll_ops",
    "coll_persistent",
    "coll_random",
    "coll_reduce",
    "coll_scatter",
    "coll_user_op",
];

fn all_programs(layout: Layout, options: &[&str]) {
    let Some(hosts) = up(layout) else { return };
    for name in PROGRAMS {
        succeed(mpirun(&hosts, layout, options, &conformance(name), &[]));
    }
}

#[test]
fn results_of_two_sites() {
    all_programs(TWO, &[]);
}

/// Neighbours in rank are at different sites.
#[test]
fn results_of_two_sites_by_turns() {
    all_programs(TWO, &["--map-by", "node"]);
}

#[test]
fn results_of_three_sites() {
    all_programs(THREE, &[]);
}

#[test]
fn results_where_no_two_ranks_share_a_host() {
    all_programs(APART, &[]);
}
