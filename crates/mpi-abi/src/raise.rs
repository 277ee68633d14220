//! Errors: from an `Error` to the error handler of the object, and the end of the job.

use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::object::errhandler::Handler;
use crate::runtime::{Entered, enter};
use core::ffi::c_int;
use hpvm_job::Job;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use hpvm_transport::Broken;
use std::cell::RefCell;
use std::io::Write;
use std::sync::Arc;

thread_local! {
    /// The last error of this thread, for `MPI_Error_string`.
    static LAST: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// What is known about the last error of `class` on this thread beyond the class's own text.
pub fn last_detail(class: Class) -> Option<String> {
    LAST.with_borrow(|last| {
        last.as_ref().filter(|e| e.class == class && !e.text.is_empty()).map(|e| e.text.to_string())
    })
}

/// Runs the body of a call on a communicator: enters the engine, and hands errors to the
/// communicator's handler.
#[inline(always)]
pub fn on_comm(
    function: &'static str,
    comm: MPI_Comm,
    body: impl FnOnce(&mut Entered) -> Result<()>,
) -> c_int {
    let result = match enter() {
        Ok(mut w) => body(&mut w),
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_on(function, comm, error),
    }
}

/// Runs the body of a call on no particular object. Its errors go to the handler of
/// `MPI_COMM_SELF` (MPI 5.0, section 9.3).
#[inline(always)]
pub fn on_world(function: &'static str, body: impl FnOnce(&mut Entered) -> Result<()>) -> c_int {
    on_comm(function, MPI_COMM_SELF, body)
}

/// Runs the body of a call that needs no engine.
pub fn anywhere(function: &'static str, body: impl FnOnce() -> Result<()>) -> c_int {
    match body() {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_global(function, error),
    }
}

/// An error of a call on the communicator of a handle that may itself be the mistake.
#[cold]
pub fn raise_on(function: &'static str, comm: MPI_Comm, error: Error) -> c_int {
    let object = enter().ok().and_then(|w| w.objects.comm(comm).ok().cloned());
    match object {
        Some(object) => raise(function, &object, comm, error),
        None => raise_global(function, error),
    }
}

/// An error of a call that belongs to no valid object.
#[cold]
pub fn raise_global(function: &'static str, error: Error) -> c_int {
    let own = enter().ok().and_then(|w| w.objects.comm(MPI_COMM_SELF).ok().cloned());
    match own {
        Some(own) => raise(function, &own, MPI_COMM_SELF, error),
        // Before MPI_Init and after MPI_Finalize: MPI_ERRORS_ARE_FATAL until told otherwise.
        None => match crate::body::errh::initial_handler() {
            Handler::Return => remember(error),
            _ => fatal(function, "", &error),
        },
    }
}

/// Keeps the error for `MPI_Error_string` and returns its code.
pub fn remember(error: Error) -> c_int {
    let code = error.code();
    LAST.set(Some(error));
    code
}

/// Hands an error to the handler of a communicator. No guard may be held.
#[cold]
pub fn raise(
    function: &'static str,
    object: &Arc<CommObject>,
    handle: MPI_Comm,
    error: Error,
) -> c_int {
    let handler = object.extras().handler;
    match handler {
        Handler::Return => remember(error),
        Handler::Comm(Some(f)) => {
            let mut code = remember(error);
            let mut handle = handle;
            // SAFETY: the program registered this function for communicators; both arguments live
            // through the call. It is variadic in C, with nothing after the two.
            unsafe { f(&mut handle, &mut code) };
            code
        }
        Handler::Foreign(f) => {
            let mut code = remember(error);
            // SAFETY: the program's function for communicators, and no guard is held.
            unsafe { f.run(handle.0, &mut code) };
            code
        }
        _ => {
            let name = object.extras().name.clone();
            fatal(function, &name, &error)
        }
    }
}

/// Prints one message and ends the job.
#[cold]
pub fn fatal(function: &str, object: &str, error: &Error) -> ! {
    let on = if object.is_empty() { String::new() } else { format!(" on {object}") };
    let line = format!("hpvm: {}: {function}{on} failed: {error}\n", whoami());
    // One write: another rank may end the job, and us, at any moment. When standard error is
    // closed, there is nobody to tell.
    let _ = std::io::stderr().write_all(line.as_bytes());
    abort(error.code())
}

/// "rank 3 of 8 on host" or "process 1234" before the job is known.
pub fn whoami() -> String {
    match enter() {
        Ok(w) => format!("rank {} of {} on {}", w.job.rank, w.job.size, host_name()),
        Err(_) => format!("process {} on {}", std::process::id(), host_name()),
    }
}

/// This machine's name.
pub fn host_name() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer is as long as we say, and its last byte stays zero.
    let failed = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) } != 0;
    let end = buffer.iter().position(|b| *b == 0).unwrap_or(0);
    if failed { "localhost".into() } else { String::from_utf8_lossy(&buffer[..end]).into_owned() }
}

/// Ends the job with `code`: tells the process manager, and ends this process.
pub fn abort(code: c_int) -> ! {
    if let Ok(mut w) = enter()
        && let Some(manager) = w.job.manager.as_mut()
    {
        // It answers by ending us; when it is gone, we end ourselves.
        let _ = manager.abort(code);
    }
    // Of the exit code the low byte arrives; 0 would look like success.
    let code = if code & 0xff == 0 { 1 } else { code & 0xff };
    // SAFETY: ends the process without running handlers of a program in an unknown state.
    unsafe { libc::_exit(code) }
}

/// The error of an engine whose network is broken: nothing can be relied on, so the job ends.
///
/// Ranks on both sides of a cut notice it at about the same time. Our own launcher, which sets
/// `HPVM_JOB_ID`, shows the reason of the first only; with others each tells by itself.
#[cold]
pub fn broken(job: &mut Job, cause: &Broken) -> Error {
    let code = Class::Other.code();
    let launcher = std::env::var_os("HPVM_JOB_ID").and(job.manager.as_mut());
    let told = launcher.map(|manager| manager.abort_because(code, &cause.to_string()));
    if !matches!(told, Some(Ok(true))) {
        eprintln!("hpvm: a rank on {} must give up: {cause}", host_name());
    }
    abort_inside(code)
}

/// As `abort`, when the caller holds the guard already.
fn abort_inside(code: c_int) -> ! {
    // SAFETY: as in `abort`. The manager sees our connection end and ends the job.
    unsafe { libc::_exit(if code & 0xff == 0 { 1 } else { code & 0xff }) }
}
