//! ARMCI in real jobs: on two hosts, in the ways that slow systems leave, when a process is killed, and Global Arrays on
//! it where Debian's package is installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use hpvm_tests::hosts::Hosts;

use crate::common::{PATIENCE, clean, folder, prefix, run_within, succeed, workspace};

/// The conformance programs, except the one with mistakes.
const PROGRAMS: [&str; 9] =
    ["basic", "strided", "acc", "rmw", "mutex", "nb", "groups", "msg", "alloc"];

/// A conformance program, compiled; once a run.
fn built(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = folder("armci");
        for name in PROGRAMS.iter().chain(&["forever"]) {
            let mut compiler = Command::new(prefix().join("bin/mpicc"));
            compiler.args(["-O2", "-std=gnu11", "-o"]).arg(folder.join(name));
            compiler
                .arg(workspace().join(format!("tests/armci/{name}.c")))
                .args(["-larmci", "-lm"]);
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

/// Where memory can't be mapped, and where the kernel copies nothing.
#[test]
fn without_loads_and_stores() {
    for name in PROGRAMS {
        for way in ["kernel", "messages"] {
            let mut job = clean(prefix().join("bin/mpirun"));
            job.args(["-n", "3", "-x", &format!("HPVM_ONESIDED={way}")]).arg(built(name));
            assert_eq!(succeed(job), "No errors\n", "{name}, {way}");
        }
    }
}

/// A process kills itself with a mutex in its hands, for which the others wait; the job ends and says who it was.
#[test]
fn a_killed_process_ends_the_job() {
    for way in ["", "messages"] {
        let mut job = clean(prefix().join("bin/mpirun"));
        if !way.is_empty() {
            job.args(["-x", &format!("HPVM_ONESIDED={way}")]);
        }
        job.args(["-n", "3"]).arg(built("forever"));
        let outcome = run_within(job, PATIENCE);
        assert_eq!(outcome.code, Some(128 + 9), "{}", outcome.output);
        assert!(outcome.output.contains("rank 1"), "{}", outcome.output);
    }
}

/// `ga_matmul` as `make apps` builds it, if it can be built.
fn matmul() -> Option<PathBuf> {
    let header = Path::new("/usr/include/ga.h");
    let mut which = clean("sh");
    which.args(["-c", "command -v mpicc.openmpi && command -v pkg-config"]);
    if !header.exists() || !which.output().is_ok_and(|found| found.status.success()) {
        hpvm_tests::skip::skipped("Global Arrays are missing; install libglobalarrays-dev");
        return None;
    }
    let program = folder("ga").join("ga_matmul");
    let mut make = clean("make");
    make.args(["-s", "-C"]).arg(workspace().join("apps/ga"));
    make.arg(format!("PREFIX={}", prefix().display())).arg(format!("OUT={}", program.display()));
    succeed(make);
    Some(program)
}

#[test]
fn global_arrays_multiply_matrices() {
    let Some(program) = matmul() else { return };
    for ranks in ["1", "4"] {
        let mut job = clean(prefix().join("bin/mpirun"));
        job.args(["-n", ranks]).arg(&program).args(["--check", "--quiet"]);
        let output = succeed(job);
        assert!(output.contains("0 elements are wrong"), "{output}");
    }
}

/// A program of ARMCI and MPI that another MPI's compiler has made, by pkg-config's file.
#[test]
fn compilers_of_other_mpis_link_it() {
    let folder = folder("armci-other");
    let source = folder.join("sum.c");
    let text = "#include <mpi.h>\n#include <armci.h>\n#include <stdio.h>\n\
        int main(int argc, char **argv)\n{\n    int me, n, mine, sum;\n    void *all[8];\n    MPI_Init(&argc, &argv);\n    \
        ARMCI_Init();\n    MPI_Comm_rank(MPI_COMM_WORLD, &me);\n    MPI_Comm_size(MPI_COMM_WORLD, &n);\n    \
        ARMCI_Malloc(all, sizeof(int));\n    mine = me + 1;\n    ARMCI_Put(&mine, all[(me + 1) % n], sizeof(int), (me + 1) % n);\n    \
        ARMCI_Barrier();\n    MPI_Reduce(all[me], &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);\n    \
        if (me == 0)\n        printf(\"sum %d\\n\", sum);\n    ARMCI_Free(all[me]);\n    ARMCI_Finalize();\n    \
        MPI_Finalize();\n}\n";
    std::fs::write(&source, text).expect("a source");
    for compiler in ["mpicc.mpich", "mpicc.openmpi"] {
        let mut which = clean("sh");
        which.args(["-c", &format!("command -v {compiler} && command -v pkg-config")]);
        if !which.output().is_ok_and(|found| found.status.success()) {
            hpvm_tests::skip::skipped(&format!("{compiler} or pkg-config is missing"));
            continue;
        }
        let mut ask = clean("pkg-config");
        ask.args(["--cflags", "--libs", "hpvm-armci"]);
        ask.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
        let flags = succeed(ask);
        let program = folder.join(compiler);
        let mut command = clean(compiler);
        command.arg("-o").arg(&program).arg(&source).args(flags.split_whitespace());
        succeed(command);
        let mut job = clean(prefix().join("bin/mpirun"));
        job.args(["-n", "3"]).arg(&program);
        assert_eq!(succeed(job), "sum 6\n", "{compiler}");
    }
}
