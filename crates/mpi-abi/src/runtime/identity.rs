//! Who this process is and how it ends its job: known without entering the engine, because errors are
//! reported and jobs are aborted from signal handlers, from `atexit` handlers, and with the engine held.

use crate::say;
use hpvm_job::{AbortRequest, FixedText, Job};
use std::ffi::c_int;
use std::fmt::Write;
use std::sync::OnceLock;

struct Identity {
    /// "rank 3 of 8 on host"
    who: String,
    abort: Option<AbortRequest>,
    /// The launcher is ours, which says for us why the job ends: one fault, one line.
    launcher_tells: bool,
}

/// Set when the engine starts for the first time; it holds for the life of the process.
static IDENTITY: OnceLock<Identity> = OnceLock::new();
/// The engine has run. Before that this process may fail to join its job, and has to say so.
static HAS_RUN: OnceLock<()> = OnceLock::new();

/// Whether the process manager is hpvm's own launcher, which says for its ranks why a job ends, and answers more than PMI
/// asks of it.
pub fn launcher_is_ours() -> bool {
    std::env::var_os("HPVM_JOB_ID").is_some()
}

pub(super) fn set(job: &Job) {
    let who = format!("rank {} of {} on {}", job.rank, job.size, host_name());
    let abort = job.manager.as_ref().map(hpvm_job::Client::abort_request);
    let launcher_tells = abort.is_some() && launcher_is_ours();
    // An engine starts once.
    let _ = IDENTITY.set(Identity { who, abort, launcher_tells });
}

/// The engine has started.
pub(super) fn started() {
    let _ = HAS_RUN.set(());
}

/// While the engine runs, or starts for the first time.
fn identity() -> Option<&'static Identity> {
    IDENTITY.get().filter(|_| super::is_running() || HAS_RUN.get().is_none())
}

/// Has our own launcher end the job and tell people why. False: it is another one's, or gone.
pub fn launcher_ends(code: c_int, why: &str) -> bool {
    let ours = identity().filter(|identity| identity.launcher_tells);
    ours.and_then(|identity| identity.abort).is_some_and(|request| request.send_because(code, why))
}

/// "rank 3 of 8 on host", or "process 1234 on host" before the job is known.
pub fn whoami() -> String {
    match identity() {
        Some(identity) => identity.who.clone(),
        None => format!("process {} on {}", std::process::id(), host_name()),
    }
}

/// This machine's name.
pub fn host_name() -> String {
    let mut buffer = [0; HOST_NAME_MAX];
    read_host_name(&mut buffer).to_owned()
}

const HOST_NAME_MAX: usize = 256;

fn read_host_name(buffer: &mut [u8; HOST_NAME_MAX]) -> &str {
    // SAFETY: the buffer is as long as we say, and its last byte stays zero.
    let failed = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) } != 0;
    let end = buffer.iter().position(|b| *b == 0).unwrap_or(0);
    let name = core::str::from_utf8(&buffer[..end]).ok().filter(|_| !failed);
    name.unwrap_or("localhost")
}

/// `MPI_Abort`: says so in one line and ends the job. Async-signal-safe.
pub fn abort_by_program(code: c_int) -> ! {
    if let Some(Identity { abort: Some(request), launcher_tells: true, .. }) = identity()
        && request.send(code)
    {
        // The launcher says it.
        leave(code);
    }
    let mut line = FixedText::<512>::new();
    // Writing to a `FixedText` does not fail.
    let _ = match identity() {
        Some(identity) => write!(line, "hpvm: {}", identity.who),
        None => {
            let mut host = [0; HOST_NAME_MAX];
            let host = read_host_name(&mut host);
            write!(line, "hpvm: process {} on {host}", std::process::id())
        }
    };
    let _ = writeln!(line, ": MPI_Abort with error code {code}");
    say::write(line.as_bytes());
    ask_to_end(code);
    leave(code)
}

/// How long another launcher may take to pass on what a process has written, before it is asked to end the job. MPICH's
/// ends it without reading what is left.
const PASSING_ON: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Has the process manager end the job, after this process has said why. Async-signal-safe.
fn ask_to_end(code: c_int) {
    let Some(Identity { abort: Some(request), launcher_tells, .. }) = identity() else { return };
    if !launcher_tells {
        // SAFETY: a valid time, and nobody asks for the rest of it.
        unsafe { libc::nanosleep(&PASSING_ON, core::ptr::null_mut()) };
    }
    // When the manager is gone, we end ourselves.
    let _ = request.send(code);
}

/// Ends the job because of a failure, never with 0: tells the process manager, and ends this process. Async-signal-safe.
pub fn abort(code: c_int) -> ! {
    let code = if code & 0xff == 0 { 1 } else { code };
    ask_to_end(code);
    end_process(code)
}

/// Ends the job with any `code`, 0 too, as a program's own `exit` of all ranks would.
pub fn end_job(code: c_int) -> ! {
    if let Some(request) = identity().and_then(|identity| identity.abort) {
        let _ =
            request.send_because(code & 0xff, hpvm_job::GLOBAL_EXIT) || request.send(code & 0xff);
    }
    leave(code)
}

/// Ends this process at once because of a failure. The process manager sees our connection end and ends the job.
pub fn end_process(code: c_int) -> ! {
    // Of the exit code the low byte arrives; 0 would look like success.
    leave(if code & 0xff == 0 { 1 } else { code })
}

/// Ends this process at once with the low byte of `code`, 0 too.
fn leave(code: c_int) -> ! {
    // SAFETY: ends the process without its `atexit` handlers: they belong to a program in an unknown
    // state, and one that calls MPI would wait for ever for an engine that is held.
    unsafe { libc::_exit(code & 0xff) }
}
