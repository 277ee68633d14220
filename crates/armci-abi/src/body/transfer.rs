//! Put and get of bytes that lie together.

use super::handle::{When, note};
use crate::races::Access;
use crate::state::{State, There, state};
use crate::types::{Handle, Name};
use core::ffi::{c_int, c_void};
use hpvm_model::{copy, fail, onesided, present};

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Put,
    Get,
}

impl Way {
    /// What it does with the other process's memory.
    pub fn access(self) -> Access {
        match self {
            Way::Put => Access::Put,
            Way::Get => Access::Get,
        }
    }

    /// What the memory of this process is, in words.
    pub fn local(self) -> &'static str {
        match self {
            Way::Put => SOURCE,
            Way::Get => "destination",
        }
    }
}

/// What bytes come from, in words.
pub const SOURCE: &str = "source";

/// A number of bytes that the program gives.
#[inline(always)]
pub fn length(name: Name, bytes: c_int) -> usize {
    if bytes < 0 {
        negative(name, bytes);
    }
    bytes as usize
}

#[cold]
fn negative(name: Name, bytes: c_int) -> ! {
    fail(name, &format!("{bytes} bytes; expected 0 or more"))
}

/// Puts or gets `len` bytes. True: they need a flush.
///
/// # Safety
/// `local` is valid for `len` bytes, without `now` until the flush.
#[inline]
pub unsafe fn bytes(
    s: &State,
    name: Name,
    way: Way,
    (local, remote): (*mut u8, usize),
    len: usize,
    process: usize,
    now: bool,
) -> bool {
    if len == 0 {
        return false;
    }
    present(name, way.local(), local, len);
    s.accesses(process, remote, len, way.access());
    let there = s.there(name, process, remote, len);
    if there.mapped.is_null() {
        // SAFETY: the caller's promise.
        return unsafe { far(s, name, way, local, &there, len, process, now) };
    }
    // SAFETY: mapped for `len` bytes; the caller's promise.
    unsafe {
        match way {
            Way::Put => copy(local, there.mapped, len),
            Way::Get => copy(there.mapped, local, len),
        }
    }
    false
}

/// # Safety
/// As for `bytes`.
#[cold]
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "what `bytes` has, with what it found")]
unsafe fn far(
    s: &State,
    name: Name,
    way: Way,
    local: *mut u8,
    there: &There,
    len: usize,
    process: usize,
    now: bool,
) -> bool {
    let (target, offset, wait) = (there.target, there.offset, now.into());
    // SAFETY: attached; the caller's promise.
    let code = unsafe {
        match way {
            Way::Put => (onesided().put)(target, offset, local.cast(), len, wait),
            Way::Get => (onesided().get)(target, offset, local.cast(), len, wait),
        }
    };
    s.note(name, process, code)
}

/// # Safety
/// The program's promises.
#[inline(always)]
unsafe fn move_bytes(
    name: Name,
    way: Way,
    (source, dest): (*mut c_void, *mut c_void),
    len: c_int,
    process: c_int,
    when: When,
) -> c_int {
    let s = state(name);
    let (process, len) = (s.process(name, process), length(name, len));
    let (local, remote) = match way {
        Way::Put => (source, dest),
        Way::Get => (dest, source),
    };
    // SAFETY: the program's promises.
    unsafe {
        let started = bytes(s, name, way, (local.cast(), remote.addr()), len, process, when.now());
        note(when, process, started);
    }
    0
}

pub unsafe fn put(
    name: Name,
    source: *mut c_void,
    dest: *mut c_void,
    len: c_int,
    process: c_int,
) -> c_int {
    // SAFETY: the program's promises.
    unsafe { move_bytes(name, Way::Put, (source, dest), len, process, When::Now) }
}

pub unsafe fn get(
    name: Name,
    source: *mut c_void,
    dest: *mut c_void,
    len: c_int,
    process: c_int,
) -> c_int {
    // SAFETY: the program's promises.
    unsafe { move_bytes(name, Way::Get, (source, dest), len, process, When::Now) }
}

pub unsafe fn nb_put(
    name: Name,
    source: *mut c_void,
    dest: *mut c_void,
    len: c_int,
    process: c_int,
    handle: *mut Handle,
) -> c_int {
    // SAFETY: the program's promises.
    unsafe { move_bytes(name, Way::Put, (source, dest), len, process, When::Later(handle)) }
}

pub unsafe fn nb_get(
    name: Name,
    source: *mut c_void,
    dest: *mut c_void,
    len: c_int,
    process: c_int,
    handle: *mut Handle,
) -> c_int {
    // SAFETY: the program's promises.
    unsafe { move_bytes(name, Way::Get, (source, dest), len, process, When::Later(handle)) }
}

pub unsafe fn put_flag(
    name: Name,
    source: *mut c_void,
    dest: *mut c_void,
    len: c_int,
    flag: *mut c_int,
    value: c_int,
    process: c_int,
) -> c_int {
    // SAFETY: the program's promises.
    unsafe {
        put(name, source, dest, len, process);
        super::value::raise_flag(name, flag, value, process);
    }
    0
}

/// Copies inside of this process.
pub unsafe fn copy_local(name: Name, source: *mut c_void, dest: *mut c_void, len: c_int) {
    let len = length(name, len);
    present(name, SOURCE, source.cast(), len);
    present(name, "destination", dest.cast(), len);
    // SAFETY: the program's promises.
    unsafe { copy(source.cast(), dest.cast(), len) }
}
