//! Notifications of pairs of processes.

use super::rmw::update_far;
use crate::races;
use crate::state::{State, There, state};
use crate::types::Name;
use core::ffi::c_int;
use core::ptr::null_mut;
use hpvm_abi::onesided::{Kind, Op};
use hpvm_model::{block, fail};
use std::sync::atomic::{AtomicU32, Ordering};

/// The word of `process` that counts what comes from `from`.
fn word(s: &State, name: Name, process: usize, from: usize) -> There {
    let Some(there) = s.flags.parts[process].there else {
        fail(name, &format!("process {process} has no words for notifications"))
    };
    let (base, at) = (there.base.cast::<u8>(), from * size_of::<u32>());
    let mapped = if base.is_null() { null_mut() } else { base.wrapping_add(at) };
    There { mapped, target: there.target, offset: at as u64, locked: there.locked != 0 }
}

/// Tells a process that what this one has begun there is complete. The number of notifications to it.
pub unsafe fn notify(name: Name, process: c_int) -> c_int {
    let s = state(name);
    let process = s.process(name, process);
    s.flush(name, process);
    let there = word(s, name, process, s.me);
    if there.mapped.is_null() || there.locked {
        update_far(name, &there, Kind::U32, Op::Sum, 1, process);
    } else {
        // Release pairs with the fence behind the wait.
        // SAFETY: a word of mapped memory, which begins at a page.
        unsafe { (*there.mapped.cast::<AtomicU32>()).fetch_add(1, Ordering::Release) };
    }
    // Relaxed: a number that nobody else orders by.
    s.notified[process].fetch_add(1, Ordering::Relaxed).wrapping_add(1) as c_int
}

/// Waits for the next notification of a process, and says how many have been waited for.
pub unsafe fn wait(name: Name, process: c_int, count: *mut c_int) -> c_int {
    let s = state(name);
    let process = s.process(name, process);
    // Relaxed: as in `notify`.
    let wanted = s.awaited[process].fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    let at = word(s, name, s.me, process).mapped.cast::<AtomicU32>();
    races::heard(s);
    // Others may be ahead. Relaxed: `block` ends with a fence.
    // SAFETY: memory of this process.
    block(name, || unsafe { (*at).load(Ordering::Relaxed) }.wrapping_sub(wanted) as i32 >= 0);
    // SAFETY: the program's place for a number, or null.
    if let Some(count) = unsafe { count.as_mut() } {
        *count = wanted as c_int;
    }
    wanted as c_int
}
