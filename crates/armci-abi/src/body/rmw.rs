//! Read-modify-write.

use crate::races::{self, Access};
use crate::state::{There, state};
use crate::types::{FETCH_AND_ADD, FETCH_AND_ADD_LONG, Name, SWAP, SWAP_LONG};
use core::ffi::{c_int, c_void};
use hpvm_abi::onesided::{Kind, Op};
use hpvm_model::{fail, onesided, present};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Updates one number by the table; its bits before.
#[cold]
#[inline(never)]
pub fn update_far(
    name: Name,
    there: &There,
    kind: Kind,
    op: Op,
    operand: u64,
    process: usize,
) -> u64 {
    let mut before = 0_u64;
    let (operand, fetch) = ((&raw const operand).cast(), (&raw mut before).cast());
    let call = onesided().accumulate;
    // SAFETY: attached; operand and result are of 8 bytes, the lower half first, and live through the call, which waits.
    let code = unsafe { call(there.target, there.offset, kind, op, operand, 1, fetch, 1) };
    state(name).note(name, process, code);
    before
}

/// Updates one number of 4 or 8 bytes; its bits before.
#[inline]
fn update(name: Name, remote: usize, long: bool, op: Op, operand: u64, process: usize) -> u64 {
    let size = if long { 8 } else { 4 };
    if !remote.is_multiple_of(size) {
        fail(
            name,
            &format!("the variable at {remote:#x} is misaligned; expected a multiple of {size}"),
        );
    }
    let s = state(name);
    s.accesses(process, remote, size, Access::Update);
    races::heard(s);
    let there = s.shared(name, process, remote, size);
    if there.mapped.is_null() || there.locked {
        let kind = if long { Kind::I64 } else { Kind::I32 };
        return update_far(name, &there, kind, op, operand, process);
    }
    let at = there.mapped;
    // AcqRel: what came before an update is seen by who finds it, as programs with counters expect.
    let both = Ordering::AcqRel;
    // SAFETY: mapped, and aligned in its owner, whose memory begins at a page here and there.
    unsafe {
        match (op, long) {
            (Op::Sum, true) => (*at.cast::<AtomicU64>()).fetch_add(operand, both),
            (Op::Sum, false) => (*at.cast::<AtomicU32>()).fetch_add(operand as u32, both).into(),
            (_, true) => (*at.cast::<AtomicU64>()).swap(operand, both),
            (_, false) => (*at.cast::<AtomicU32>()).swap(operand as u32, both).into(),
        }
    }
}

pub unsafe fn rmw(
    name: Name,
    op: c_int,
    local: *mut c_void,
    remote: *mut c_void,
    value: c_int,
    process: c_int,
) -> c_int {
    let process = state(name).process(name, process);
    let long = match op {
        FETCH_AND_ADD | SWAP => false,
        FETCH_AND_ADD_LONG | SWAP_LONG => true,
        _ => fail(
            name,
            &format!("operation {op}; expected ARMCI_FETCH_AND_ADD (0) to ARMCI_SWAP_LONG (3)"),
        ),
    };
    present(name, "local variable", local.cast(), if long { 8 } else { 4 });
    let swaps = matches!(op, SWAP | SWAP_LONG);
    // SAFETY: the program's variable, of the type that the operation names.
    unsafe {
        let operand = match (swaps, long) {
            (false, _) => i64::from(value) as u64,
            (true, true) => local.cast::<u64>().read_unaligned(),
            (true, false) => local.cast::<u32>().read_unaligned().into(),
        };
        let op = if swaps { Op::Replace } else { Op::Sum };
        let before = update(name, remote.addr(), long, op, operand, process);
        match long {
            true => local.cast::<u64>().write_unaligned(before),
            false => local.cast::<u32>().write_unaligned(before as u32),
        }
    }
    0
}
