//! Error handlers: made, attached, asked for and called (sections 9.3 and 9.5).

use super::{class_of, text_of};
use crate::body::check::{out, wrong};
use crate::body::rma::on_win;
use crate::body::session::on_session;
use crate::generated::constants::*;
use crate::object::errhandler::{self, Handler};
use crate::raise::{anywhere, fatal, on_comm, remember};
use crate::runtime::enter;
use core::ffi::c_int;
use hpvm_abi::extra::Holder;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::sync::{Mutex, PoisonError};

/// The handler of files that are not open: `MPI_ERRORS_RETURN` at first (section 14.7).
static FILES: Mutex<Handler> = Mutex::new(Handler::Return);

macro_rules! creates {
    ($(fn $create:ident $name:literal $kind:ident $function:ident;)*) => {$(
        pub unsafe fn $create(function: $function, errhandler: *mut MPI_Errhandler) -> c_int {
            anywhere($name, || {
                out("errhandler", errhandler)?;
                if function.is_none() {
                    return Err(wrong(Class::Arg, "the error handler function is null"));
                }
                // SAFETY: checked above.
                unsafe { *errhandler = errhandler::create(Handler::$kind(function))? };
                Ok(())
            })
        }
    )*};
}

creates! {
    fn comm_create_errhandler "MPI_Comm_create_errhandler" Comm MPI_Comm_errhandler_function;
    fn session_create_errhandler "MPI_Session_create_errhandler" Session
        MPI_Session_errhandler_function;
    fn win_create_errhandler "MPI_Win_create_errhandler" Window MPI_Win_errhandler_function;
    fn file_create_errhandler "MPI_File_create_errhandler" File MPI_File_errhandler_function;
}

pub unsafe fn errhandler_free(errhandler: *mut MPI_Errhandler) -> c_int {
    anywhere("MPI_Errhandler_free", || {
        out("errhandler", errhandler)?;
        // SAFETY: checked above.
        errhandler::remove(unsafe { *errhandler })?;
        // SAFETY: as above.
        unsafe { *errhandler = MPI_ERRHANDLER_NULL };
        Ok(())
    })
}

/// The handler of a handle, for one kind of object.
fn find(handle: MPI_Errhandler, holder: Holder, what: &str) -> Result<Handler> {
    match errhandler::find(handle)? {
        handler @ (Handler::Fatal | Handler::Abort | Handler::Return | Handler::Throw) => {
            Ok(handler)
        }
        handler if handler.is_for(holder) => Ok(handler),
        _ => {
            let text = format!("expected an error handler for a {what}, found one for others");
            Err(wrong(Class::Errhandler, text))
        }
    }
}

/// The handler that communicators may have, by handle.
pub fn find_for_comm(handle: MPI_Errhandler) -> Result<Handler> {
    find(handle, Holder::Comm, "communicator")
}

unsafe fn give(handler: Handler, place: *mut MPI_Errhandler) -> Result<()> {
    out("errhandler", place)?;
    // SAFETY: checked above.
    unsafe { *place = errhandler::add(handler)? };
    Ok(())
}

pub unsafe fn comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler) -> c_int {
    on_comm("MPI_Comm_set_errhandler", comm, |w| {
        let object = w.objects.comm(comm)?;
        object.extras().handler = find_for_comm(errhandler)?;
        Ok(())
    })
}

pub unsafe fn comm_get_errhandler(comm: MPI_Comm, errhandler: *mut MPI_Errhandler) -> c_int {
    on_comm("MPI_Comm_get_errhandler", comm, |w| {
        let handler = w.objects.comm(comm)?.extras().handler;
        // SAFETY: the caller's promise.
        unsafe { give(handler, errhandler) }
    })
}

pub unsafe fn session_set_errhandler(session: MPI_Session, errhandler: MPI_Errhandler) -> c_int {
    on_session("MPI_Session_set_errhandler", session, |w| {
        let handler = find(errhandler, Holder::Session, "session")?;
        w.objects.session_mut(session)?.handler = handler;
        Ok(())
    })
}

