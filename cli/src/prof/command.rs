//! Runs a command and counts it.

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use clap::ArgMatches;
use hpvm_counters::allowed::Offer;
use hpvm_counters::events::{TASK_CLOCK, software};
use hpvm_counters::{Estimate, Part, Report};
use hpvm_launch::error::LaunchError;
use hpvm_launch::text::{message, printable};
use hpvm_launch::{program, sys};

use super::collector::Collector;
use super::output::{self, Usual};

/// Time between two looks at values that are counted in turns: many turns, and few looks.
const BETWEEN: Duration = Duration::from_millis(100);
/// Signals that are the command's business.
const SIGNALS: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// The file of a command's program, which is found as `mpirun` finds it: the launcher where the words begin with one of
/// its flags.
pub fn file(words: &[OsString]) -> Result<PathBuf, LaunchError> {
    match words.first() {
        Some(name) if !is_flag(name) => {
            program::find(name, Path::new(""), std::env::var_os("PATH").as_deref())
        }
        _ => std::env::current_exe().map_err(|error| LaunchError::system("our own name", &error)),
    }
}

/// Performs `hpvm prof COMMAND...`.
pub fn run(
    file: &Path,
    words: &[OsString],
    offer: Offer,
    matches: &ArgMatches,
) -> Result<i32, String> {
    let failed = |what: &str, error: io::Error| format!("prof: {what}: {error}");
    let limit = raise_limit();
    let region = matches.get_flag("region");
    let counts = !offer.events.is_empty();
    let (mut collector, name) =
        Collector::new(offer, region).map_err(|error| failed("a socket", error))?;
    let signals = signals().map_err(|error| failed("signals", error))?;
    let shown: Vec<_> =
        words.iter().map(|word| message(&printable(&word.to_string_lossy()))).collect();
    let words = with_launcher(file, words);
    let began = Instant::now();
    let child =
        start(file, &words, &name, limit).map_err(|error| failed("starting the command", error))?;
    let pid = child.id() as i32;
    let end = sys::pidfd(pid).map_err(|error| failed("watching the command", error))?;
    while !has_ended(&mut collector, &end, &signals, pid)? {}
    let elapsed = began.elapsed().as_secs_f64();
    let (code, usage) = reap(pid).map_err(|error| failed("the command's end", error))?;
    let (offer, parts, remarks) = collector.end();
    let mut report = Report {
        command: shown.join(" "),
        elapsed,
        events: offer.events,
        parts,
        notes: offer.notes,
    };
    report.notes.extend(remarks);
    if !counts {
        from_usage(&mut report, &usage);
    }
    output::write(&report, matches, Usual::Errors)?;
    Ok(code)
}

fn is_flag(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// `-n 4 ./a.out` is for the launcher.
fn with_launcher(file: &Path, words: &[OsString]) -> Vec<OsString> {
    let launcher = [file.into(), "run".into()];
    let first = launcher.into_iter().filter(|_| words.first().is_some_and(is_flag));
    first.chain(words.iter().cloned()).collect()
}

/// Every rank takes some descriptors here. The limit that there was, for the command.
fn raise_limit() -> Option<libc::rlimit> {
    let before = sys::descriptor_limit().ok()?;
    // Ranks for which there is no room are not counted, and the report says so.
    let _ = sys::set_descriptor_limit(&libc::rlimit { rlim_cur: before.rlim_max, ..before });
    Some(before)
}

/// Blocks the signals that the command shall end by, not we, and opens a descriptor for them.
pub fn signals() -> io::Result<OwnedFd> {
    sys::signals(&SIGNALS)
}

/// Starts the command; it waits for its events before it becomes the program.
fn start(
    file: &Path,
    words: &[OsString],
    name: &str,
    limit: Option<libc::rlimit>,
) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["counted", name, "command"]).arg(file).args(words);
    command.env(hpvm_launch::environment::PROF, name);
    // SAFETY: the closure makes async-signal-safe calls only.
    unsafe {
        command.pre_exec(move || {
            hpvm_launch::sys::unblock_signals();
            if let Some(limit) = &limit {
                libc::setrlimit(libc::RLIMIT_NOFILE, limit);
            }
            Ok(())
        });
    }
    command.spawn()
}

/// Waits for something to happen and does what is due. True: the command has ended.
fn has_ended(
    collector: &mut Collector,
    end: &OwnedFd,
    signals: &OwnedFd,
    pid: i32,
) -> Result<bool, String> {
    let mut polled = vec![hpvm_os::entry(end, libc::POLLIN), hpvm_os::entry(signals, libc::POLLIN)];
    polled.extend(collector.polled());
    let limit = collector.takes_turns().then_some(BETWEEN);
    if hpvm_os::poll(&mut polled, limit).map_err(|error| format!("prof: poll: {error}"))? == 0 {
        collector.read();
    }
    pass_on(signals, pid);
    collector.take();
    Ok(polled[0].revents != 0)
}

/// Signals that somebody sent to us are sent to the command; those of a terminal's keys it has got itself.
fn pass_on(signals: &OwnedFd, pid: i32) {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
    let bytes = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the place is as long as is said; it is looked at only when all of it has been written.
    while unsafe { libc::read(signals.as_raw_fd(), info.as_mut_ptr().cast(), bytes) }
        == bytes as isize
    {
        // SAFETY: written by the read.
        let (signal, code) =
            unsafe { (info.assume_init_ref().ssi_signo, info.assume_init_ref().ssi_code) };
        if code != libc::SI_KERNEL {
            sys::kill(pid, signal as i32);
        }
    }
}

/// The exit code as shells have it, and what the kernel's accounts say.
fn reap(pid: i32) -> io::Result<(i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all zeroes are valid; both places are writable.
    let (done, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &mut status, 0, &mut usage), usage)
    };
    hpvm_os::check(done)?;
    let code = match libc::WIFSIGNALED(status) {
        true => 128 + libc::WTERMSIG(status),
        false => libc::WEXITSTATUS(status),
    };
    Ok((code, usage))
}

/// Where the kernel permits no events: what it has counted for its accounts, of all together.
fn from_usage(report: &mut Report, usage: &libc::rusage) {
    let exact = |value: u64| Estimate {
        raw: value,
        scaled: Some(value as f64),
        coverage: 1.0,
        error: Some(0.0),
        enabled: 1,
        running: 1,
    };
    let nanoseconds =
        |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    let known = |name: &str| match name {
        TASK_CLOCK => Some(nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime)),
        "minor-faults" => Some(usage.ru_minflt as u64),
        "major-faults" => Some(usage.ru_majflt as u64),
        "context-switches" => Some((usage.ru_nvcsw + usage.ru_nivcsw) as u64),
        _ => None,
    };
    let (mut events, mut estimates) = (Vec::new(), Vec::new());
    for event in software() {
        if let Some(value) = known(&event.name) {
            events.push(event);
            estimates.push(exact(value));
        }
    }
    report.events = events;
    report.parts = vec![Part { estimates, ..Part::default() }];
    report.notes.push(
        "the values are those of the kernel's accounts (getrusage), for the whole command only"
            .into(),
    );
}
