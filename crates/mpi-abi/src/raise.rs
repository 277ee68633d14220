//! Errors: from an `Error` to the error handler of the object, and the end of the job.

use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::object::errhandler::Handler;
use crate::runtime::{Entered, abort, end_process, enter, host_name, launcher_ends, whoami};
use crate::say::say;
use core::ffi::c_int;
use hpvm_job::Job;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use hpvm_transport::Broken;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

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

/// Runs the body of a call inside the engine. Its error, or that of entering, goes to `raise`, outside of the
/// engine.
#[inline(always)]
pub fn in_engine<E: From<Error>>(
    body: impl FnOnce(&mut Entered) -> core::result::Result<(), E>,
    raise: impl FnOnce(E) -> c_int,
) -> c_int {
    let result = match enter() {
        Ok(mut w) => body(&mut w),
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(error),
    }
}

/// Runs the body of a call on a communicator, and hands errors to the communicator's handler.
#[inline(always)]
pub fn on_comm(
    function: &'static str,
    comm: MPI_Comm,
    body: impl FnOnce(&mut Entered) -> Result<()>,
) -> c_int {
    in_engine(body, |error| raise_on(function, comm, error))
}

/// Runs the body of a call on no particular object. Its errors go to the handler of
/// `MPI_COMM_SELF` (MPI 5.0, section 9.3).
#[inline(always)]
pub fn on_world(function: &'static str, body: impl FnOnce(&mut Entered) -> Result<()>) -> c_int {
    in_engine(body, |error| raise_global(function, error))
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
    let found = |comm| enter().ok().and_then(|w| w.objects.comm(comm).ok().cloned());
    match found(MPI_COMM_SELF) {
        Some(own)
            if own.extras().handler.is_default() && found(MPI_COMM_WORLD).is_some_and(throws) =>
        {
            remember(error)
        }
        Some(own) => raise(function, &own, MPI_COMM_SELF, error),
        // Before MPI_Init and after MPI_Finalize: MPI_ERRORS_ARE_FATAL until told otherwise.
        None => match crate::body::errh::initial_handler() {
            Handler::Return | Handler::Throw => remember(error),
            _ => fatal(function, "", &error),
        },
    }
}

/// Whether C++ shall make an exception of an error. Only programs for MPI 2 ask for that, in which an error that belongs
/// to no object was one of `MPI_COMM_WORLD`.
fn throws(world: Arc<CommObject>) -> bool {
    matches!(world.extras().handler, Handler::Throw)
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
        Handler::Return | Handler::Throw => remember(error),
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

/// Longest time that an error waits for what explains it.
pub const EXPLANATION: Duration = Duration::from_secs(1);

/// Prints one message and ends the job.
#[cold]
pub fn fatal(function: &str, object: &str, error: &Error) -> ! {
    let on = if object.is_empty() { String::new() } else { format!(" on {object}") };
    end_with(&format!("{function}{on} failed: {error}"), error.code())
}

/// Prints one message and ends the job: the launcher tells it, if it is ours, and of several the first.
#[cold]
pub fn end_with(why: &str, code: c_int) -> ! {
    if launcher_ends(code, why) {
        end_process(code);
    }
    say(&format!("{}: {why}", whoami()));
    abort(code)
}

/// The error of an engine whose network is broken: nothing can be relied on, so the job ends.
///
/// Ranks on both sides of a cut notice it at about the same time. Our own launcher shows the reason of the
/// first only; with others each tells by itself.
#[cold]
pub fn broken(job: &mut Job, cause: &Broken) -> Error {
    let code = Class::Other.code();
    let launcher = job.manager.as_mut().filter(|_| crate::runtime::launcher_is_ours());
    let lost = if matches!(cause, Broken::PeerLost { .. }) { hpvm_job::PEER_LOST } else { "" };
    let told = launcher.map(|manager| manager.abort_because(code, &format!("{lost}{cause}")));
    if !matches!(told, Some(Ok(true))) {
        say(&format!("a rank on {} must give up: {cause}", host_name()));
    }
    end_process(code)
}
