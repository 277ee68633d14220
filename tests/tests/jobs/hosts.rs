//! Real MPI programs on several test hosts, started by mpirun over ssh and by Slurm's srun. Skipped,
//! with a message, where test hosts or Slurm cannot be had.

use std::path::{Path, PathBuf};
use std::process::Command;

use hpvm_tests::hosts::Hosts;

use crate::common::{prefix, program, succeed};

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

#[test]
fn a_job_in_slurm() {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/slurm");
    let check = Command::new(&tool).arg("check").output().expect("tests/hosts/slurm");
    if !check.status.success() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&check.stdout).trim());
        return;
    }
    let owner = std::process::id().to_string();
    let cluster = format!("j{owner}s");
    let down = |_: &()| {
        // What is left is taken away by the next run.
        let _ = Command::new(&tool).args(["down", &cluster]).status();
    };
    let up = Command::new(&tool).args(["up", &cluster, "2", "4", "--owner", &owner]).status();
    assert!(up.expect("tests/hosts/slurm").success());
    let result = std::panic::catch_unwind(|| {
        let on = |args: &[&str]| {
            let mut command = Command::new(&tool);
            command.args(["exec", &cluster]).args(args);
            command
        };
        let (mpirun, many) = (text(prefix().join("bin/mpirun")), text(program("many")));
        let srun = on(&["srun", "--mpi=pmi2", "-N2", "-n4", &many, "ring"]);
        assert_eq!(succeed(srun), "done, 4 ranks\n");
        let salloc = on(&["salloc", "-Q", "-N2", "-n5", &mpirun, &many, "ring"]);
        assert_eq!(succeed(salloc), "done, 5 ranks\n");
        let alone = on(&["srun", "--mpi=none", "-N2", "-n2", &many, "init"]).output();
        let alone = String::from_utf8_lossy(&alone.expect("srun").stderr).into_owned();
        assert!(alone.contains("use srun --mpi=pmi2, or mpirun"), "{alone}");
    });
    down(&());
    if let Err(cause) = result {
        std::panic::resume_unwind(cause);
    }
}
