//! The tool information interface (MPI 5.0, section 15.3): the library's settings as control
//! variables, its counters as performance variables. There are no events.
//!
//! The functions return error codes and never call an error handler. They may be used before
//! `MPI_Init` and after `MPI_Finalize`; variables of the engine then read as not accessible, and
//! counters stand still at 0.

mod category;
mod cvar;
mod enumeration;
mod event;
mod pvar;

pub use category::*;
pub use cvar::*;
pub use enumeration::*;
pub use event::*;
pub use pvar::*;

use crate::body::env::put_string;
use crate::generated::constants::*;
use crate::object::table::{Kind, Table};
use crate::runtime;
use core::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, PoisonError};

/// Everything that the interface keeps between `MPI_T_init_thread` and `MPI_T_finalize`.
struct State {
    /// Calls of `MPI_T_init_thread` that have not been matched by one of `MPI_T_finalize`.
    uses: u32,
    /// Control variable by handle.
    controls: Table<usize>,
    sessions: Table<()>,
    handles: Table<pvar::Handle>,
}

static STATE: Mutex<State> = Mutex::new(State {
    uses: 0,
    controls: Table::new(Kind::Control),
    sessions: Table::new(Kind::PerformanceSession),
    handles: Table::new(Kind::Performance),
});

/// The result of a body: the error is a code of this interface.
type Answer<T = ()> = Result<T, c_int>;

/// Runs a body that needs the interface to be initialised.
fn call(body: impl FnOnce(&mut State) -> Answer) -> c_int {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if state.uses == 0 {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    body(&mut state).err().unwrap_or(MPI_SUCCESS)
}

pub unsafe fn init_thread(required: c_int, provided: *mut c_int) -> c_int {
    if provided.is_null() || !runtime::THREAD_LEVELS.contains(&required) {
        return MPI_T_ERR_INVALID;
    }
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    state.uses += 1;
    if !runtime::is_running() {
        // A tool's threads that read counters need the engine's lock. Later it is too late.
        runtime::raise_thread_level(required);
    }
    // SAFETY: checked above.
    unsafe { *provided = runtime::thread_level() };
    MPI_SUCCESS
}

pub unsafe fn finalize() -> c_int {
    call(|state| {
        state.uses -= 1;
        if state.uses == 0 {
            state.controls = Table::new(Kind::Control);
            state.sessions = Table::new(Kind::PerformanceSession);
            state.handles = Table::new(Kind::Performance);
        }
        Ok(())
    })
}

/// Stores an output argument; a null place means that the caller does not want it.
unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: not null, and the caller vouches for it.
        unsafe { *place = value };
    }
}

/// Stores an output argument that must be there.
unsafe fn must<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(MPI_T_ERR_INVALID);
    }
    // SAFETY: not null, and the caller vouches for it.
    unsafe { *place = value };
    Ok(())
}

/// Stores a string as section 15.3.3 says: cut to the room that `len` tells, which becomes the
/// room that the whole string needs.
unsafe fn put_text(text: &str, place: *mut c_char, len: *mut c_int) {
    if len.is_null() {
        return;
    }
    // SAFETY: the caller vouches for `len`, and for that many bytes at `place`.
    unsafe {
        let room = usize::try_from(*len).unwrap_or(0);
        if !place.is_null() && room > 0 {
            let mut written = 0;
            put_string(text, place, room, &mut written);
        }
        *len = text.len() as c_int + 1;
    }
}

/// The entry of a table that an index means.
fn at<T>(table: &[T], index: c_int) -> Answer<&T> {
    usize::try_from(index).ok().and_then(|i| table.get(i)).ok_or(MPI_T_ERR_INVALID_INDEX)
}

/// The place in a table of the entry with a name.
unsafe fn find<T>(table: &[T], name: *const c_char, of: impl Fn(&T) -> &str) -> Answer<usize> {
    if name.is_null() {
        return Err(MPI_T_ERR_INVALID);
    }
    // SAFETY: the caller gave a string of C.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    table.iter().position(|t| of(t).as_bytes() == name).ok_or(MPI_T_ERR_INVALID_NAME)
}
