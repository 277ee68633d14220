//! Questions (sections 9.1 and 9.2).

use crate::state::{State, current, state};
use crate::types::{DEFAULT, Name, Team};
use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;
use hpvm_model::fail;

/// `SHMEM_VENDOR_STRING`, and the version that it says.
const VENDOR: &[u8] = b"hpvm\0";
const VERSION: (c_int, c_int) = (1, 6);

pub unsafe fn my_pe(name: Name) -> c_int {
    state(name).me as c_int
}

pub unsafe fn n_pes(name: Name) -> c_int {
    state(name).n_pes as c_int
}

pub unsafe fn initialized(_: Name, initialized: *mut c_int) {
    // SAFETY: the program's place for a number.
    unsafe { *initialized = current().is_some().into() };
}

pub unsafe fn query_thread(name: Name, provided: *mut c_int) {
    // SAFETY: as above.
    unsafe { *provided = state(name).level };
}

pub unsafe fn pe_accessible(name: Name, pe: c_int) -> c_int {
    let s = state(name);
    usize::try_from(pe).is_ok_and(|pe| pe < s.n_pes).into()
}

pub unsafe fn addr_accessible(name: Name, address: *const c_void, pe: c_int) -> c_int {
    let s = state(name);
    let known = usize::try_from(pe).is_ok_and(|pe| pe < s.n_pes);
    (known && s.find(address.addr(), 1).is_some()).into()
}

/// Where a symmetric address of a PE lies in this process.
fn local(s: &State, address: usize, pe: usize) -> *mut c_void {
    let Some((region, offset)) = s.find(address, 1) else { return null_mut() };
    let base = region.there[pe].base;
    if base.is_null() { null_mut() } else { base.wrapping_byte_add(offset) }
}

pub unsafe fn ptr(name: Name, dest: *const c_void, pe: c_int) -> *mut c_void {
    let s = state(name);
    local(s, dest.addr(), s.pe(name, DEFAULT, pe))
}

pub unsafe fn team_ptr(name: Name, team: Team, dest: *const c_void, pe: c_int) -> *mut c_void {
    let s = state(name);
    let Some(team) = super::team::checked(s, name, team) else { return null_mut() };
    match usize::try_from(pe).ok().and_then(|pe| team.members.get(pe)) {
        Some(pe) => local(s, dest.addr(), *pe as usize),
        None => fail(name, &format!("PE {pe}; expected 0 to {}", team.size() - 1)),
    }
}

pub unsafe fn info_get_version(_: Name, major: *mut c_int, minor: *mut c_int) {
    // SAFETY: the program's places for numbers.
    unsafe { (*major, *minor) = VERSION };
}

pub unsafe fn info_get_name(_: Name, name: *mut c_char) {
    // SAFETY: the program's place for `SHMEM_MAX_NAME_LEN` characters.
    unsafe { core::ptr::copy_nonoverlapping(VENDOR.as_ptr().cast(), name, VENDOR.len()) };
}

/// For profiling libraries, which put something in its place.
pub unsafe fn pcontrol(_: Name, _: c_int) {}
