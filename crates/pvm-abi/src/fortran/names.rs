//! Tasks and hosts by their names.

use super::{Length, number, set, text};
use crate::entry::hostfile::pvm_start_pvmd;
use crate::entry::machine::{pvm_addhosts, pvm_delhosts, pvm_hostsync};
use crate::entry::task::{pvm_catchout, pvm_notify, pvm_spawn};
use core::ffi::{CStr, c_char, c_int};
use std::ffi::CString;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfspawn_(
    program: *const c_char,
    flags: *const c_int,
    place: *const c_char,
    count: *const c_int,
    tids: *mut c_int,
    started: *mut c_int,
    program_length: Length,
    place_length: Length,
) {
    // SAFETY: the caller's variables; a star is any host.
    unsafe {
        let (program, place) = (text(program, program_length), text(place, place_length));
        let place: &CStr = if place.to_bytes().starts_with(b"*") { c"" } else { &place };
        let (flags, count) = (number(flags), number(count));
        let done =
            pvm_spawn(program.as_ptr(), std::ptr::null(), flags, place.as_ptr(), count, tids);
        set(started, done);
    }
}

/// What a call that works on hosts says of one: its own code, or that of the whole call.
unsafe fn of_host(
    host: *const c_char,
    length: Length,
    call: unsafe extern "C" fn(*const *const c_char, c_int, *mut c_int) -> c_int,
) -> c_int {
    // SAFETY: the caller's variables.
    let name = unsafe { text(host, length) };
    let (names, mut code) = ([name.as_ptr()], 0);
    // SAFETY: one name, and room for one code.
    let done = unsafe { call(names.as_ptr(), 1, &raw mut code) };
    if done < 0 { done } else { code }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfaddhost_(host: *const c_char, info: *mut c_int, length: Length) {
    // SAFETY: the caller's variables.
    unsafe { set(info, of_host(host, length, pvm_addhosts)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfdelhost_(host: *const c_char, info: *mut c_int, length: Length) {
    // SAFETY: the caller's variables.
    unsafe { set(info, of_host(host, length, pvm_delhosts)) };
}

/// The arguments are words with blanks between them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfstartpvmd_(
    arguments: *const c_char,
    block: *const c_int,
    info: *mut c_int,
    length: Length,
) {
    // SAFETY: the caller's variables.
    let line = unsafe { text(arguments, length) };
    let words = line.to_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let words: Vec<_> = words.filter_map(|word| CString::new(word).ok()).collect();
    let pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    // SAFETY: the caller's variables, and strings that live until the call is done.
    unsafe {
        set(info, pvm_start_pvmd(pointers.len() as c_int, pointers.as_ptr(), number(block)));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfhostsync_(
    host: *const c_int,
    seconds: *mut c_int,
    micros: *mut c_int,
    delta_seconds: *mut c_int,
    delta_micros: *mut c_int,
    info: *mut c_int,
) {
    let none = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let (mut clock, mut delta) = (none, none);
    // SAFETY: the caller's variables, and structures of ours.
    unsafe {
        set(info, pvm_hostsync(number(host), &raw mut clock, &raw mut delta));
        set(seconds, clock.tv_sec as c_int);
        set(micros, clock.tv_usec as c_int);
        set(delta_seconds, delta.tv_sec as c_int);
        set(delta_micros, delta.tv_usec as c_int);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfnotify_(
    what: *const c_int,
    tag: *const c_int,
    count: *const c_int,
    tids: *const c_int,
    info: *mut c_int,
) {
    // SAFETY: the caller's variables.
    unsafe { set(info, pvm_notify(number(what), number(tag), number(count), tids)) };
}

/// Output of children goes to standard output, or no longer to anybody.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfcatchout_(on: *const c_int, info: *mut c_int) {
    // SAFETY: the caller's variables; the C library's stream.
    unsafe {
        let file = if number(on) != 0 { crate::catchout::stdout } else { std::ptr::null_mut() };
        set(info, pvm_catchout(file));
    }
}
