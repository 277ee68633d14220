//! Memory that others access.

use super::group::{Group, group};
use crate::exposed::Exposed;
use crate::races;
use crate::state::{Region, State, held, state};
use crate::types::Name;
use core::ffi::{c_char, c_int, c_long, c_void};
use hpvm_abi::constants::{MPI_MAX, MPI_UINT64_T};
use hpvm_model::{done, fail, mpi};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Alignment of local memory: a cache line.
const LINE: usize = 64;

/// What `ARMCI_Malloc_local` has given.
static LOCAL: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn length(name: Name, bytes: c_long) -> usize {
    match usize::try_from(bytes) {
        Ok(len) => len,
        Err(_) => fail(name, &format!("{bytes} bytes; expected 0 or more")),
    }
}

/// The members are about to meet.
fn meet(s: &State, name: Name, group: &Group) {
    match core::ptr::eq(group, &*s.world) {
        true => races::all_meet(s, name),
        false => races::heard(s),
    }
}

/// # Safety
/// `pointers` has room for each member.
unsafe fn allocate(
    s: &State,
    name: Name,
    pointers: *mut *mut c_void,
    bytes: c_long,
    group: &Group,
) -> c_int {
    let len = length(name, bytes);
    group.member_of(name);
    if pointers.is_null() {
        fail(name, "the place for the pointers is null");
    }
    meet(s, name, group);
    let size = group.members.len();
    let Some(exposed) = Exposed::new(name, group.comm, size, len) else { return 1 };
    let mut spaces = s.spaces.write().unwrap_or_else(PoisonError::into_inner);
    for (i, (part, process)) in exposed.parts.iter().zip(group.members.all()).enumerate() {
        if let Some(there) = part.there {
            let region = Region { address: part.address, there };
            let memory = part.address..part.address.saturating_add(part.len);
            if !spaces.insert(*process as usize, memory, region) {
                fail(
                    name,
                    &format!("process {process} names {} bytes that it had named before", part.len),
                );
            }
        }
        let pointer = core::ptr::with_exposed_provenance_mut(part.address);
        // SAFETY: the caller's promise.
        unsafe { pointers.add(i).write(pointer) };
    }
    let mut memory = held(&group.memory);
    memory.made += 1;
    let number = memory.made;
    memory.live.push((number, exposed));
    0
}

pub unsafe fn malloc(name: Name, pointers: *mut *mut c_void, bytes: c_long) -> c_int {
    let s = state(name);
    // SAFETY: the program's promise.
    unsafe { allocate(s, name, pointers, bytes, &s.world) }
}

pub unsafe fn malloc_group(
    name: Name,
    pointers: *mut *mut c_void,
    bytes: c_long,
    of: *mut c_void,
) -> c_int {
    let s = state(name);
    // SAFETY: the program's promise.
    unsafe {
        let group = group(s, name, of);
        allocate(s, name, pointers, bytes, &group)
    }
}

/// Kinds of memory are hints, of which there is none here.
pub unsafe fn malloc_memdev(
    name: Name,
    pointers: *mut *mut c_void,
    bytes: c_long,
    _: *const c_char,
) -> c_int {
    // SAFETY: the program's promise.
    unsafe { malloc(name, pointers, bytes) }
}

pub unsafe fn malloc_group_memdev(
    name: Name,
    pointers: *mut *mut c_void,
    bytes: c_long,
    of: *mut c_void,
    _: *const c_char,
) -> c_int {
    // SAFETY: the program's promise.
    unsafe { malloc_group(name, pointers, bytes, of) }
}

/// The number of the allocation that begins at `memory`.
fn number_of(group: &Group, memory: *mut c_void) -> Option<u64> {
    let all = held(&group.memory);
    all.live.iter().find(|(_, exposed)| exposed.memory == memory).map(|(number, _)| *number)
}

/// All members call this, those that have none of the memory with null.
fn release(s: &State, name: Name, memory: *mut c_void, group: &Group) {
    group.member_of(name);
    s.flush_all(name);
    meet(s, name, group);
    let mine = if memory.is_null() { None } else { number_of(group, memory) };
    if mine.is_none() && !memory.is_null() {
        fail(name, &format!("no memory of ARMCI_Malloc begins at {memory:p} in this group"));
    }
    // The greatest number, and the least; who has none says nothing.
    let (mine, mut all) = (mine.map_or([0, 0], |number| [number, !number]), [0_u64; 2]);
    // SAFETY: two numbers of each. Nobody gets further before all have come.
    done(name, unsafe {
        let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
        (mpi().MPI_Allreduce)(from, to, 2, MPI_UINT64_T, MPI_MAX, group.comm)
    });
    if all == [0, 0] {
        return;
    }
    if all[0] != !all[1] {
        let (least, greatest) = (!all[1], all[0]);
        fail(
            name,
            &format!("processes free different memory: that of allocations {least} and {greatest}"),
        );
    }
    let mut live = held(&group.memory);
    let Some(at) = live.live.iter().position(|(number, _)| *number == all[0]) else { return };
    let (_, exposed) = live.live.remove(at);
    drop(live);
    let mut spaces = s.spaces.write().unwrap_or_else(PoisonError::into_inner);
    for (part, process) in exposed.parts.iter().zip(group.members.all()) {
        if part.there.is_some() {
            spaces.remove(*process as usize, part.address);
        }
    }
    drop(spaces);
    exposed.release(name);
}

pub unsafe fn free(name: Name, memory: *mut c_void) -> c_int {
    let s = state(name);
    let owns = |group: &&Arc<Group>| !memory.is_null() && number_of(group, memory).is_some();
    let groups = s.groups.handles();
    let mut groups = groups.iter().filter_map(|handle| s.groups.get(*handle));
    let group = groups.find(owns).cloned().unwrap_or_else(|| s.world.clone());
    release(s, name, memory, &group);
    0
}

pub unsafe fn free_group(name: Name, memory: *mut c_void, of: *mut c_void) -> c_int {
    let s = state(name);
    // SAFETY: the program's promise.
    let group = unsafe { group(s, name, of) };
    release(s, name, memory, &group);
    0
}

pub unsafe fn malloc_local(name: Name, bytes: c_long) -> *mut c_void {
    let len = length(name, bytes);
    let mut memory = core::ptr::null_mut();
    // SAFETY: a place for a pointer; the alignment is a power of two.
    if unsafe { libc::posix_memalign(&mut memory, LINE, len.max(1)) } != 0 {
        return core::ptr::null_mut();
    }
    held(&LOCAL).insert(memory.addr());
    memory
}

pub unsafe fn free_local(name: Name, memory: *mut c_void) -> c_int {
    if memory.is_null() {
        return 0;
    }
    if !held(&LOCAL).remove(&memory.addr()) {
        fail(name, &format!("no memory of ARMCI_Malloc_local begins at {memory:p}"));
    }
    // SAFETY: `malloc_local` returned it, once.
    unsafe { libc::free(memory) };
    0
}