pub unsafe fn session_get_errhandler(
    session: MPI_Session,
    errhandler: *mut MPI_Errhandler,
) -> c_int {
    on_session("MPI_Session_get_errhandler", session, |w| {
        let handler = w.objects.session(session)?.handler;
        // SAFETY: the caller's promise.
        unsafe { give(handler, errhandler) }
    })
}

pub unsafe fn win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) -> c_int {
    on_win("MPI_Win_set_errhandler", win, |w| {
        let window = w.objects.window(win)?;
        window.extras.borrow_mut().handler = find(errhandler, Holder::Window, "window")?;
        Ok(())
    })
}

pub unsafe fn win_get_errhandler(win: MPI_Win, errhandler: *mut MPI_Errhandler) -> c_int {
    on_win("MPI_Win_get_errhandler", win, |w| {
        let handler = w.objects.window(win)?.extras.borrow().handler;
        // SAFETY: the caller's promise.
        unsafe { give(handler, errhandler) }
    })
}

/// The handler of a file, or of files that are not open.
fn with_file_handler<R>(file: MPI_File, f: impl FnOnce(&mut Handler) -> R) -> Result<R> {
    if file == MPI_FILE_NULL {
        return Ok(f(&mut FILES.lock().unwrap_or_else(PoisonError::into_inner)));
    }
    let object = enter()?.objects.file(file)?.clone();
    let mut state = object.state();
    Ok(f(&mut state.handler))
}

/// The handler that files get when they are opened.
pub fn default_file_handler() -> Handler {
    *FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub unsafe fn file_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) -> c_int {
    anywhere("MPI_File_set_errhandler", || {
        let handler = find(errhandler, Holder::File, "file")?;
        with_file_handler(file, |place| *place = handler)
    })
}

pub unsafe fn file_get_errhandler(file: MPI_File, errhandler: *mut MPI_Errhandler) -> c_int {
    anywhere("MPI_File_get_errhandler", || {
        let handler = with_file_handler(file, |place| *place)?;
        // SAFETY: the caller's promise.
        unsafe { give(handler, errhandler) }
    })
}

/// A code that a program may hand to an error handler.
fn check_code(code: c_int) -> Result<()> {
    match class_of(code) {
        Some(_) => Ok(()),
        None => Err(wrong(Class::Arg, format!("{code} is no error code"))),
    }
}

/// Ends the job because of a code that the program gave.
fn end(function: &str, object: &str, code: c_int) -> ! {
    let class = class_of(code).and_then(Class::from_code).unwrap_or(Class::Other);
    let text = format!("error code {code}: {}", text_of(code).unwrap_or_default());
    fatal(function, object, &Error::new(class, text))
}

pub unsafe fn comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) -> c_int {
    const NAME: &str = "MPI_Comm_call_errhandler";
    let mut found = None;
    let checked = on_comm(NAME, comm, |w| {
        let extras = w.objects.comm(comm)?.extras();
        check_code(errorcode)?;
        found = Some((extras.handler, extras.name.clone()));
        Ok(())
    });
    let Some((handler, name)) = found else { return checked };
    match handler {
        Handler::Return | Handler::Throw => {}
        Handler::Comm(Some(f)) => {
            let (mut handle, mut code) = (comm, errorcode);
            // SAFETY: the program's function for communicators, and places that live through it.
            unsafe { f(&mut handle, &mut code) };
        }
        // SAFETY: the program's function for communicators, and no guard is held.
        Handler::Foreign(f) => unsafe { f.run(comm.0, &mut errorcode.clone()) },
        _ => end(NAME, &name, errorcode),
    }
    MPI_SUCCESS
}

pub unsafe fn session_call_errhandler(session: MPI_Session, errorcode: c_int) -> c_int {
    const NAME: &str = "MPI_Session_call_errhandler";
    let mut found = None;
    let checked = on_session(NAME, session, |w| {
        let handler = w.objects.session(session)?.handler;
        check_code(errorcode)?;
        found = Some(handler);
        Ok(())
    });
    match found {
        None => return checked,
        Some(Handler::Return) => {}
        Some(Handler::Session(Some(f))) => {
            let (mut handle, mut code) = (session, errorcode);
            // SAFETY: the program's function for sessions, and places that live through it.
            unsafe { f(&mut handle, &mut code) };
        }
        // SAFETY: the program's function for sessions, and no guard is held.
        Some(Handler::Foreign(f)) => unsafe { f.run(session.0, &mut errorcode.clone()) },
        Some(_) => end(NAME, "a session", errorcode),
    }
    MPI_SUCCESS
}

