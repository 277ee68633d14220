//! Sessions (MPI 5.0, sections 11.3.1 to 11.3.3): uses of the engine beside or without the world
//! model, and the process sets that they offer.

use crate::body::check::{out, wrong};
use crate::body::env::put_string;
use crate::generated::constants::*;
use crate::object::errhandler::{self, Handler};
use crate::object::info::{self, Info};
use crate::object::session::SessionObject;
use crate::raise::{fatal, in_engine, raise_global, remember};
use crate::runtime::{self, Entered, World, enter};
use core::ffi::{CStr, c_char, c_int};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error, Group};
use std::sync::Arc;

/// The process sets in the order of `MPI_Session_get_nth_pset`.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// Thread levels by the names that the info key `thread_level` uses.
const LEVELS: [(&str, c_int); 4] = [
    ("MPI_THREAD_SINGLE", MPI_THREAD_SINGLE),
    ("MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED),
    ("MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED),
    ("MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE),
];

/// Runs the body of a call on a session; its errors go to the session's handler.
pub fn on_session(
    function: &'static str,
    session: MPI_Session,
    body: impl FnOnce(&mut Entered) -> Result<()>,
) -> c_int {
    // A call on a handle that is no session fails, whatever its other arguments are.
    let checked = |w: &mut Entered| w.objects.session(session).map(drop).and_then(|()| body(w));
    in_engine(checked, |error| raise(function, session, error))
}

/// Hands an error to the handler of a session, or of nothing when the handle is no session. No
/// guard may be held.
#[cold]
pub fn raise(function: &'static str, session: MPI_Session, error: Error) -> c_int {
    let handler = enter().ok().and_then(|w| w.objects.session(session).ok().map(|s| s.handler));
    match handler {
        Some(handler) => hand_over(function, handler, session, error),
        None => raise_global(function, error),
    }
}

fn hand_over(
    function: &'static str,
    handler: Handler,
    session: MPI_Session,
    error: Error,
) -> c_int {
    match handler {
        Handler::Return => remember(error),
        Handler::Session(Some(f)) => {
            let mut code = remember(error);
            let mut handle = session;
            // SAFETY: the program registered this function for sessions; both arguments live
            // through the call. It is variadic in C, with nothing after the two.
            unsafe { f(&mut handle, &mut code) };
            code
        }
        Handler::Foreign(f) => {
            let mut code = remember(error);
            // SAFETY: the program's function for sessions, and no guard is held.
            unsafe { f.run(session.0, &mut code) };
            code
        }
        _ => fatal(function, "a session", &error),
    }
}

pub unsafe fn session_init(
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    session: *mut MPI_Session,
) -> c_int {
    const NAME: &str = "MPI_Session_init";
    let handler = match errhandler::find(errhandler) {
        Ok(handler) => handler,
        Err(error) => return raise_global(NAME, error),
    };
    let open = || {
        out("session", session)?;
        let handle = begin(&info::copy_or_empty(info)?, handler)?;
        // SAFETY: checked above.
        unsafe { *session = handle };
        Ok(())
    };
    match open() {
        Ok(()) => MPI_SUCCESS,
        Err(error) => hand_over(NAME, handler, MPI_SESSION_NULL, error),
    }
}

fn begin(wanted: &Info, handler: Handler) -> Result<MPI_Session> {
    let level = match wanted.get("thread_level") {
        None => MPI_THREAD_SINGLE,
        Some(name) => {
            LEVELS.iter().find(|(n, _)| *n == name).map(|(_, l)| *l).ok_or_else(|| {
                let text =
                    format!("info key thread_level is {name:?}; expected an MPI_THREAD constant");
                wrong(Class::InfoValue, text)
            })?
        }
    };
    runtime::raise_thread_level(level);
    runtime::start()?;
    let mut info = Info::default();
    let granted = LEVELS.iter().find(|(_, l)| *l == runtime::thread_level());
    info.set("thread_level", granted.map_or("MPI_THREAD_SINGLE", |(name, _)| name));
    info.set("mpi_memory_alloc_kinds", "mpi,system");
    let object = SessionObject { handler, info, ..SessionObject::default() };
    let kept = enter()?.objects.add_session(object);
    if kept.is_err() {
        runtime::finish(runtime::Use::Other)?;
    }
    kept
}

pub unsafe fn session_finalize(session: *mut MPI_Session) -> c_int {
    const NAME: &str = "MPI_Session_finalize";
    if let Err(error) = out("session", session) {
        return raise_global(NAME, error);
    }
    // SAFETY: checked above.
    let handle = unsafe { *session };
    let removed = enter().and_then(|mut w| {
        w.objects.session(handle)?;
        Ok(w.objects.sessions.remove(handle.0))
    });
    // The handler outlives the session for the errors of its end.
    let handler = match removed {
        Ok(object) => object.map_or(Handler::Fatal, |o| o.handler),
        Err(error) => return raise_global(NAME, error),
    };
    if let Err(error) = runtime::finish(runtime::Use::Other) {
        return hand_over(NAME, handler, handle, error);
    }
    // SAFETY: checked above.
    unsafe { *session = MPI_SESSION_NULL };
    MPI_SUCCESS
}

pub unsafe fn session_get_info(session: MPI_Session, info_used: *mut MPI_Info) -> c_int {
    on_session("MPI_Session_get_info", session, |w| {
        out("info_used", info_used)?;
        let copy = w.objects.session(session)?.info.clone();
        // SAFETY: checked above.
        unsafe { *info_used = info::add(copy)? };
        Ok(())
    })
}

pub unsafe fn session_get_num_psets(
    session: MPI_Session,
    _info: MPI_Info,
    npset_names: *mut c_int,
) -> c_int {
    on_session("MPI_Session_get_num_psets", session, |_| {
        out("npset_names", npset_names)?;
        // SAFETY: checked above.
        unsafe { *npset_names = SETS.len() as c_int };
        Ok(())
    })
}

pub unsafe fn session_get_nth_pset(
    session: MPI_Session,
    _info: MPI_Info,
    n: c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
) -> c_int {
    on_session("MPI_Session_get_nth_pset", session, |_| {
        out("pset_len", pset_len)?;
        let name = usize::try_from(n).ok().and_then(|n| SETS.get(n)).ok_or_else(|| {
            wrong(Class::Arg, format!("process set {n}; expected 0 to {}", SETS.len() - 1))
        })?;
        // SAFETY: checked above; the program vouches for `pset_len` bytes of the name.
        unsafe {
            let room = usize::try_from(*pset_len).unwrap_or(0);
            if room > 0 {
                out("pset_name", pset_name)?;
                let mut written = 0;
                put_string(name, pset_name, room, &mut written);
            }
            *pset_len = name.len() as c_int + 1;
        }
        Ok(())
    })
}

/// The group of a process set.
pub fn process_set(w: &World, name: &str) -> Result<Arc<Group>> {
    match SETS.iter().position(|s| s.eq_ignore_ascii_case(name)) {
        Some(0) => Ok(w.process.world().group().clone()),
        Some(_) => Ok(w.process.own().group().clone()),
        None => {
            let text = format!("process set {name:?}; expected one of {}", SETS.join(", "));
            Err(wrong(Class::Arg, text))
        }
    }
}

/// A string argument of the program.
///
/// # Safety
/// `text` is null or a string of C.
unsafe fn string(what: &str, text: *const c_char) -> Result<String> {
    out(what, text.cast_mut())?;
    // SAFETY: not null; the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

pub unsafe fn session_get_pset_info(
    session: MPI_Session,
    pset_name: *const c_char,
    info: *mut MPI_Info,
) -> c_int {
    on_session("MPI_Session_get_pset_info", session, |w| {
        out("info", info)?;
        // SAFETY: the caller's promise.
        let group = process_set(w, &unsafe { string("pset_name", pset_name)? })?;
        let mut found = Info::default();
        found.set("mpi_size", &group.size().to_string());
        // SAFETY: checked above.
        unsafe { *info = info::add(found)? };
        Ok(())
    })
}

/// `MPI_Group_from_session_pset` (section 11.3.3).
///
/// # Safety
/// As for all bodies.
pub unsafe fn group_from_session_pset(
    session: MPI_Session,
    pset_name: *const c_char,
    newgroup: *mut MPI_Group,
) -> c_int {
    on_session("MPI_Group_from_session_pset", session, |w| {
        out("newgroup", newgroup)?;
        // SAFETY: the caller's promise.
        let group = process_set(w, &unsafe { string("pset_name", pset_name)? })?;
        // Communicators of this group use the session's buffer.
        let group = group.from_session(session.0 as u64);
        // SAFETY: checked above.
        unsafe { *newgroup = w.objects.add_group(group)? };
        Ok(())
    })
}
