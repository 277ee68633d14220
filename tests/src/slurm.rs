//! A real Slurm on test hosts, made by `tests/hosts/slurm`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::process;

/// A cluster that is taken away when this is dropped.
#[derive(Debug)]
pub struct Cluster {
    prefix: String,
    count: u32,
}

impl Cluster {
    /// Makes a cluster of `count` hosts with `cpus` processors each. Where the system does not
    /// allow it or Slurm is not installed, counts the test as skipped and gives none. Blocks until all nodes are idle.
    pub fn up(count: u32, cpus: u32) -> Option<Cluster> {
        Cluster::with(count, cpus, &[])
    }

    /// The same with accounting (slurmdbd and a database), and a controller that soon forgets jobs that have ended.
    pub fn with_accounting(count: u32, cpus: u32) -> Option<Cluster> {
        Cluster::with(count, cpus, &["--accounting"])
    }

    fn with(count: u32, cpus: u32, options: &[&str]) -> Option<Cluster> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        crate::watchdog::watch();
        let check = Command::new(tool()).arg("check").args(options).output();
        let check = check.expect("tests/hosts/slurm");
        if !check.status.success() {
            crate::skip::skipped(String::from_utf8_lossy(&check.stdout).trim());
            return None;
        }
        // Relaxed: only distinctness matters.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let owner = std::process::id().to_string();
        let cluster = Cluster { prefix: format!("s{owner}n{number}h"), count };
        let (count, cpus) = (count.to_string(), cpus.to_string());
        let up = ["up", &cluster.prefix, &count, &cpus];
        run(&[&up, options, &["--owner", &owner]].concat());
        Some(cluster)
    }

    /// The name of a host, numbered from 1.
    pub fn host(&self, number: u32) -> String {
        format!("{}{number}", self.prefix)
    }

    /// The common beginning of the hosts' names.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Its `slurm.conf`.
    pub fn configuration(&self) -> PathBuf {
        Path::new("/run/hpvm-hosts").join(&self.prefix).join("slurm/slurm.conf")
    }

    /// The command lines of all processes on all hosts, Slurm's own among them.
    pub fn processes(&self) -> Vec<String> {
        let on = |host| crate::hosts::processes_on(&self.host(host));
        (1..=self.count).flat_map(on).map(|(_, line)| line).collect()
    }

    /// Starts or kills the daemon of the accounting. Blocks until it answers, or has gone.
    pub fn accounting(&self, up: bool) {
        run(&["dbd", &self.prefix, if up { "up" } else { "down" }]);
    }

    /// A command on the first host, with the cluster's configuration and a clean environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = process::clean(tool());
        command.args(["exec", &self.prefix]).args(args).stdin(Stdio::null());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // What is left is taken away by the next run.
        let _ = Command::new(tool()).args(["down", &self.prefix]).status();
    }
}

fn run(args: &[&str]) {
    let output = Command::new(tool()).args(args).stdin(Stdio::null()).output();
    let output = output.expect("tests/hosts/slurm");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn tool() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/slurm")
}
