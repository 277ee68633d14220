//! Several models in one program.

use std::path::PathBuf;
use std::process::Command;

use hpvm_tests::hosts::Hosts;

use crate::common::{clean, folder, marker, prefix, sources, succeed};

/// A program of `tests/programs/models`, with the libraries of all models.
fn program(name: &str) -> PathBuf {
    let program = folder("together").join(name);
    let mut mpicc = clean(prefix().join("bin/mpicc"));
    mpicc.args(["-Wall", "-Wextra", "-Werror", "-O1", "-std=gnu11", "-pthread", "-o"]);
    mpicc.arg(&program).arg(sources().join(format!("models/{name}.c")));
    let libraries = ["armci", "oshmem", "bsp", "sam", "portals", "gpvm3", "pvm3"];
    succeed_quietly(mpicc.args(libraries.map(|library| format!("-l{library}"))));
    program
}

fn succeed_quietly(command: &mut Command) {
    let output = command.output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// In which order the models begin. Tasks of PVM find each other by MPI.
const ORDERS: [&str; 3] = [
    "mpi shmem armci bsp sam portals pvm",
    "portals sam mpi pvm bsp armci shmem",
    "bsp armci portals sam shmem mpi pvm",
];

#[test]
fn all_models_in_one_program() {
    let program = program("together");
    for order in ORDERS {
        for ranks in ["1", "2", "5"] {
            let mut job = clean(prefix().join("bin/mpirun"));
            job.args(["-n", ranks]).arg(&program).args(order.split(' ')).env("PVM_VMID", marker());
            assert_eq!(succeed(job), format!("{ranks} ranks, 7 models: 0 errors\n"), "{order}");
        }
    }
}

#[test]
fn all_models_in_one_program_on_two_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let program = program("together");
    let agent = Hosts::agent();
    for order in ORDERS {
        let mut job = hosts.command(1, prefix().join("bin/mpirun"));
        let list = [1, 2].map(|host| format!("{}:2", hosts.name(host))).join(",");
        job.args(["-n", "4", "-H", &list, "-x", "PVM_VMID", "--launch-agent"]).arg(&agent);
        job.arg(&program).args(order.split(' '));
        job.env("PVM_VMID", marker()).env("HPVM_LAUNCH_AGENT", &agent);
        assert_eq!(succeed(job), "4 ranks, 7 models: 0 errors\n", "{order}");
    }
}

/// What a rank spawns by PVM is no rank of its job.
#[test]
fn tasks_that_a_rank_spawns_are_jobs_of_their_own() {
    let mut job = clean(prefix().join("bin/mpirun"));
    job.args(["-n", "2"]).arg(program("spawned")).env("PVM_VMID", marker());
    assert_eq!(succeed(job), "0 errors\n");
}
