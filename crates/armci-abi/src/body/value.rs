//! Values in place of addresses, and flags.

use super::handle::{When, note};
use super::transfer::{Way, bytes};
use crate::state::state;
use crate::types::{Handle, Name};
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, Ordering};

pub unsafe fn put<T>(name: Name, value: T, dest: *mut c_void, process: c_int) -> c_int {
    let s = state(name);
    let process = s.process(name, process);
    let local = (&raw const value).cast_mut().cast();
    // SAFETY: a value of our own, which is not needed when this returns.
    unsafe { bytes(s, name, Way::Put, (local, dest.addr()), size_of::<T>(), process, true) };
    0
}

/// The value is on its way when this returns.
pub unsafe fn nb_put<T>(
    name: Name,
    value: T,
    dest: *mut c_void,
    process: c_int,
    handle: *mut Handle,
) -> c_int {
    // SAFETY: the program's promises.
    unsafe {
        put(name, value, dest, process);
        note(When::Later(handle), state(name).process(name, process), false);
    }
    0
}

pub unsafe fn get<T>(name: Name, source: *mut c_void, process: c_int) -> T {
    let s = state(name);
    let process = s.process(name, process);
    let mut value = MaybeUninit::<T>::uninit();
    let local = value.as_mut_ptr().cast();
    // SAFETY: a place of our own, which is written as a whole; all bits are values of C's numbers.
    unsafe {
        bytes(s, name, Way::Get, (local, source.addr()), size_of::<T>(), process, true);
        value.assume_init()
    }
}

/// Stores `value` behind whatever was put before.
///
/// # Safety
/// The program's promises.
pub unsafe fn raise_flag(name: Name, flag: *mut c_int, value: c_int, process: c_int) {
    let s = state(name);
    let number = s.process(name, process);
    let there = s.there(name, number, flag.addr(), size_of::<c_int>());
    if there.mapped.is_null() || !flag.is_aligned() {
        // What goes out in packets to one process stays in order.
        // SAFETY: the program's promises.
        unsafe { put(name, value, flag.cast(), process) };
        return;
    }
    s.flush(name, number);
    // Release pairs with whatever the program waits for the flag with.
    // SAFETY: mapped, and aligned.
    unsafe { (*there.mapped.cast::<AtomicI32>()).store(value, Ordering::Release) };
}
