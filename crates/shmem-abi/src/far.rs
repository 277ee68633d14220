//! Transfers that are no loads and stores: through the table of `libmpi_abi.so.1`. What is wrong with an address is said
//! here, too.

use crate::races::{self, Access};
use crate::state::State;
use crate::types::Name;
use core::ptr::null_mut;
use hpvm_abi::onesided::{Kind, Op, Run};
use hpvm_model::{fail, onesided};

/// Puts. With `wait` the bytes at `source` are no longer needed when it returns.
///
/// # Safety
/// `source` is readable for `len` bytes; without `wait` until they have been flushed.
#[cold]
#[inline(never)]
pub unsafe fn put(
    s: &State,
    name: Name,
    dest: usize,
    source: *const u8,
    len: usize,
    pe: usize,
    wait: bool,
) {
    if len == 0 {
        return;
    }
    let (region, offset) = s.symmetric(name, dest, len);
    races::note(s, name, (region, offset), len, pe, Access::Put);
    let target = region.there[pe].target;
    // SAFETY: attached; the caller's promise.
    let code = unsafe { (onesided().put)(target, offset as u64, source.cast(), len, wait.into()) };
    s.note(name, code);
}

/// Gets. With `wait` the bytes are there when it returns.
///
/// # Safety
/// `dest` is writable for `len` bytes; without `wait` until they have been flushed.
#[cold]
#[inline(never)]
pub unsafe fn get(
    s: &State,
    name: Name,
    dest: *mut u8,
    source: usize,
    len: usize,
    pe: usize,
    wait: bool,
) {
    if len == 0 {
        return;
    }
    let (region, offset) = s.symmetric(name, source, len);
    let access = if wait { Access::Get } else { Access::GetNbi };
    races::note(s, name, (region, offset), len, pe, access);
    let target = region.there[pe].target;
    // SAFETY: attached; the caller's promise.
    let code = unsafe { (onesided().get)(target, offset as u64, dest.cast(), len, wait.into()) };
    s.note(name, code);
}

/// Puts or gets runs, whose offsets are symmetric addresses between `low` and `low + span`.
///
/// # Safety
/// The local memory of each is valid.
pub unsafe fn runs(
    s: &State,
    name: Name,
    (low, span): (usize, usize),
    runs: &mut [Run],
    pe: usize,
    puts: bool,
) {
    let (region, _) = s.symmetric(name, low, span);
    let access = if puts { Access::Put } else { Access::Get };
    for run in &mut *runs {
        run.offset -= region.base as u64;
        races::note(s, name, (region, run.offset as usize), run.len, pe, access);
    }
    let target = region.there[pe].target;
    let call = if puts { onesided().put_runs } else { onesided().get_runs };
    // SAFETY: attached; the caller's promise.
    s.note(name, unsafe { call(target, runs.as_ptr(), runs.len()) });
}

/// The element of an atomic operation: target and offset.
fn element(
    s: &State,
    name: Name,
    at: usize,
    size: usize,
    pe: usize,
    access: Access,
) -> (hpvm_abi::onesided::Target, u64) {
    if !at.is_multiple_of(size) {
        fail(
            name,
            &format!("the atomic variable at {at:#x} is misaligned; expected a multiple of {size}"),
        );
    }
    let (region, offset) = s.symmetric(name, at, size);
    races::note(s, name, (region, offset), size, pe, access);
    races::heard(s);
    (region.there[pe].target, offset as u64)
}

/// Updates one element of up to 8 bytes; its bits before.
#[cold]
#[inline(never)]
pub fn update(
    s: &State,
    name: Name,
    at: usize,
    how: (Kind, Op, usize),
    operand: u64,
    pe: usize,
) -> u64 {
    let (kind, op, size) = how;
    let access = if op == Op::Read { Access::AtomicFetch } else { Access::Atomic };
    let (target, offset) = element(s, name, at, size, pe, access);
    let mut before = 0_u64;
    let operand = (&raw const operand).cast();
    let fetch = (&raw mut before).cast();
    // SAFETY: attached; operand and result are of 8 bytes, the lower half first, and live through the call, which waits.
    let code = unsafe { (onesided().accumulate)(target, offset, kind, op, operand, 1, fetch, 1) };
    s.note(name, code);
    before
}

/// Updates one element of up to 8 bytes, of which nobody wants to know what it was (0 is returned). A quiet completes it.
#[cold]
#[inline(never)]
pub fn change(
    s: &State,
    name: Name,
    at: usize,
    how: (Kind, Op, usize),
    operand: u64,
    pe: usize,
) -> u64 {
    let (kind, op, size) = how;
    let (target, offset) = element(s, name, at, size, pe, Access::Atomic);
    let operand = (&raw const operand).cast();
    let call = onesided().accumulate;
    // SAFETY: attached; the operand, of 8 bytes, the lower half first, is not needed any more when the call returns.
    let code = unsafe { call(target, offset, kind, op, operand, 1, null_mut(), 1) };
    s.note(name, code);
    0
}

/// Compares and swaps one element of up to 8 bytes; its bits before.
#[cold]
#[inline(never)]
pub fn compare_swap(
    s: &State,
    name: Name,
    at: usize,
    (kind, size): (Kind, usize),
    (compare, swap): (u64, u64),
    pe: usize,
) -> u64 {
    let (target, offset) = element(s, name, at, size, pe, Access::Atomic);
    let mut before = 0_u64;
    let (compare, swap) = ((&raw const compare).cast(), (&raw const swap).cast());
    let result = (&raw mut before).cast();
    // SAFETY: as in `update`.
    let code =
        unsafe { (onesided().compare_and_swap)(target, offset, kind, compare, swap, result, 1) };
    s.note(name, code);
    before
}
