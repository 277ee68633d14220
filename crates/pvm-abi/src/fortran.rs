//! What PVM's own Fortran library, which Fortran programs have inside, calls beside the functions of `pvm3.h`.

use crate::library::{lock, string, tell};
use core::ffi::{c_char, c_int};

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
