//! Shared objects in real jobs: on two hosts, without the kernel's copies, killed in the middle, its mistakes.

use std::path::PathBuf;
use std::process::Command;

use hpvm_tests::hosts::Hosts;

use crate::common::{PATIENCE, clean, folder, prefix, run_within, succeed, workspace};

/// An installation that has `samcc`.
pub fn samcc() -> Option<PathBuf> {
    let wrapper = prefix().join("bin/samcc");
    if wrapper.exists() && prefix().join("lib/libsam.so.1").exists() {
        return Some(wrapper);
    }
    hpvm_tests::skip::skipped("the installation has no samcc");
    None
}

/// A program of tests/sam, compiled.
pub fn built(samcc: &PathBuf, name: &str) -> PathBuf {
    let program = folder("sam").join(name);
    let mut compiler = Command::new(samcc);
    compiler.args(["-O2", "-std=gnu11", "-o"]).arg(&program);
    compiler.arg(workspace().join(format!("tests/sam/{name}.c")));
    succeed(compiler);
    program
}

const PROGRAMS: [&str; 4] = ["values", "accumulators", "tasks", "objects"];

#[test]
fn between_hosts() {
    let Some(samcc) = samcc() else { return };
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    for name in PROGRAMS {
        let program = built(&samcc, name);
        let list = [1, 2].map(|host| format!("{}:2", hosts.name(host)));
        let mut command = hosts.command(1, prefix().join("bin/mpirun"));
        command.args(["-H", &list.join(","), "-n", "4", "--launch-agent"]);
        command.arg(Hosts::agent()).arg(&program);
        assert_eq!(succeed(command), "No errors\n", "{name}");
    }
}

#[test]
fn without_copies_by_the_kernel_and_with_a_small_cache() {
    let Some(samcc) = samcc() else { return };
    for (name, setting) in [
        ("values", "HPVM_SINGLE_COPY=no"),
        ("objects", "HPVM_SAM_CACHE=0"),
        ("tasks", "HPVM_SAM_CACHE=1k"),
    ] {
        let mut job = clean(prefix().join("bin/mpirun"));
        job.args(["-n", "3", "-x", setting]).arg(built(&samcc, name));
        assert_eq!(succeed(job), "No errors\n", "{name}, {setting}");
    }
}

#[test]
fn mistakes_are_told_once_with_name_and_rank() {
    let Some(samcc) = samcc() else { return };
    let wrong = built(&samcc, "wrong");
    for (mistake, says) in [
        ("end_use", "sam_end_use: rank 1: end of a use of value 7:42, which was not begun"),
        (
            "begin_twice",
            "sam_value_begin: rank 1: value 7:42 was begun twice; expected its end in between",
        ),
        ("push_rank", "sam_push: rank 1: push of value 7:43 to rank 2; expected 0 to 1"),
    ] {
        let mut job = clean(prefix().join("bin/mpirun"));
        job.args(["-n", "2"]).arg(&wrong).arg(mistake);
        let outcome = run_within(job, PATIENCE);
        let text = &outcome.output;
        assert_eq!(outcome.code, Some(1), "{mistake}: {text}");
        assert!(text.contains(says), "{mistake}: '{says}' is missing:\n{text}");
        assert_eq!(text.lines().count(), 1, "{mistake}: {text}");
    }
    let mut job = clean(prefix().join("bin/mpirun"));
    job.args(["-n", "1", "-x", "HPVM_SAM_CACHE=much"]).arg(&wrong).arg("twice");
    let outcome = run_within(job, PATIENCE);
    let says = "HPVM_SAM_CACHE is 'much'; expected bytes, such as 64m or 2g";
    assert!(outcome.output.contains(says), "{}", outcome.output);
}

/// It has an accumulator that the others wait for.
#[test]
fn a_killed_rank_ends_the_job() {
    let Some(samcc) = samcc() else { return };
    let mut job = clean(prefix().join("bin/mpirun"));
    job.args(["-n", "3"]).arg(built(&samcc, "killed"));
    let outcome = run_within(job, PATIENCE);
    assert_eq!(outcome.code, Some(128 + libc::SIGKILL), "{}", outcome.output);
    assert!(outcome.output.contains("rank 1 (pid "), "{}", outcome.output);
    assert_eq!(outcome.output.lines().count(), 1, "{}", outcome.output);
}

#[test]
fn the_wrapper_names_the_libraries() {
    let Some(samcc) = samcc() else { return };
    let mut shows = Command::new(samcc);
    shows.arg("-showme:libs");
    assert_eq!(succeed(shows), "sam mpi_abi\n");
}
