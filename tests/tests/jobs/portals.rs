//! Portals in real jobs: on two hosts, where the kernel copies nothing, when a process is killed.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use hpvm_tests::hosts::Hosts;

use crate::common::{PATIENCE, clean, folder, prefix, run_within, succeed, workspace};

/// The conformance programs, except those that end with an error.
const PROGRAMS: [&str; 8] =
    ["basic", "lists", "atomics", "counters", "flow", "progress", "threads", "storm"];

/// A conformance program, compiled; once a run.
fn built(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = folder("portals");
        for name in PROGRAMS.iter().chain(&["killed"]) {
            let mut compiler = Command::new(prefix().join("bin/mpicc"));
            compiler.args(["-O2", "-std=gnu11", "-pthread", "-o"]).arg(folder.join(name));
            compiler.arg(workspace().join(format!("tests/portals/{name}.c"))).arg("-lportals");
            succeed(compiler);
        }
        folder
    });
    folder.join(name)
}

#[test]
fn between_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let list = [1, 2].map(|host| format!("{}:2", hosts.name(host))).join(",");
    for name in PROGRAMS {
        let mut command = hosts.command(1, prefix().join("bin/mpirun"));
        command.args(["-H", &list, "-n", "4", "--launch-agent"]).arg(Hosts::agent());
        command.arg(built(name));
        assert_eq!(succeed(command), "No errors\n", "{name}");
    }
}

#[test]
fn without_copies_by_the_kernel() {
    for name in ["basic", "lists", "storm"] {
        let mut job = clean(prefix().join("bin/mpirun"));
        job.args(["-n", "3", "-x", "HPVM_SINGLE_COPY=no"]).arg(built(name));
        assert_eq!(succeed(job), "No errors\n", "{name}");
    }
}

#[test]
fn a_killed_process_ends_the_job() {
    let mut job = clean(prefix().join("bin/mpirun"));
    job.args(["-n", "3"]).arg(built("killed"));
    let outcome = run_within(job, PATIENCE);
    assert_eq!(outcome.code, Some(128 + 9), "{}", outcome.output);
    assert!(outcome.output.contains("rank 1"), "{}", outcome.output);
}

#[test]
fn a_killed_process_ends_the_job_on_all_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let list = [1, 2].map(|host| format!("{}:2", hosts.name(host))).join(",");
    let mut job = hosts.command(1, prefix().join("bin/mpirun"));
    job.args(["-H", &list, "-n", "4", "--launch-agent"]).arg(Hosts::agent()).arg(built("killed"));
    let outcome = run_within(job, PATIENCE);
    assert_eq!(outcome.code, Some(128 + 9), "{}", outcome.output);
    assert!(outcome.output.contains("rank 1"), "{}", outcome.output);
}
