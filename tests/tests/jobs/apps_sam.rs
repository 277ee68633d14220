//! Applications on shared objects whose answers are the same bits on any number of ranks.

use crate::apps::{
    LONG, app, built, has_passed, last_line, makes_a_picture_and_scaling_tables, refused,
    restarts_on_other_ranks, restarts_with_the_same_bits, run, survives_kills,
};
use crate::common::{prefix, succeed, succeed_within};
use hpvm_tests::hosts::Hosts;

/// Problems of milliseconds per step.
const BARNES: (&str, &[&str]) = ("sam_barnes", &["--bodies", "1500", "--sample", "0"]);
const WATER: (&str, &[&str]) = ("sam_water", &["--molecules", "216", "--cutoff", "7"]);

/// `--check` passes everywhere, and prints the same.
fn is_the_same_on_any_ranks(name: &str) {
    let check = |ranks| -> Option<String> {
        let output = succeed_within(app(ranks, name, &["--check"])?, LONG);
        assert!(has_passed(&output), "{ranks} ranks:\n{output}");
        assert!(!output.contains("WRONG"), "{ranks} ranks:\n{output}");
        assert!(output.contains("the same on any number of ranks"), "{ranks} ranks:\n{output}");
        Some(output)
    };
    let Some(expected) = check(1) else { return };
    for ranks in [2, 3, 4] {
        assert_eq!(check(ranks).as_ref(), Some(&expected), "{ranks} ranks");
    }
}

/// The line with the sum of bits; others have times.
fn bits(output: &str) -> String {
    let line = output.lines().find(|line| line.contains("the same on any number of ranks"));
    line.unwrap_or_else(|| panic!("no sum of bits:\n{output}")).to_owned()
}

/// Also without room for copies, and between two hosts.
fn is_the_same_without_cache_and_between_hosts(what: (&str, &[&str])) {
    let steps = ["--steps", "4"];
    let Some(expected) = run(1, what, &steps).map(|output| bits(&output)) else { return };
    let mut small = app(3, what.0, &[what.1, &steps].concat()).expect("it is built");
    small.env("HPVM_SAM_CACHE", "1k");
    assert_eq!(bits(&succeed(small)), expected, "no cache");
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let list = [1, 2].map(|host| format!("{}:2", hosts.name(host)));
    let mut command = hosts.command(1, prefix().join("bin/mpirun"));
    command.args(["-H", &list.join(","), "-n", "4", "--launch-agent"]).arg(Hosts::agent());
    command.arg(built().expect("it is built").join(what.0)).args(what.1).args(steps);
    assert_eq!(bits(&succeed_within(command, LONG)), expected, "two hosts");
}

#[test]
fn barnes_agrees_with_direct_sums_and_is_the_same_on_any_ranks() {
    is_the_same_on_any_ranks("sam_barnes");
    is_the_same_without_cache_and_between_hosts(BARNES);
}

#[test]
fn barnes_draws_bodies_and_makes_scaling_tables() {
    makes_a_picture_and_scaling_tables(BARNES);
}

/// More ranks than subtrees, and than bodies.
#[test]
fn barnes_has_ranks_without_bodies() {
    let few = ("sam_barnes", &["--bodies", "3"][..]);
    let Some(expected) = run(1, few, &[]) else { return };
    assert_eq!(run(5, few, &[]).map(|output| bits(&output)), Some(bits(&expected)));
    assert_eq!(last_line(&expected)[6], 3.0, "all three act on each:\n{expected}");
}

#[test]
fn a_restarted_barnes_ends_with_the_same_bits() {
    restarts_with_the_same_bits(BARNES);
    restarts_on_other_ranks(BARNES, 7, 0.0);
}

#[test]
fn a_killed_barnes_leaves_a_whole_checkpoint() {
    survives_kills(BARNES, "1");
}

#[test]
fn water_has_the_published_dimer_and_is_the_same_on_any_ranks() {
    is_the_same_on_any_ranks("sam_water");
    is_the_same_without_cache_and_between_hosts(WATER);
}

#[test]
fn water_draws_molecules_and_makes_scaling_tables() {
    makes_a_picture_and_scaling_tables(WATER);
}

/// More ranks than molecules; most cells are empty.
#[test]
fn water_has_ranks_without_molecules() {
    let few = (
        "sam_water",
        &["--molecules", "2", "--density", "0.05", "--cutoff", "3", "--steps", "60"][..],
    );
    let Some(expected) = run(1, few, &[]) else { return };
    assert_eq!(run(5, few, &[]).map(|output| bits(&output)), Some(bits(&expected)));
}

/// Steps of 10 fs on a lattice that has not settled: a hydrogen flies past its own oxygen.
#[test]
fn water_says_that_a_step_is_too_long() {
    let wild = ["--temperature", "2000", "--dt", "10", "--settle", "0"];
    refused("sam_water", &wild, 1, "take a smaller --dt");
}

#[test]
fn a_restarted_water_ends_with_the_same_bits() {
    restarts_with_the_same_bits(WATER);
    restarts_on_other_ranks(WATER, 9, 0.0);
}

#[test]
fn a_killed_water_leaves_a_whole_checkpoint() {
    survives_kills(WATER, "1");
}

#[test]
fn help_lists_no_flag_that_would_be_refused() {
    for name in ["sam_cholesky", "sam_grobner"] {
        let Some(command) = app(1, name, &["--help"]) else { return };
        let help = succeed(command);
        assert!(help.contains("\n  --image "), "{help}");
        for flag in ["--checkpoint", "--every", "--restart"] {
            assert!(!help.contains(&format!("  {flag} ")), "{name}:\n{help}");
            assert!(refused(name, &[flag, "1"], 2, "no checkpoints here"));
        }
    }
}
