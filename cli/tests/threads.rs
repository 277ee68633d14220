//! What `mpirun` says when the threads of ranks have too few processors.

mod common;

use std::process::{Command, Stdio};

use common::{quick, read_error_until, wait};
use hpvm_tests::hosts::Hosts;

/// Two threads of OpenMP at work for so many tenths of a second.
const BUSY: &str = r#"
#include <omp.h>
#include <stdlib.h>
int main(int n, char **v)
{
    double seconds = n > 1 ? 0.1 * atoi(v[1]) : 1;
#pragma omp parallel num_threads(2)
    for (double end = omp_get_wtime() + seconds; omp_get_wtime() < end;) {}
    return 0;
}
"#;

/// The program, in a folder that goes with it.
fn busy() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("folder");
    std::fs::write(folder.path().join("busy.c"), BUSY).expect("write");
    let mut cc = Command::new("cc");
    cc.current_dir(folder.path()).args(["-fopenmp", "-o", "busy", "busy.c"]);
    assert!(cc.status().expect("cc").success(), "{cc:?}");
    let program = folder.path().join("busy").to_str().expect("text").to_string();
    (folder, program)
}

/// `mpirun` on one processor, so that two threads are too many on any machine.
fn on_one_processor(args: &[&str]) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0", env!("CARGO_BIN_EXE_hpvm"), "run"]).args(args);
    command.env_remove("OMP_NUM_THREADS").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

const TOLD: &str = "4 threads at work on 1 processor; -x OMP_NUM_THREADS=1 would give";

#[test]
fn too_many_threads_are_told() {
    let (_folder, program) = busy();
    let mut child = on_one_processor(&["-n", "2", &program, "600"]).spawn().expect("start");
    let said = read_error_until(&mut child, TOLD);
    assert!(said.contains("2 ranks of "), "{said}");
    common::kill(child.id() as i32, libc::SIGTERM);
    wait(child);
}

#[test]
fn who_has_chosen_is_not_told() {
    let (_folder, program) = busy();
    for flags in [&["-x", "OMP_NUM_THREADS=2"][..], &["--bind-to", "core"], &["-q"]] {
        let args = [&["-n", "2"], flags, &[&program[..], "25"]].concat();
        let ended = wait(on_one_processor(&args).spawn().expect("start"));
        assert_eq!((ended.code, &ended.err[..]), (0, ""), "{flags:?}");
    }
}

#[test]
fn other_hosts_tell_it_once() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let (_folder, program) = busy();
    let list = format!("{0}1:2,{0}2:2", hosts.prefix());
    let mut job = quick(&hosts, &["-H", &list, "taskset", "-c", "0", &program, "30"]);
    job.command.env_remove("OMP_NUM_THREADS");
    let ended = wait(job.start());
    let count = ended.err.matches("threads at work on").count();
    // Hosts with more processors than that have enough.
    let enough = 4 < 2 * std::thread::available_parallelism().expect("count").get();
    assert_eq!((ended.code, count), (0, usize::from(!enough)), "{ended:?}");
}