/// Handler and name of a window.
fn of_window(win: MPI_Win) -> Result<(Handler, String)> {
    let w = enter()?;
    let window = w.objects.window(win)?;
    let name = window.shown();
    Ok((window.extras.borrow().handler, name))
}

pub unsafe fn win_call_errhandler(win: MPI_Win, errorcode: c_int) -> c_int {
    const NAME: &str = "MPI_Win_call_errhandler";
    let mut found = None;
    let checked = on_win(NAME, win, |w| {
        let window = w.objects.window(win)?;
        check_code(errorcode)?;
        found = Some((window.extras.borrow().handler, window.shown()));
        Ok(())
    });
    let Some((handler, name)) = found else { return checked };
    match handler {
        Handler::Return | Handler::Throw => {}
        Handler::Window(Some(f)) => {
            let (mut handle, mut code) = (win, errorcode);
            // SAFETY: the program's function for windows, and places that live through it.
            unsafe { f(&mut handle, &mut code) };
        }
        // SAFETY: the program's function for windows, and no guard is held.
        Handler::Foreign(f) => unsafe { f.run(win.0, &mut errorcode.clone()) },
        _ => end(NAME, &name, errorcode),
    }
    MPI_SUCCESS
}

/// An error of a function on a window; of a handle that means none, the handler of `MPI_COMM_SELF`. No guard may
/// be held.
#[cold]
pub fn raise_window(function: &'static str, win: MPI_Win, error: Error) -> c_int {
    let Ok((handler, name)) = of_window(win) else {
        return crate::raise::raise_global(function, error);
    };
    match handler {
        Handler::Return | Handler::Throw => remember(error),
        Handler::Window(Some(f)) => {
            let (mut handle, mut code) = (win, remember(error));
            // SAFETY: the program's function for windows, and places that live through it.
            unsafe { f(&mut handle, &mut code) };
            code
        }
        Handler::Foreign(f) => {
            let mut code = remember(error);
            // SAFETY: the program's function for windows, and no guard is held.
            unsafe { f.run(win.0, &mut code) };
            code
        }
        _ => fatal(function, &name, &error),
    }
}

/// An error of a function on a file; of a handle that means none, the handler of files that are not open
/// (section 14.7). No guard may be held.
pub fn raise_file(function: &'static str, file: MPI_File, error: Error) -> c_int {
    let handler =
        with_file_handler(file, |place| *place).unwrap_or_else(|_| default_file_handler());
    match handler {
        Handler::Return | Handler::Throw => remember(error),
        Handler::File(Some(f)) => {
            let (mut handle, mut code) = (file, remember(error));
            // SAFETY: the program's function for files, and places that live through it.
            unsafe { f(&mut handle, &mut code) };
            code
        }
        Handler::Foreign(f) => {
            let mut code = remember(error);
            // SAFETY: the program's function for files, and no guard is held.
            unsafe { f.run(file.0, &mut code) };
            code
        }
        _ => fatal(function, "a file", &error),
    }
}

pub unsafe fn file_call_errhandler(file: MPI_File, errorcode: c_int) -> c_int {
    const NAME: &str = "MPI_File_call_errhandler";
    let mut found = None;
    let checked = anywhere(NAME, || {
        found = Some(with_file_handler(file, |place| *place)?);
        check_code(errorcode)
    });
    let Some(handler) = found.filter(|_| checked == MPI_SUCCESS) else { return checked };
    match handler {
        Handler::Return | Handler::Throw => {}
        Handler::File(Some(f)) => {
            let (mut handle, mut code) = (file, errorcode);
            // SAFETY: the program's function for files, and places that live through it.
            unsafe { f(&mut handle, &mut code) };
        }
        // SAFETY: the program's function for files, and no guard is held.
        Handler::Foreign(f) => unsafe { f.run(file.0, &mut errorcode.clone()) },
        _ => end(NAME, "a file", errorcode),
    }
    MPI_SUCCESS
}
