//! Jobs that end from where little may be done: a signal handler, a standard error that nobody reads, a
//! process whose launcher is gone and whose `atexit` handlers call MPI.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, clean, folder, mpirun, prefix, program, run_within, workspace};
use hpvm_tests::skip::skipped;

#[test]
fn abort_in_a_signal_handler() {
    for arguments in [&["handler"][..], &["handler", "threads"]] {
        let outcome = run_within(mpirun(2, "ends", arguments), PATIENCE);
        assert_eq!(outcome.code, Some(5), "{arguments:?}:\n{}", outcome.output);
        assert!(outcome.output.contains("called MPI_Abort with code 5"), "{}", outcome.output);
    }
}

/// The launcher tells it; a job whose fault all ranks have tells it once.
#[test]
fn one_fault_is_one_line() {
    let outcome = run_within(mpirun(2, "ends", &["aborts"]), PATIENCE);
    assert!(outcome.output.contains("called MPI_Abort with code 4"), "{}", outcome.output);
    assert_eq!(outcome.output.lines().count(), 1, "{}", outcome.output);
    let mut command = mpirun(4, "ends", &["aborts"]);
    command.env("HPVM_TABLES", "/nowhere/tables");
    let outcome = run_within(command, PATIENCE);
    assert_eq!(outcome.code, Some(13), "{}", outcome.output);
    let text = &outcome.output;
    assert!(text.contains("gives up: MPI_Init") && text.contains("/nowhere/tables"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

/// As with other MPIs' launchers: the program has said so. It is told all the same, and ends without a launcher, too.
#[test]
fn abort_with_0_ends_the_job_with_0() {
    let outcome = run_within(mpirun(2, "ends", &["aborts-0"]), PATIENCE);
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    assert!(outcome.output.contains("called MPI_Abort with code 0"), "{}", outcome.output);
    let mut alone = clean(program("ends"));
    alone.arg("aborts-0").env("LD_LIBRARY_PATH", prefix().join("lib"));
    let outcome = run_within(alone, PATIENCE);
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    assert!(outcome.output.contains("MPI_Abort with error code 0"), "{}", outcome.output);
}

/// The exit code is the program's, not that of a panic or of SIGPIPE.
#[test]
fn a_standard_error_that_nobody_reads() {
    let outcome = run_within(mpirun(2, "ends", &["aborts"]), PATIENCE);
    assert_eq!(outcome.code, Some(4), "{}", outcome.output);
    let outcome = run_within(mpirun(2, "ends", &["fatal"]), PATIENCE);
    assert!(outcome.code.is_some_and(|code| (1..128).contains(&code)), "{outcome:?}");
}

/// Another MPI's launcher has no guardian, so ranks have to notice its end by themselves.
#[test]
fn ranks_whose_launcher_is_gone_end_although_their_exit_handlers_call_mpi() {
    let peers = std::env::var_os("HPVM_PEERS").map(std::path::PathBuf::from);
    let mpich = peers.unwrap_or_else(|| workspace().join("peers")).join("mpich");
    if !mpich.join("bin/mpiexec").exists() {
        return skipped(&format!("no MPICH in {}", mpich.display()));
    }
    let home = folder("orphans");
    let mut job = clean(mpich.join("bin/mpiexec"));
    job.args(["-n", "2"]).arg(program("ends")).arg("waits").arg(home.join("pid"));
    job.env("LD_LIBRARY_PATH", prefix().join("lib")).env_remove("HPVM_JOB_ID");
    let mut job = job.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("mpiexec");
    let read = |rank: u32| {
        let text = std::fs::read_to_string(home.join(format!("pid.{rank}"))).ok()?;
        text.trim().parse::<i32>().ok()
    };
    let ranks = [0, 1].map(|rank| wait_for(|| read(rank)));
    let proxy = parent(ranks[0]);
    // SAFETY: signals to processes that this test has started, directly or through them.
    unsafe {
        libc::kill(job.id() as i32, libc::SIGKILL);
        libc::kill(proxy, libc::SIGKILL);
    }
    job.wait().expect("mpiexec has ended");
    for rank in ranks {
        wait_for(|| (!alive(rank)).then_some(()));
    }
}

/// Asks until there is an answer; fails when none comes.
#[track_caller]
fn wait_for<R>(mut answer: impl FnMut() -> Option<R>) -> R {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(Instant::now() < end, "nothing happened within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The third and fourth word behind a process's name in its `stat`: state and parent.
fn stat(pid: i32) -> Option<(String, i32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = text.rsplit_once(')')?.1.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
}

fn parent(pid: i32) -> i32 {
    stat(pid).expect("a running process").1
}

fn alive(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != "Z")
}
