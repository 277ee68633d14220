//! Running one command with a time limit, and finding what it left behind.
//!
//! A launcher may put ranks into process groups of their own, so killing its group is not
//! enough: every run carries a marker in its environment, which children inherit, and whatever
//! still carries it after the run is found in `/proc`, killed and reported.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::processes;

/// The environment variable that marks all processes of a run.
pub const MARKER: &str = "CONFORMANCE_RUN";
/// How long processes may take to disappear after their launcher has: moments, but on a loaded machine.
const LEFTOVER_GRACE: Duration = Duration::from_secs(30);
/// How long a launcher has to clean up after SIGTERM before SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(10);
/// Output beyond this is cut: a failing test can print without end.
const OUTPUT_LIMIT: u64 = 16 * 1024;

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Exit status as a shell says it (128 + signal); `None` when the time limit was reached.
    pub code: Option<i32>,
    /// Standard output and error together, at most 16 KiB of it.
    pub output: String,
    /// Processes that outlived the launcher and had to be killed.
    pub leftovers: usize,
    /// Wall time.
    pub elapsed: Duration,
}

/// A command with nothing in its environment that a surrounding job, shell or build may have set:
/// Cargo puts folders of its own on the library path, stand-ins of our library among them. Its
/// signals are not ignored: a shell that runs the tests in its background ignores SIGINT and
/// SIGQUIT, and what ignores a signal when it starts is right to go on ignoring it. The test that calls
/// this is watched from now on ([`crate::watchdog`]).
pub fn clean(program: impl AsRef<OsStr>) -> Command {
    crate::watchdog::watch();
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let jobs = ["PMI_", "MPI_", "MPIEXEC_", "HPVM_", "HYDRA_", "MPICH_"];
        if jobs.iter().any(|prefix| text.starts_with(prefix)) || text == "LD_LIBRARY_PATH" {
            command.env_remove(&name);
        }
    }
    // SAFETY: the closure runs between fork and exec and makes system calls only, which are
    // async-signal-safe; the default action is valid for every signal, and a signal for which it
    // cannot be set (SIGKILL) has it anyway.
    unsafe {
        command.pre_exec(|| {
            for number in 1..32 {
                libc::signal(number, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    command
}

/// Runs `command` with a time limit, in a process group of its own and without standard input.
/// `marker` must be unique among the runs at any one time. Blocks until the run is over.
///
/// # Errors
/// The command could not be started, or no temporary file could be made.
pub fn run(command: Command, marker: &str, limit: Duration) -> Result<Outcome, String> {
    run_with(command, marker, limit, LEFTOVER_GRACE)
}

fn run_with(
    mut command: Command,
    marker: &str,
    limit: Duration,
    grace: Duration,
) -> Result<Outcome, String> {
    let mut log = tempfile::tempfile().map_err(|e| format!("no temporary file: {e}"))?;
    let handle = |log: &File| log.try_clone().map_err(|e| format!("no temporary file: {e}"));
    command.stdin(Stdio::null()).stdout(handle(&log)?).stderr(handle(&log)?);
    command.process_group(0).env(MARKER, marker);
    end_with_this_thread(&mut command);
    let start = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|e| format!("cannot start {}: {e}", command.get_program().to_string_lossy()))?;
    let code = match wait_for(&mut child, start + limit) {
        Some(status) => Some(code_of(status)),
        None => {
            end_group(&mut child);
            None
        }
    };
    let leftovers = end_leftovers(marker, if code.is_some() { grace } else { Duration::ZERO });
    let elapsed = start.elapsed();
    let output = read_log(&mut log).map_err(|e| format!("cannot read the output: {e}"))?;
    Ok(Outcome { code, output, leftovers, elapsed })
}

/// A group of its own does not get the terminal's Ctrl-C: the launcher is told by the kernel when
/// the thread that started it, which waits for it, is gone.
pub fn end_with_this_thread(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec and makes one system call, which is
    // async-signal-safe and touches no memory.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}

/// Waits until the child has ended or `deadline` has passed.
fn wait_for(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

pub fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// SIGTERM to the group, so that the launcher can clean up; SIGKILL when it does not.
fn end_group(child: &mut Child) {
    signal(-pid_of(child), libc::SIGTERM);
    let done = wait_for(child, Instant::now() + TERM_GRACE).is_some();
    signal(-pid_of(child), libc::SIGKILL);
    if !done {
        let _ = child.wait();
    }
}

fn pid_of(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap_or(i32::MAX)
}

fn signal(pid: i32, number: i32) {
    // SAFETY: kill(2) takes plain integers and touches no memory of ours. The group is that of
    // our own child, or a process that carries our marker.
    unsafe { libc::kill(pid, number) };
}

/// Kills what still carries the marker after `grace`, and counts it.
fn end_leftovers(marker: &str, grace: Duration) -> usize {
    let deadline = Instant::now() + grace;
    loop {
        let left = marked(marker);
        if left.is_empty() {
            return 0;
        }
        if Instant::now() >= deadline {
            left.iter().for_each(|&pid| signal(pid, libc::SIGKILL));
            return left.len();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The live processes whose environment holds the marker.
pub fn marked(marker: &str) -> Vec<i32> {
    processes::with(&format!("{MARKER}={marker}"))
}

pub fn read_log(log: &mut File) -> std::io::Result<String> {
    log.rewind()?;
    let mut bytes = Vec::new();
    log.take(OUTPUT_LIMIT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn exit_code_and_output_come_back() {
        let outcome = run(shell("echo out; echo err >&2; exit 3"), "t-code", DAY).unwrap();
        assert_eq!(outcome.code, Some(3));
        assert!(outcome.output.contains("out") && outcome.output.contains("err"));
        assert_eq!(outcome.leftovers, 0);
    }

    #[test]
    fn death_by_signal_reads_as_a_shell_says_it() {
        assert_eq!(run(shell("kill -SEGV $$"), "t-signal", DAY).unwrap().code, Some(139));
    }

    #[test]
    fn the_time_limit_ends_the_whole_group() {
        let limit = Duration::from_millis(200);
        let outcome = run(shell("sleep 1000 & sleep 1000"), "t-time", limit).unwrap();
        assert_eq!(outcome.code, None);
        assert!(outcome.elapsed < Duration::from_secs(100));
        // A process that has been killed is there until the kernel has come to it.
        let end = Instant::now() + Duration::from_secs(60);
        while !marked("t-time").is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(marked("t-time").is_empty());
    }

    #[test]
    fn a_process_outside_the_group_is_found_and_killed() {
        let command = shell("setsid sleep 1000 & exit 0");
        let outcome = run_with(command, "t-left", DAY, Duration::from_millis(100)).unwrap();
        assert_eq!(outcome.code, Some(0));
        assert_eq!(outcome.leftovers, 1);
    }

    #[test]
    fn an_ignored_signal_is_not_handed_on() {
        // SAFETY: nothing in this process uses this signal.
        let set = |action| unsafe { libc::signal(libc::SIGUSR2, action) };
        set(libc::SIG_IGN);
        let mut command = clean("sh");
        command.args(["-c", "kill -USR2 $$; echo deaf"]);
        let outcome = run(command, "t-ignored", DAY);
        set(libc::SIG_DFL);
        assert_eq!(outcome.unwrap().code, Some(128 + libc::SIGUSR2));
    }

    const DAY: Duration = Duration::from_secs(24 * 3600);
}
