//! Collectives of jobs over several sites: what comes of them, and who talks to whom. Skipped, with a word,
//! where test hosts can't be had.

use crate::common::{clean, conformance, prefix, program, succeed};
use hpvm_tests::hosts::Hosts;
use std::path::Path;
use std::process::Command;

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

/// With how many of other hosts each rank talks in collectives: only heads of sites talk to other sites, and only heads of
/// hosts at all.
fn talk(layout: Layout, peers: &[u32]) {
    let Some(hosts) = up(layout) else { return };
    for name in ["barrier", "bcast", "reduce", "allreduce", "allgather"] {
        let words: Vec<String> = peers.iter().map(u32::to_string).collect();
        let words: Vec<&str> = [name].into_iter().chain(words.iter().map(String::as_str)).collect();
        let output = succeed(mpirun(&hosts, layout, &[], &program("sites"), &words));
        let mut found: Vec<&str> = output.lines().collect();
        found.sort_unstable();
        let wanted: Vec<String> =
            peers.iter().enumerate().map(|(rank, peers)| format!("{rank} {peers}")).collect();
        assert_eq!(found, wanted, "{name}");
    }
}

#[test]
fn one_rank_of_each_of_two_sites_talks_to_the_other() {
    talk(TWO, &[2, 0, 1, 0, 2, 0, 1, 0]);
}

#[test]
fn one_rank_of_each_of_three_sites_talks_to_others() {
    talk(THREE, &[3, 0, 1, 2, 0, 2]);
}

#[test]
fn one_rank_of_each_site_talks_where_no_two_share_a_host() {
    talk(APART, &[2, 1, 2, 1]);
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
