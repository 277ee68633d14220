//! Handles of operations that are not waited for. Where memory is mapped they are complete at once; else a handle says
//! whose flush completes them.

use crate::state::state;
use crate::types::{AGGREGATE, Handle, Name, SEVERAL};
use core::ffi::c_int;

/// When an operation must be complete on this side.
#[derive(Clone, Copy)]
pub enum When {
    Now,
    /// When the handle is waited for; without one, with all operations.
    Later(*mut Handle),
}

impl When {
    pub fn now(self) -> bool {
        matches!(self, When::Now)
    }
}

/// Notes in the handle that an operation with `process` has begun.
///
/// # Safety
/// The program's handle, or null.
#[inline]
pub unsafe fn note(when: When, process: usize, started: bool) {
    let When::Later(handle) = when else { return };
    // SAFETY: the caller's promise.
    let Some(handle) = (unsafe { handle.as_mut() }) else { return };
    let mine = process as c_int + 1;
    handle.target = match handle.target {
        before if !started && handle.aggregate == AGGREGATE => before,
        // An operation of before that nobody has waited for is waited for as well. Others did not set the handle up.
        before if started && before > 0 && before != mine => SEVERAL,
        SEVERAL if handle.aggregate == AGGREGATE => SEVERAL,
        _ if started => mine,
        _ => 0,
    };
}

pub unsafe fn init(_: Name, handle: *mut Handle) {
    // SAFETY: the program's handle.
    unsafe { handle.write(Handle { target: 0, aggregate: 0 }) }
}

/// From now on the handle stands for all operations that begin with it, until it is waited for.
pub unsafe fn set_aggregate(_: Name, handle: *mut Handle) {
    // SAFETY: the program's handle.
    unsafe { handle.write(Handle { target: 0, aggregate: AGGREGATE }) }
}

pub unsafe fn unset_aggregate(_: Name, handle: *mut Handle) {
    // SAFETY: the program's handle.
    unsafe { (*handle).aggregate = 0 }
}

pub unsafe fn wait(name: Name, handle: *mut Handle) -> c_int {
    let s = state(name);
    // SAFETY: the program's handle.
    let Some(handle) = (unsafe { handle.as_mut() }) else {
        hpvm_model::fail(name, "the handle is null")
    };
    match handle.target {
        0 => {}
        target if target > 0 && target as usize <= s.n => s.flush(name, target as usize - 1),
        _ => s.flush_all(name),
    }
    handle.target = 0;
    0
}

/// An operation that is under way is completed: 0, as if it had been by itself.
pub unsafe fn test(name: Name, handle: *mut Handle) -> c_int {
    // SAFETY: the program's handle.
    unsafe { wait(name, handle) }
}

pub unsafe fn wait_all(name: Name) -> c_int {
    state(name).flush_all(name);
    0
}

pub unsafe fn wait_process(name: Name, process: c_int) -> c_int {
    let s = state(name);
    s.flush(name, s.process(name, process));
    0
}
