//! Jobs over two Slurm clusters that reach each other by one cable between their first hosts alone. Skipped, with a word, where
//! test hosts or Slurm can't be had.

use crate::common::{prefix, program, run_within, scratch};
use hpvm_tests::hosts::Hosts;
use hpvm_tests::process::Outcome;
use hpvm_tests::slurm::Cluster;
use hpvm_tests::wan::{Cable, Wan};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Long enough for a loaded machine.
const LIMIT: Duration = Duration::from_secs(180);

/// Two clusters of two hosts with four processors each, and the cable.
fn two_clusters() -> Option<(Cluster, Cluster, Wan)> {
    let (here, there) = (Cluster::up(2, 4)?, Cluster::up(2, 4)?);
    let cable = Cable { delay: Duration::from_millis(5), rate: 100_000_000, loss: 0 };
    let wan = Wan::lay(&here.host(1), &there.host(1), cable).expect("a cable");
    Some((here, there, wan))
}

/// What reaches the hosts of a cluster with its configuration, as a login does on a real one.
fn login(cluster: &Cluster) -> PathBuf {
    let file = scratch().join(format!("login-{}", cluster.prefix()));
    let text = format!(
        "#!/bin/sh\nhost=$1; shift; exec {} \"$host\" SLURM_CONF={} \"$@\"\n",
        Hosts::agent().display(),
        cluster.configuration().display()
    );
    // A process of its own writes it: a file that somebody may write cannot be run.
    let write = r#"printf '%s' "$2" > "$1" && chmod 755 "$1""#;
    let written = Command::new("sh").args(["-c", write, "sh"]).arg(&file).arg(text).status();
    assert!(written.expect("a shell").success());
    file
}

/// The number of an allocation that is made there and stays.
fn allocate(cluster: &Cluster, words: &[&str]) -> String {
    let output = cluster.command(&[&["salloc", "--no-shell"], words].concat()).output();
    let output = output.expect("salloc");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let number = text.split_whitespace().last().unwrap_or_default().to_string();
    assert!(output.status.success() && number.parse::<u32>().is_ok(), "{text}");
    number
}

/// Runs words in an allocation of this cluster, or on its first host.
fn run(cluster: &Cluster, front: &[&str], words: &[&str]) -> Outcome {
    let mpirun = prefix().join("bin/mpirun");
    let words = [front, &[mpirun.to_str().expect("text")], words].concat();
    run_within(cluster.command(&words), LIMIT)
}

#[test]
fn allocations_of_two_clusters_are_one_job() {
    let Some((here, there, _wan)) = two_clusters() else { return };
    let (agent, hosts) = (login(&there), program("hosts"));
    let (agent, hosts) = (agent.to_str().expect("text"), hosts.to_str().expect("text"));
    let number = allocate(&there, &["-N2", "--ntasks-per-node=2"]);
    let west = format!("west=slurm:{number}@{}", there.host(1));
    let sites = ["--launch-agent", agent, "--site", "east=slurm", "--site", &west];
    let salloc = ["salloc", "-Q", "-N2", "--ntasks-per-node=2"];
    let right = |options: &[&str], words: &[&str]| {
        let outcome = run(&here, &salloc, &[&sites, options, words].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.output);
        outcome.output
    };
    // From salloc, whose first host runs mpirun, and with agents that start others.
    for width in ["16", "1"] {
        let output = right(&["--launch-width", width], &[hosts, "0", "2"]);
        assert!(output.starts_with("right "), "{output}");
    }
    // Ranks go where the allocations have room for them, and each is in a step of its own cluster.
    let script = "echo $PMI_RANK of $PMI_SIZE $(hostname) job $SLURM_JOB_ID";
    let output = right(&[], &["sh", "-c", script]);
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    for (rank, line) in lines.iter().enumerate() {
        let cluster = if rank < 4 { &here } else { &there };
        let host = cluster.host(1 + rank as u32 % 4 / 2);
        assert!(line.starts_with(&format!("{rank} of 8 {host} job ")), "{output}");
        assert!(rank < 4 || line.ends_with(&format!(" job {number}")), "{output}");
    }
    assert_eq!(lines.len(), 8, "{output}");
    // Processes are spawned in a step of their cluster: beside the root, and on a host of the other cluster as messages call it.
    let spawns = program("sites_spawn");
    let spawns = spawns.to_str().expect("text");
    let far = format!("{}@{}", there.host(2), there.host(1));
    for words in [&["world", "1", "-"], &["world", "1", &far]] {
        let output = right(&[], &[&[spawns], &words[..]].concat());
        assert!(output.ends_with("right 9 108\n"), "{output}");
    }
    // From outside of any allocation, two that are named.
    let own = allocate(&here, &["-N1", "-n1"]);
    let east = format!("east=slurm:{own}");
    let outside = ["--launch-agent", agent, "--site", &east, "--site", &west, hosts, "0"];
    let outcome = run(&here, &[], &outside);
    assert!(outcome.code == Some(0) && outcome.output.starts_with("right "), "{}", outcome.output);
}

#[test]
fn an_allocation_ends_or_is_none() {
    let Some((here, there, _wan)) = two_clusters() else { return };
    let agent = login(&there);
    let agent = agent.to_str().expect("text");
    let failed = |west: &str, words: &[&str], code: i32, parts: &[&str]| {
        let west = format!("west={west}@{}", there.host(1));
        let sites = ["--launch-agent", agent, "--site", "east=slurm", "--site", &west];
        let outcome = run(&here, &["salloc", "-Q", "-N1", "-n1"], &[&sites, words].concat());
        let output = outcome.output;
        assert_eq!(outcome.code, Some(code), "{output}");
        assert!(parts.iter().all(|part| output.contains(part)), "{output}");
    };
    let unknown = ["--site west=slurm:999@", "cannot ask Slurm about the job", "Invalid job id"];
    failed("slurm:999", &["true"], 1, &unknown);
    let number = allocate(&there, &["-N2", "-n2"]);
    let allocation = format!("slurm:{number}");
    // The message says which host of which cluster it is.
    let script = "if [ $PMI_RANK = 2 ]; then exit 7; else sleep 999; fi";
    let place = format!("on {}@{}) exited with code 7", there.host(2), there.host(1));
    failed(&allocation, &["sh", "-c", script], 7, &[&place]);
    let cancelled = there.command(&["scancel", &number]).status().expect("scancel");
    assert!(cancelled.success());
    failed(&allocation, &["true"], 1, &["it has to run (RUNNING)"]);
    let inside = ["--site", "east=slurm", "--site", "west=a", "true"];
    let outcome = run(&here, &[], &inside);
    assert_eq!(outcome.code, Some(2), "{}", outcome.output);
    assert!(outcome.output.contains("not inside of a Slurm job"), "{}", outcome.output);
}
