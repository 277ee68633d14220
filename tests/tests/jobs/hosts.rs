//! Real MPI programs on several test hosts, started by mpirun over ssh and by Slurm's srun. Skipped,
//! with a message, where test hosts or Slurm cannot be had.

use std::path::PathBuf;

use hpvm_tests::hosts::Hosts;
use hpvm_tests::slurm::Cluster;

use crate::common::{conformance, prefix, program, succeed};

fn text(path: PathBuf) -> String {
    path.to_str().expect("a path of text").to_owned()
}

#[test]
fn a_job_over_ssh() {
    let Some(hosts) = Hosts::up(3, &["--ssh", "--decoy", "--second"]) else { return };
    for map in ["slot", "node"] {
        let mut command = hosts.command(1, prefix().join("bin/mpirun"));
        command.args(["-H", &hosts.list(), "-ppn", "2", "--map-by", map]);
        command.arg(program("many")).arg("ring");
        assert_eq!(succeed(command), "done, 6 ranks\n");
    }
}

/// Hosts have as many ranks as each other, or not; neighbours share a host, or do not.
#[test]
fn collectives_of_all_lengths() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    for slots in [[2, 2, 0], [3, 1, 2]] {
        let list = (1..).zip(slots).filter(|(_, slots)| *slots > 0);
        let list: Vec<_> = list.map(|(i, slots)| format!("{}:{slots}", hosts.name(i))).collect();
        for map in ["slot", "node"] {
            let mut command = hosts.command(1, prefix().join("bin/mpirun"));
            command.args(["-H", &list.join(","), "--map-by", map, "--launch-agent"]);
            command.arg(Hosts::agent()).arg(program("spread")).arg("1");
            assert_eq!(succeed(command), "right\n");
        }
    }
}

/// The conformance programs about windows, on ranks of two hosts: operations and locks go in packets, and inside a
/// host by loads and stores.
#[test]
fn windows_between_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let programs =
        ["rma_fence", "rma_lock", "rma_pscw", "rma_accumulate", "rma_types", "rma_passive"];
    for program in programs.map(conformance) {
        let list = [1, 2].map(|host| format!("{}:2", hosts.name(host)));
        let mut command = hosts.command(1, prefix().join("bin/mpirun"));
        command.args(["-H", &list.join(","), "-n", "4", "--launch-agent"]);
        command.arg(Hosts::agent()).arg(&program);
        succeed(command);
    }
}

/// The conformance programs about files, on ranks of two hosts that see one file system: the shared file pointer is
/// a number at the first rank.
#[test]
fn files_between_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    for program in ["io_basic", "io_together"].map(conformance) {
        let list = [1, 2].map(|host| format!("{}:2", hosts.name(host)));
        let mut command = hosts.command(1, prefix().join("bin/mpirun"));
        command.args(["-H", &list.join(","), "-n", "4", "--launch-agent"]);
        command.arg(Hosts::agent()).arg(&program);
        succeed(command);
    }
}

/// Where ranks go to two hosts by turns, half of the messages of a grid and all of some graphs would go between them.
#[test]
fn topologies_are_reordered() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let list = [1, 2].map(|host| format!("{}:4", hosts.name(host)));
    let mut command = hosts.command(1, prefix().join("bin/mpirun"));
    command.args(["-H", &list.join(","), "-n", "8", "--map-by", "node", "--launch-agent"]);
    command.arg(Hosts::agent()).arg(program("reorder"));
    let output = succeed(command);
    // Neighbours on other hosts, of both ends, before and after: rows of two places, around and not, and pairs.
    let wanted = ["8 to 4", "8 to 8", "0 to 0", "8 to 0", "8 to 0", "8 to 0", "8 to 0"];
    assert_eq!(output.lines().collect::<Vec<_>>(), wanted, "{output}");
}

/// Two processes spawn two more: under srun, and under our launcher in the allocation, on a host of its choice too. All of
/// them are told the same universe: the tasks of the step, or of the allocation.
fn spawning_in_slurm(cluster: &Cluster, mpirun: &str) {
    let dynamic = text(program("dynamic"));
    let (first, second) = (cluster.host(1), cluster.host(2));
    let srun = ["srun", "--mpi=pmi2", "-N2", "-n2", &dynamic, "universe"];
    let ours = ["salloc", "-Q", "-N2", "-n6", mpirun, "-n", "2", &dynamic, "universe"];
    let named = [
        "salloc",
        "-Q",
        "-N2",
        "-n6",
        mpirun,
        "-launcher",
        "slurm",
        "-n",
        "2",
        &dynamic,
        "universe",
    ];
    for (words, key, children, universe) in [
        (&srun[..], None, [&first, &second], 2),
        (&ours, None, [&first, &first], 6),
        (&named, Some("host"), [&second, &second], 6),
    ] {
        let mut command = cluster.command(words);
        if let Some(key) = key {
            command.env("DYNAMIC_KEY", key).env("DYNAMIC_HOSTS", &second);
        }
        let output = succeed(command);
        let lines: Vec<&str> = output.lines().collect();
        let parents = lines.iter().filter(|line| line.starts_with("parent on"));
        assert!(parents.clone().all(|line| line.ends_with(&format!(": {universe}"))), "{output}");
        assert_eq!((parents.count(), lines.len()), (2, 4), "{output}");
        let mut found: Vec<_> =
            lines.iter().filter_map(|line| line.strip_prefix("child on ")).collect();
        found.sort_unstable();
        assert_eq!(found, children.map(|host| format!("{host}: {universe}")), "{output}");
    }
    // Names, which Slurm's process manager carries between the hosts.
    let named =
        cluster.command(&["srun", "--mpi=pmi2", "-N2", "-n2", &dynamic, "names", "a; name"]);
    assert_eq!(succeed(named), "names: well\n".repeat(2));
}

#[test]
fn a_job_in_slurm() {
    let Some(cluster) = Cluster::up(2, 4) else { return };
    let (mpirun, many) = (text(prefix().join("bin/mpirun")), text(program("many")));
    let srun = cluster.command(&["srun", "--mpi=pmi2", "-N2", "-n4", &many, "ring"]);
    assert_eq!(succeed(srun), "done, 4 ranks\n");
    let salloc = cluster.command(&["salloc", "-Q", "-N2", "-n5", &mpirun, &many, "ring"]);
    assert_eq!(succeed(salloc), "done, 5 ranks\n");
    spawning_in_slurm(&cluster, &mpirun);
    let alone = cluster.command(&["srun", "--mpi=none", "-N2", "-n2", &many, "init"]).output();
    let alone = String::from_utf8_lossy(&alone.expect("srun").stderr).into_owned();
    assert!(alone.contains("use srun --mpi=pmi2, or mpirun"), "{alone}");
}
