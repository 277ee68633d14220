//! Locks (section 9.12): first come, first served. Of a lock's 8 bytes, on one PE that its address chooses, the first
//! four count tickets taken, the others tickets that are done.

use super::amo::update;
use crate::ends::{self, What};
use crate::state::{State, state};
use crate::types::{DEFAULT, Name};
use core::ffi::{c_int, c_long};
use hpvm_abi::onesided::Op;
use hpvm_model::{done, fail, onesided};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Whoever asks again and again for a lock's state looks so often whether the PE that has the lock has ended.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The PE whose copy of the lock counts: locks that are neighbours are not all of one PE.
fn owner(s: &State, name: Name, lock: *mut c_long) -> c_int {
    if !lock.is_aligned() {
        let (lock, size) = (lock.addr(), align_of::<c_long>());
        fail(name, &format!("the lock at {lock:#x} is misaligned; expected a multiple of {size}"));
    }
    let (_, offset) = s.symmetric(name, lock.addr(), size_of::<c_long>());
    ((offset / size_of::<c_long>()) % s.n_pes) as c_int
}

/// Tickets taken, and tickets done.
fn halves(lock: *mut c_long) -> (*mut u32, *mut u32) {
    (lock.cast::<u32>(), lock.cast::<u32>().wrapping_add(1))
}

pub unsafe fn set(name: Name, lock: *mut c_long) {
    let s = state(name);
    let owner = owner(s, name, lock);
    s.locks.not_mine(name, lock.addr());
    let (taken, served) = halves(lock);
    let ticket = update(name, DEFAULT, taken, Op::Sum, 1, owner);
    match s.mapped(served.addr(), size_of::<u32>(), owner as usize) {
        Some(at) => {
            // Relaxed: `block` ends with a fence.
            // SAFETY: mapped, and aligned because the update of its neighbour was.
            let now = || unsafe { (*at.cast::<AtomicU32>()).load(Ordering::Relaxed) };
            ends::block(s, name, || What::Lock(lock.addr()), || now() == ticket);
        }
        None => {
            let _noted = s.waits.note(name, What::Lock(lock.addr()));
            let mut next = Instant::now() + BETWEEN_LOOKS;
            while update(name, DEFAULT, served, Op::Read, 0, owner) != ticket {
                // SAFETY: no arguments.
                done(name, unsafe { (onesided().progress)() });
                if Instant::now() >= next {
                    ends::look_around(s);
                    next = Instant::now() + BETWEEN_LOOKS;
                }
            }
        }
    }
    s.locks.taken(lock.addr());
}

pub unsafe fn clear(name: Name, lock: *mut c_long) {
    let s = state(name);
    let owner = owner(s, name, lock);
    s.locks.given_back(name, lock.addr());
    // What was done under the lock comes before its end.
    s.quiet(name);
    update(name, DEFAULT, halves(lock).1, Op::Sum, 1, owner);
}

pub unsafe fn test(name: Name, lock: *mut c_long) -> c_int {
    let s = state(name);
    let owner = owner(s, name, lock);
    let word = lock.cast::<u64>();
    let now = update(name, DEFAULT, word, Op::Read, 0, owner);
    let (taken, served) = (now as u32, (now >> 32) as u32);
    if taken == served {
        let next = u64::from(taken.wrapping_add(1)) | now & !u64::from(u32::MAX);
        // SAFETY: none is asked: the address has been checked.
        let before = unsafe { super::amo::compare_swap(name, DEFAULT, word, now, next, owner) };
        if before == now {
            s.locks.taken(lock.addr());
            return 0;
        }
    }
    // SAFETY: no arguments.
    done(name, unsafe { (onesided().progress)() });
    1
}
