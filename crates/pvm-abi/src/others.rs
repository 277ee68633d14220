//! What programs call beside the functions of `pvm3.h`: PVM's Fortran library, which Fortran programs have inside, and
//! PVM's examples.

use crate::library::{lock, pvm_errno, string, tell};
use core::ffi::{c_char, c_int};
use hpvm_pvm::error;

#[unsafe(no_mangle)]
pub extern "C" fn pvmsleep(seconds: c_int) {
    std::thread::sleep(std::time::Duration::from_secs(u64::try_from(seconds).unwrap_or(0)));
}

/// A line on standard error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmlogerror(text: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let text = unsafe { string(text) }.unwrap_or_default();
    tell(&lock(), text.trim_end());
    0
}

/// Tells of an error as the functions themselves do; returns its code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lpvmerr(function: *const c_char, code: c_int) -> c_int {
    if code < 0 {
        // Relaxed: a variable of C.
        pvm_errno.store(code, hpvm_sync::atomic::Ordering::Relaxed);
        // SAFETY: the caller's promise.
        let function = unsafe { string(function) }.unwrap_or_default();
        tell(&lock(), &format!("{function}(): {}", error::text(code)));
    }
    code
}
