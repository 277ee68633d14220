//! Jobs inside of a real Slurm on test hosts. They need root and Slurm's programs; without them
//! they say that they are skipped.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::{Ended, sorted, until, wait};
use hpvm_tests::processes;
use hpvm_tests::slurm::Cluster;

fn command(cluster: &Cluster, args: &[&str]) -> Command {
    let mut command = cluster.command(args);
    command.env_remove("HPVM_JOB_ID").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(cluster: &Cluster, args: &[&str]) -> Ended {
    let ended = wait(command(cluster, args).spawn().unwrap());
    nothing_left(cluster);
    ended
}

/// Nothing of ours, and no step of Slurm's.
fn nothing_left(cluster: &Cluster) {
    let hosts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/hosts/hosts");
    let daemon = |line: &&str| {
        ["munged", "slurmctld", "slurmd ", "slurmscriptd"].iter().any(|name| line.contains(name))
    };
    let left = || {
        let ps = |host| Command::new(&hosts).args(["ps", &cluster.host(host)]).output().unwrap();
        let text = [ps(1), ps(2)].map(|output| String::from_utf8(output.stdout).unwrap()).concat();
        text.lines().filter(|line| !daemon(line)).map(str::to_string).collect::<Vec<_>>()
    };
    assert!(until(|| left().is_empty()), "{:?}", left());
}

/// The launcher of a job in this cluster.
fn launcher(cluster: &Cluster) -> i32 {
    let line = |pid: i32| {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    let is_ours = |variable: &Vec<u8>| String::from_utf8_lossy(variable).contains(cluster.prefix());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is = |pid: &i32| {
        line(*pid).starts_with(&format!("{HPVM} run sh"))
            && processes::variables(*pid).iter().any(is_ours)
    };
    pids.find(is).expect("the launcher")
}

const HPVM: &str = env!("CARGO_BIN_EXE_hpvm");

#[test]
fn mpirun_finds_the_allocation() {
    let Some(cluster) = Cluster::up(2, 4) else { return };
    let ended = run(&cluster, &["salloc", "-Q", "-N2", "-n3", HPVM, "run", "-l", "hostname"]);
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
    let ended = run(
        &cluster,
        &["sbatch", "-Q", "-W", "-N2", "--ntasks-per-node=2", "-o", out.to_str().unwrap(), &batch],
    );
    assert_eq!(ended.code, 0, "{ended:?}");
    let text = std::fs::read_to_string(out).unwrap();
    assert_eq!(sorted(&text), ["0/4 0", "1/4 0", "2/4 1", "3/4 1"]);
}

#[test]
fn ends_in_an_allocation() {
    let Some(cluster) = Cluster::up(2, 4) else { return };
    let script = "if [ $PMI_RANK = 1 ]; then exit 7; else sleep 999; fi";
    let ended = run(&cluster, &["salloc", "-Q", "-N2", "-n2", HPVM, "run", "bash", "-c", script]);
    assert_eq!(ended.code, 7, "{ended:?}");
    let part = format!("on {}) exited with code 7; ending the job", cluster.host(2));
    assert!(ended.err.contains(&part), "{ended:?}");

    // scancel, and a launcher that is killed.
    for cancel in [true, false] {
        let args = ["salloc", "-Q", "-N2", "-n2", HPVM, "run", "sh", "-c", "echo up; sleep 999"];
        let mut child = command(&cluster, &args).spawn().unwrap();
        common::read_until(&mut child, "up\nup\n");
        if cancel {
            let cancelled = wait(command(&cluster, &["scancel", "-u", "root"]).spawn().unwrap());
            assert_eq!(cancelled.code, 0, "{cancelled:?}");
        } else {
            common::kill(launcher(&cluster), libc::SIGKILL);
        }
        common::until_ended(&mut child);
        nothing_left(&cluster);
    }
}
