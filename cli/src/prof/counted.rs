//! What the command and each rank are for a moment before they become the program: a process that says who it is and
//! waits until its events are there. `hpvm counted SOCKET command|rank FILE ARGV...`, for `hpvm prof` and the launcher
//! only. Whatever goes wrong, the program runs; it is then not counted.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::socket;

/// Variable with the descriptors of the events, for `hpvm_region_begin` and `MPI_Pcontrol`.
pub const REGION: &str = "HPVM_REGION";
/// The first of them is at least this, out of the way of scripts that use small numbers.
const LOWEST_DESCRIPTOR: RawFd = 200;
/// Longest that the program waits for its events.
const EVENTS_TIMEOUT: Duration = Duration::from_secs(10);

/// Becomes the program; returns an exit code if that fails.
pub fn main(words: &[OsString]) -> i32 {
    let [name, role, file, argv @ ..] = words else {
        eprintln!(
            "hpvm counted: expected SOCKET command|rank FILE ARGV...; only hpvm prof calls it"
        );
        return 2;
    };
    let rank = role == "rank";
    if rank {
        forget_outer();
    }
    // Not counted is better than not run.
    if let Ok(descriptors) = announce(&name.to_string_lossy(), rank) {
        hand_on(descriptors);
    }
    let error = become_program(file, argv);
    let text = format!("'{}': {error}", file.to_string_lossy());
    // If standard error is closed, there is nobody to tell.
    let _ = writeln!(io::stderr(), "hpvm prof: {}", hpvm_launch::text::message(&text));
    // As shells have it.
    if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
}

/// A rank is counted by its own events: those of the command around it, and commands inside of it, do not concern it.
fn forget_outer() {
    for fd in list(std::env::var_os(REGION)) {
        if is_event(fd) {
            // SAFETY: it is a descriptor of events that the command around us was given, and nobody here uses it.
            unsafe { libc::close(fd) };
        }
    }
    // SAFETY: this process has one thread.
    unsafe {
        std::env::remove_var(REGION);
        std::env::remove_var(hpvm_launch::environment::PROF);
    }
}

/// The descriptors in a list like `200,201`.
fn list(value: Option<OsString>) -> Vec<RawFd> {
    let value = value.unwrap_or_default();
    value.to_string_lossy().split(',').filter_map(|word| word.parse().ok()).collect()
}

fn is_event(fd: RawFd) -> bool {
    let link = std::fs::read_link(format!("/proc/self/fd/{fd}"));
    link.is_ok_and(|link| link.as_os_str() == "anon_inode:[perf_event]")
}

/// Says who we are and waits until the events are there; gives those that the program switches itself.
fn announce(name: &str, rank: bool) -> io::Result<Vec<OwnedFd>> {
    let mut stream = socket::connect(name)?;
    stream.set_read_timeout(Some(EVENTS_TIMEOUT))?;
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let word = |name: &str| variable(name).unwrap_or_else(|| "-".into());
    let role = if rank { "rank" } else { "command" };
    let host = hpvm_launch::hosts::local_name();
    let job = word(hpvm_launch::environment::JOB_ID);
    writeln!(stream, "{role} {} {} {host} {job}", word("PMI_RANK"), word("PMI_SIZE"))?;
    socket::take(&stream)
}

/// Keeps the descriptors open in the program and names them in its environment.
fn hand_on(descriptors: Vec<OwnedFd>) {
    let keep = |fd: OwnedFd| {
        // SAFETY: a duplicate of a descriptor of ours, which stays open in the program.
        let high = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD, LOWEST_DESCRIPTOR) };
        match high {
            -1 => {
                let fd = fd.into_raw_fd();
                // SAFETY: it is ours; without the flag it stays open in the program.
                unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
                fd
            }
            high => high,
        }
    };
    let numbers: Vec<String> = descriptors.into_iter().map(|fd| keep(fd).to_string()).collect();
    if !numbers.is_empty() {
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var(REGION, numbers.join(",")) };
    }
}

/// `execvp`; comes back with an error only.
fn become_program(file: &OsStr, argv: &[OsString]) -> io::Error {
    let text = |word: &OsStr| CString::new(word.as_bytes()).unwrap_or_default();
    let file = text(file);
    let argv: Vec<CString> = argv.iter().map(|word| text(word)).collect();
    let mut pointers: Vec<_> = argv.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: strings that end with a zero, and a list that ends with a null pointer.
    unsafe {
        // Rust's programs ignore it, others expect that it ends them.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::execvp(file.as_ptr(), pointers.as_ptr());
    }
    io::Error::last_os_error()
}
