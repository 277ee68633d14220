//! The symmetric heap (section 9.3). All PEs call with the same sizes in the same order, so all get the same offsets;
//! each call ends when all PEs have their memory.

use super::coll;
use crate::place::HEAP_ALIGNMENT;
use crate::state::{State, state};
use crate::types::Name;
use core::ffi::{c_long, c_void};
use core::ptr::null_mut;
use hpvm_abi::constants::{MPI_INT64_T, MPI_MAX};
use hpvm_model::{done, fail, mpi, say};

/// Under `HPVM_CHECK`: all PEs call the same function with the same numbers.
fn compare(s: &State, name: Name, numbers: [usize; 2]) {
    if !s.checks {
        return;
    }
    s.world.calls.join(name);
    // SAFETY: names are C strings.
    let call = unsafe { core::ffi::CStr::from_ptr(name) }.to_bytes();
    let word =
        call.iter().fold(0, |sum: i64, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
    let mine = [word, numbers[0] as i64, numbers[1] as i64];
    // The largest of each number and of its negation: the same for all, or the two differ.
    let both: Vec<i64> = mine.iter().flat_map(|n| [*n, n.wrapping_neg()]).collect();
    let mut most = vec![0_i64; both.len()];
    // SAFETY: both have as many numbers.
    done(name, unsafe {
        let (from, to) = (both.as_ptr().cast(), most.as_mut_ptr().cast());
        (mpi().MPI_Allreduce)(from, to, both.len() as i32, MPI_INT64_T, MPI_MAX, s.world.comm)
    });
    if most != both {
        let text =
            format!("PE {} called with {numbers:?}, and not all other PEs did the same", s.me);
        fail(name, &text);
    }
}

/// An address in the heap.
fn at(s: &State, offset: usize) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(s.heap + offset)
}

/// The offset of an allocation that the program names.
fn offset(s: &State, name: Name, memory: *mut c_void) -> usize {
    let offset = memory.addr().wrapping_sub(s.heap);
    if s.heap().len_at(offset).is_none() {
        fail(name, &format!("no allocation begins at {memory:p} in the {}", s.regions[0].shown()));
    }
    offset
}

fn allocate(s: &State, name: Name, len: usize, alignment: usize) -> *mut c_void {
    compare(s, name, [len, alignment]);
    if len == 0 || alignment > HEAP_ALIGNMENT {
        return null_mut();
    }
    let mut heap = s.heap();
    let found = heap.allocate(len, alignment);
    if found.is_none() && s.debug && s.me == 0 {
        let (all, room) = heap.room();
        // SAFETY: names are C strings.
        let name = unsafe { core::ffi::CStr::from_ptr(name) }.to_string_lossy();
        say(&format!(
            "hpvm: {name}: {len} bytes are not to be had: the symmetric heap has {all} bytes, at most {room} of them free \
             in one run; SHMEM_SYMMETRIC_SIZE makes it larger"
        ));
    }
    drop(heap);
    found.map_or(null_mut(), |offset| at(s, offset))
}

/// Ends a call: all PEs have their memory.
fn together(s: &State, name: Name) {
    coll::complete_all(s, name);
}

pub unsafe fn malloc(name: Name, len: usize) -> *mut c_void {
    // SAFETY: nothing is asked. 1 aligns as for any type.
    unsafe { align(name, 1, len) }
}

pub unsafe fn malloc_with_hints(name: Name, len: usize, _: c_long) -> *mut c_void {
    // SAFETY: nothing is asked.
    unsafe { align(name, 1, len) }
}

pub unsafe fn align(name: Name, alignment: usize, len: usize) -> *mut c_void {
    let s = state(name);
    if !alignment.is_power_of_two() {
        fail(name, &format!("alignment {alignment}; expected a power of two"));
    }
    let memory = allocate(s, name, len, alignment);
    if len != 0 {
        together(s, name);
    }
    memory
}

pub unsafe fn calloc(name: Name, count: usize, size: usize) -> *mut c_void {
    let s = state(name);
    // More than any memory has is not to be had.
    let len = count.saturating_mul(size);
    let memory = allocate(s, name, len, 1);
    if !memory.is_null() {
        // SAFETY: as many bytes of the heap, which are nobody's yet.
        unsafe { memory.cast::<u8>().write_bytes(0, len) };
    }
    if len != 0 {
        together(s, name);
    }
    memory
}

pub unsafe fn free(name: Name, memory: *mut c_void) {
    let s = state(name);
    if memory.is_null() {
        return;
    }
    let offset = offset(s, name, memory);
    compare(s, name, [offset, 0]);
    // Nobody uses it any more.
    together(s, name);
    s.heap().free(offset);
}

pub unsafe fn realloc(name: Name, memory: *mut c_void, len: usize) -> *mut c_void {
    let s = state(name);
    if memory.is_null() {
        // SAFETY: nothing is asked.
        return unsafe { align(name, 1, len) };
    }
    if len == 0 {
        // SAFETY: nothing is asked.
        unsafe { free(name, memory) };
        return null_mut();
    }
    let old = offset(s, name, memory);
    compare(s, name, [old, len]);
    together(s, name);
    let before = s.heap().len_at(old).unwrap_or(0);
    let resized = s.heap().resize(old, len);
    let result = if resized {
        memory
    } else {
        let new = allocate(s, name, len, 1);
        if !new.is_null() {
            // SAFETY: two allocations of the heap with as many bytes.
            unsafe {
                core::ptr::copy_nonoverlapping(memory.cast::<u8>(), new.cast(), before.min(len))
            };
            s.heap().free(old);
        }
        new
    };
    together(s, name);
    result
}
