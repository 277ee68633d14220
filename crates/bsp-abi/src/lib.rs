//! `libbsp.so.1`: BSPlib's C functions (Hill et al., 1998) over `libmpi_abi.so.1`, which holds the engine.
//!
//! What a superstep is and does is in hpvm-bsp; here are the entry points, the begin and end of a program
//! ([`program`]) and the communicator by which it exchanges ([`mpi`]). An error ends the program with a line that names
//! function, process and superstep.
//!
//! The safety of every entry point is C's: pointers point to as many bytes as the call says, for as long as BSPlib
//! says.
#![allow(clippy::missing_safety_doc)]

mod abort;
mod again;
mod mapped;
mod mpi;
mod places;
mod program;
mod shown;

use core::ffi::{c_char, c_double, c_int, c_void};
use hpvm_bsp::Fault;
use program::{end_with, fail, running};

#[inline]
fn checked<T>(function: &str, result: Result<T, Fault>) -> T {
    match result {
        Ok(value) => value,
        Err(fault) => fail(function, &fault),
    }
}

/// A size as C's `int`.
fn int(function: &str, what: &str, size: usize) -> c_int {
    c_int::try_from(size)
        .unwrap_or_else(|_| end_with(function, &format!("{what}: {size} do not fit into an int")))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_init(
    spmd: Option<unsafe extern "C" fn()>,
    _argc: c_int,
    _argv: *mut *mut c_char,
) {
    program::init(spmd);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_begin(maxprocs: c_int) {
    program::begin(maxprocs);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_end() {
    program::end();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_nprocs() -> c_int {
    int("bsp_nprocs", "processes", program::processes())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_pid() -> c_int {
    running("bsp_pid").process.pid() as c_int
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_time() -> c_double {
    program::time()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_sync() {
    let running = running("bsp_sync");
    let tag = running.process.sent_tag_size();
    checked("bsp_sync", running.process.sync(&mut running.carrier, false));
    if running.process.sent_tag_size() != tag {
        again::open(&mut running.process);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_push_reg(ident: *const c_void, size: c_int) {
    checked(
        "bsp_push_reg",
        running("bsp_push_reg").process.push_reg(ident.cast_mut().cast(), size),
    );
}

/// The name of `bsp_push_reg` before 1998.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_pushregister(ident: *const c_void, size: c_int) {
    // SAFETY: the caller's promises.
    unsafe { bsp_push_reg(ident, size) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_pop_reg(ident: *const c_void) {
    checked("bsp_pop_reg", running("bsp_pop_reg").process.pop_reg(ident.cast_mut().cast()));
}

/// The name of `bsp_pop_reg` before 1998.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_popregister(ident: *const c_void) {
    // SAFETY: the caller's promises.
    unsafe { bsp_pop_reg(ident) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_put(
    pid: c_int,
    src: *const c_void,
    dst: *mut c_void,
    offset: c_int,
    nbytes: c_int,
) {
    let process = &mut running("bsp_put").process;
    // SAFETY: the caller's promises.
    unsafe {
        if !process.put_again(pid, src.cast(), dst.cast(), offset, nbytes) {
            put(pid, src, dst, offset, nbytes);
        }
    }
}

/// A put that is not like the last one. This one and its kin take their arguments as the functions do that call them: those
/// then keep nothing.
#[cold]
#[inline(never)]
unsafe extern "C" fn put(
    pid: c_int,
    src: *const c_void,
    dst: *mut c_void,
    offset: c_int,
    nbytes: c_int,
) {
    let process = &mut running("bsp_put").process;
    // SAFETY: the caller's promises.
    checked("bsp_put", unsafe { process.put(pid, src.cast(), dst.cast(), offset, nbytes, true) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_hpput(
    pid: c_int,
    src: *const c_void,
    dst: *mut c_void,
    offset: c_int,
    nbytes: c_int,
) {
    let process = &mut running("bsp_hpput").process;
    // SAFETY: the caller's promises.
    unsafe {
        if !process.hpput_again(pid, src.cast(), dst.cast(), offset, nbytes) {
            hpput(pid, src, dst, offset, nbytes);
        }
    }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn hpput(
    pid: c_int,
    src: *const c_void,
    dst: *mut c_void,
    offset: c_int,
    nbytes: c_int,
) {
    let process = &mut running("bsp_hpput").process;
    // SAFETY: the caller's promises.
    checked("bsp_hpput", unsafe {
        process.put(pid, src.cast(), dst.cast(), offset, nbytes, false)
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_get(
    pid: c_int,
    src: *const c_void,
    offset: c_int,
    dst: *mut c_void,
    nbytes: c_int,
) {
    let process = &mut running("bsp_get").process;
    if !process.get_again(pid, src.cast(), offset, dst.cast(), nbytes) {
        get(pid, src, offset, dst, nbytes);
    }
}

#[cold]
#[inline(never)]
extern "C" fn get(pid: c_int, src: *const c_void, offset: c_int, dst: *mut c_void, nbytes: c_int) {
    let process = &mut running("bsp_get").process;
    checked("bsp_get", process.get(pid, src.cast(), offset, dst.cast(), nbytes, true));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_hpget(
    pid: c_int,
    src: *const c_void,
    offset: c_int,
    dst: *mut c_void,
    nbytes: c_int,
) {
    let process = &mut running("bsp_hpget").process;
    if process.checks() || !process.get_again(pid, src.cast(), offset, dst.cast(), nbytes) {
        hpget(pid, src, offset, dst, nbytes);
    }
}

#[cold]
#[inline(never)]
extern "C" fn hpget(
    pid: c_int,
    src: *const c_void,
    offset: c_int,
    dst: *mut c_void,
    nbytes: c_int,
) {
    let process = &mut running("bsp_hpget").process;
    checked("bsp_hpget", process.get(pid, src.cast(), offset, dst.cast(), nbytes, false));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_set_tagsize(tag_nbytes: *mut c_int) {
    let process = &mut running("bsp_set_tagsize").process;
    if tag_nbytes.is_null() {
        end_with("bsp_set_tagsize", "the argument is NULL; expected the address of the new size");
    }
    // SAFETY: not null, so the caller's int.
    unsafe { *tag_nbytes = checked("bsp_set_tagsize", process.set_tagsize(*tag_nbytes)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_send(
    pid: c_int,
    tag: *const c_void,
    payload: *const c_void,
    payload_nbytes: c_int,
) {
    let process = &mut running("bsp_send").process;
    // SAFETY: the caller's promises.
    unsafe {
        if !process.send_again(pid, tag.cast(), payload.cast(), payload_nbytes) {
            send(pid, tag, payload, payload_nbytes);
        }
    }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn send(
    pid: c_int,
    tag: *const c_void,
    payload: *const c_void,
    payload_nbytes: c_int,
) {
    let process = &mut running("bsp_send").process;
    // SAFETY: the caller's promises.
    checked("bsp_send", unsafe { process.send(pid, tag.cast(), payload.cast(), payload_nbytes) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_qsize(nmessages: *mut c_int, accum_nbytes: *mut c_int) {
    let (messages, payload) = running("bsp_qsize").process.qsize();
    if nmessages.is_null() {
        end_with("bsp_qsize", "the number of messages is NULL; expected the address of an int");
    }
    // SAFETY: not null, so the caller's int.
    unsafe { *nmessages = int("bsp_qsize", "messages", messages) };
    if !accum_nbytes.is_null() {
        // SAFETY: as above.
        unsafe { *accum_nbytes = int("bsp_qsize", "bytes of payloads", payload) };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_get_tag(status: *mut c_int, tag: *mut c_void) {
    let process = &mut running("bsp_get_tag").process;
    if status.is_null() {
        end_with("bsp_get_tag", "the status is NULL; expected the address of an int");
    }
    // SAFETY: the caller's promises.
    let len = checked("bsp_get_tag", unsafe { process.get_tag(tag.cast()) });
    // SAFETY: not null, so the caller's int. Lengths were ints of the sender.
    unsafe { *status = len.map_or(-1, |len| len as c_int) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_move(payload: *mut c_void, reception_nbytes: c_int) {
    let process = &mut running("bsp_move").process;
    // SAFETY: the caller's promises.
    checked("bsp_move", unsafe { process.take(payload.cast(), reception_nbytes) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_hpmove(
    tag_ptr: *mut *mut c_void,
    payload_ptr: *mut *mut c_void,
) -> c_int {
    let process = &mut running("bsp_hpmove").process;
    if tag_ptr.is_null() || payload_ptr.is_null() {
        end_with("bsp_hpmove", "an argument is NULL; expected the addresses of two pointers");
    }
    let Some((tag, payload, len)) = process.hpmove_again() else {
        // SAFETY: the caller's promises.
        return unsafe { hpmove(tag_ptr, payload_ptr) };
    };
    // SAFETY: not null, so the caller's pointers.
    unsafe {
        *tag_ptr = tag.cast_mut().cast();
        *payload_ptr = payload.cast_mut().cast();
    }
    len as c_int
}

/// The first message of a record, or none.
#[cold]
#[inline(never)]
unsafe extern "C" fn hpmove(tag_ptr: *mut *mut c_void, payload_ptr: *mut *mut c_void) -> c_int {
    let Some((tag, payload, len)) = running("bsp_hpmove").process.hpmove() else { return -1 };
    // SAFETY: not null (`bsp_hpmove`), so the caller's pointers.
    unsafe {
        *tag_ptr = tag.cast_mut().cast();
        *payload_ptr = payload.cast_mut().cast();
    }
    len as c_int
}
