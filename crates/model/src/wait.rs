//! Waiting for memory that others store to.

use crate::engine::{Name, done, onesided};
use core::ffi::{c_int, c_void};
use core::hint::spin_loop;
use std::sync::atomic::{Ordering, fence};

/// Looks before the engine waits, which makes progress, gives way and sleeps: what is about to come is there by then.
const LOOKS: u32 = 64;

/// Blocks until `ready` says so.
#[inline]
pub fn block(name: Name, mut ready: impl FnMut() -> bool) {
    if !soon(&mut ready) {
        block_long(name, ready);
    }
}

/// Looks a few times whether `ready` says so.
#[inline]
pub fn soon(mut ready: impl FnMut() -> bool) -> bool {
    let mut looks = 0;
    while !ready() {
        looks += 1;
        if looks > LOOKS {
            return false;
        }
        spin_loop();
    }
    // Acquire: what came before the change is seen from here on.
    fence(Ordering::Acquire);
    true
}

/// As `block`, for what is not there `soon`.
pub fn block_long(name: Name, mut ready: impl FnMut() -> bool) {
    wait(name, &mut ready);
    // Acquire: as in `soon`.
    fence(Ordering::Acquire);
}

fn wait<F: FnMut() -> bool>(name: Name, ready: &mut F) {
    unsafe extern "C" fn call<F: FnMut() -> bool>(ready: *mut c_void) -> c_int {
        // SAFETY: the closure of `wait`, which lives until the call returns.
        unsafe { (*ready.cast::<F>())() }.into()
    }
    // SAFETY: the function and its state belong together.
    done(name, unsafe { (onesided().wait)(call::<F>, (&raw mut *ready).cast()) });
}
