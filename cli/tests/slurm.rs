//! Jobs inside of a real Slurm on test hosts. They need root and Slurm's programs; without them
//! they say that they are skipped.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Ended, sorted, until, wait};

/// A cluster that ends with this value.
struct Cluster {
    prefix: String,
}

fn tool() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/hosts/slurm")
}

impl Cluster {
    fn up(name: &str) -> Option<Cluster> {
        let check = Command::new(tool()).arg("check").output().unwrap();
        if !check.status.success() {
            eprintln!("skipped: {}", String::from_utf8_lossy(&check.stdout).trim());
            return None;
        }
        let owner = std::process::id().to_string();
        let prefix = format!("s{owner}{name}");
        let args = ["up", &prefix, "2", "4", "--owner", &owner];
        let output = Command::new(tool()).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Cluster { prefix })
    }

    fn host(&self, number: u32) -> String {
        format!("{}{number}", self.prefix)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(tool());
        command.args(["exec", &self.prefix]).args(args).env_remove("HPVM_JOB_ID");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Ended {
        let ended = wait(self.command(args).spawn().unwrap());
        self.nothing_left();
        ended
    }

    /// Nothing of ours, and no step of Slurm's.
    fn nothing_left(&self) {
        let hosts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/hosts/hosts");
        let left = || {
            let ps = |host| Command::new(&hosts).args(["ps", &self.host(host)]).output().unwrap();
            let text = [ps(1), ps(2)].map(|output| String::from_utf8(output.stdout).unwrap());
            let daemon = |line: &&str| {
                ["munged", "slurmctld", "slurmd ", "slurmscriptd"]
                    .iter()
                    .any(|name| line.contains(name))
            };
            text.concat()
                .lines()
                .filter(|line| !daemon(line))
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        assert!(until(|| left().is_empty()), "{:?}", left());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Whatever is wrong with it, `hosts down --stale` comes later.
        let _ = Command::new(tool()).args(["down", &self.prefix]).status();
    }
}

const HPVM: &str = env!("CARGO_BIN_EXE_hpvm");

#[test]
fn mpirun_finds_the_allocation() {
    let Some(cluster) = Cluster::up("a") else { return };
    let ended = cluster.run(&["salloc", "-Q", "-N2", "-n3", HPVM, "run", "-l", "hostname"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let mut hosts: Vec<String> = ended.out.lines().map(|line| line[4..].to_string()).collect();
    hosts.sort();
    assert_eq!(hosts.len(), 3, "{ended:?}");
    assert_eq!((&hosts[0], &hosts[2]), (&cluster.host(1), &cluster.host(2)));

    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let out = dir.path().join("out");
    let batch = common::script(
        dir.path(),
        "batch",
        &format!("#!/bin/bash\n{HPVM} run bash -c 'echo $PMI_RANK/$PMI_SIZE $HPVM_NODE'\n"),
    );
    let ended = cluster.run(&[
        "sbatch",
        "-Q",
        "-W",
        "-N2",
        "--ntasks-per-node=2",
        "-o",
        out.to_str().unwrap(),
        &batch,
    ]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let text = std::fs::read_to_string(out).unwrap();
    assert_eq!(sorted(&text), ["0/4 0", "1/4 0", "2/4 1", "3/4 1"]);
}

#[test]
fn ends_in_an_allocation() {
    let Some(cluster) = Cluster::up("b") else { return };
    let script = "if [ $PMI_RANK = 1 ]; then exit 7; else sleep 100; fi";
    let ended = cluster.run(&["salloc", "-Q", "-N2", "-n2", HPVM, "run", "bash", "-c", script]);
    assert_eq!(ended.code, 7, "{ended:?}");
    let part = format!("on {}) exited with code 7; ending the job", cluster.host(2));
    assert!(ended.err.contains(&part), "{ended:?}");

    // scancel, and a launcher that is killed.
    for cancel in [true, false] {
        let args = ["salloc", "-Q", "-N2", "-n2", HPVM, "run", "sh", "-c", "echo up; sleep 99"];
        let mut child = cluster.command(&args).spawn().unwrap();
        common::read_until(&mut child, "up\nup\n");
        if cancel {
            let cancelled = wait(cluster.command(&["scancel", "-u", "root"]).spawn().unwrap());
            assert_eq!(cancelled.code, 0, "{cancelled:?}");
        } else {
            let all = std::fs::read_dir("/proc").unwrap().flatten();
            let launcher = all
                .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
                .find(|pid| {
                    let read =
                        |name| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
                    let words = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
                    let netns = read("environ");
                    words.starts_with(&format!("{HPVM} run sh"))
                        && !netns.is_empty()
                        && String::from_utf8_lossy(&netns).contains(&cluster.prefix)
                })
                .expect("the launcher");
            common::kill(launcher, libc::SIGKILL);
        }
        common::until_ended(&mut child);
        cluster.nothing_left();
    }
}
