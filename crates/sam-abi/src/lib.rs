//! `libsam.so.1`: shared objects in C (include/sam.h) over `libmpi_abi.so.1`, which holds the engine.
//!
//! What objects are and do is in hpvm-sam; here are the entry points, the begin and end of a program ([`program`]),
//! and the communicator by which messages travel ([`mpi`]). An error ends the program with a line that names function,
//! rank and object.
//!
//! The safety of every entry point is C's: pointers point to as many bytes as the call says.
#![allow(clippy::missing_safety_doc)]

mod mpi;
mod program;
mod types;

use core::ffi::{c_int, c_void};
use core::ptr::null;
use hpvm_sam::{Counters, Name};
use mpi::give;
use program::{HomeFunction, checked_for, end_with, node};
use std::rc::Rc;
use types::CType;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_set_home(home: Option<HomeFunction>) {
    program::set_home(home);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_init() {
    program::init();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_finish() {
    program::finish();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_rank() -> c_int {
    node("sam_rank").machine().rank() as c_int
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_ranks() -> c_int {
    node("sam_ranks").machine().ranks() as c_int
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_barrier() {
    program::barrier("sam_barrier");
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_poll() {
    checked_for("sam_poll", node("sam_poll").poll());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_wait() {
    checked_for("sam_wait", node("sam_wait").wait());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_set_cache(bytes: usize) {
    node("sam_set_cache").machine().set_cache(bytes);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_value_begin(name: Name, bytes: usize) -> *mut c_void {
    let function = "sam_value_begin";
    checked_for(function, node(function).value_begin(name, bytes)).cast()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_value_end(name: Name, uses: u64) {
    checked_for("sam_value_end", node("sam_value_end").value_end(name, uses));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_use(name: Name, bytes: *mut usize) -> *const c_void {
    let (at, len) = checked_for("sam_use", node("sam_use").use_begin(name));
    // SAFETY: the caller's promise.
    unsafe { give(bytes, len) };
    at.cast_const().cast()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_try_use(name: Name, bytes: *mut usize) -> *const c_void {
    let found = checked_for("sam_try_use", node("sam_try_use").use_try(name));
    let Some((at, len)) = found else { return null() };
    // SAFETY: the caller's promise.
    unsafe { give(bytes, len) };
    at.cast_const().cast()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_end_use(name: Name) {
    checked_for("sam_end_use", node("sam_end_use").use_end(name));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_prefetch(name: Name) {
    checked_for("sam_prefetch", node("sam_prefetch").prefetch(name));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_push(name: Name, rank: c_int) {
    let function = "sam_push";
    let node = node(function);
    let Ok(to) = u32::try_from(rank) else {
        end_with(function, &format!("push of value {name} to rank {rank}; expected 0 or more"))
    };
    checked_for(function, node.push(name, to));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_rename(old: Name, next: Name, bytes: *mut usize) -> *mut c_void {
    let (at, len) = checked_for("sam_rename", node("sam_rename").rename(old, next));
    // SAFETY: the caller's promise.
    unsafe { give(bytes, len) };
    at.cast()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_free(name: Name) {
    checked_for("sam_free", node("sam_free").free(name));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_accumulator_begin(name: Name, bytes: usize) -> *mut c_void {
    let function = "sam_accumulator_begin";
    checked_for(function, node(function).accumulator_begin(name, bytes)).cast()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_update(name: Name, bytes: *mut usize) -> *mut c_void {
    let (at, len) = checked_for("sam_update", node("sam_update").update_begin(name));
    // SAFETY: the caller's promise.
    unsafe { give(bytes, len) };
    at.cast()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_end_update(name: Name) {
    checked_for("sam_end_update", node("sam_end_update").update_end(name));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_end_update_to_value(name: Name, uses: u64) {
    let function = "sam_end_update_to_value";
    checked_for(function, node(function).update_end_to_value(name, uses));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_chaotic(
    name: Name,
    bytes: *mut usize,
    updates: *mut u64,
) -> *const c_void {
    let (at, len, seen) = checked_for("sam_chaotic", node("sam_chaotic").chaotic_begin(name));
    // SAFETY: the caller's promises.
    unsafe {
        give(bytes, len);
        give(updates, seen);
    }
    at.cast()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_end_chaotic(name: Name) {
    checked_for("sam_end_chaotic", node("sam_end_chaotic").chaotic_end(name));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_refresh(name: Name) {
    checked_for("sam_refresh", node("sam_refresh").refresh(name));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_task_add(task: *const c_void, bytes: usize) {
    let function = "sam_task_add";
    let node = node(function);
    let task = match (task.is_null(), bytes) {
        (_, 0) => &[],
        (true, _) => end_with(function, &format!("{bytes} bytes at NULL")),
        (_, bytes) if isize::try_from(bytes).is_err() => {
            end_with(function, &format!("there is no memory for a task of {bytes} bytes"))
        }
        // SAFETY: the caller's promise; no longer than any memory.
        (false, _) => unsafe { core::slice::from_raw_parts(task.cast::<u8>(), bytes) },
    };
    checked_for(function, node.task_add(task));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_task_next(task: *mut c_void, most: usize, bytes: *mut usize) -> c_int {
    let function = "sam_task_next";
    let Some(found) = checked_for(function, node(function).task_next()) else { return 0 };
    if found.len() > most || (task.is_null() && !found.is_empty()) {
        let text = format!("a task of {} bytes, and room for {most}", found.len());
        end_with(function, &text);
    }
    // SAFETY: the caller's promises.
    unsafe {
        core::ptr::copy_nonoverlapping(found.as_ptr(), task.cast(), found.len());
        give(bytes, found.len());
    }
    1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_task_ranks(ranks: c_int, series: u64) {
    let function = "sam_task_ranks";
    let node = node(function);
    let Ok(some) = u32::try_from(ranks) else {
        end_with(function, &format!("tasks of {ranks} ranks; expected 1 or more"))
    };
    checked_for(function, node.task_ranks(some, series));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_type_register(
    packed_bytes: Option<unsafe extern "C" fn(*const c_void) -> usize>,
    pack: Option<unsafe extern "C" fn(*const c_void, *mut c_void)>,
    unpack: Option<unsafe extern "C" fn(*const c_void, usize) -> *mut c_void>,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
) -> c_int {
    let function = "sam_type_register";
    let node = node(function);
    let (Some(length), Some(pack), Some(unpack), Some(release)) =
        (packed_bytes, pack, unpack, release)
    else {
        end_with(function, "a function is NULL; expected four")
    };
    let kind = Rc::new(CType { length, pack, unpack, release });
    checked_for(function, node.machine().register_type(kind)).into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_value_object(name: Name, kind: c_int, object: *mut c_void, uses: u64) {
    let function = "sam_value_object";
    let node = node(function);
    let number = u16::try_from(kind).unwrap_or(0);
    if object.is_null() {
        end_with(function, &format!("value {name}: the object is NULL"));
    }
    checked_for(function, node.value_object(name, number, object.expose_provenance(), uses));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sam_get_counters(counters: *mut Counters) {
    // SAFETY: the caller's promise.
    unsafe { give(counters, node("sam_get_counters").counters()) };
}
