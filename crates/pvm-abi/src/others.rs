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

/// The time of day.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmgetclock(time: *mut libc::timeval) {
    if !time.is_null() {
        // SAFETY: not null, so the caller's structure.
        unsafe { libc::gettimeofday(time, std::ptr::null_mut()) };
    }
}

/// What PVM's own library writes about itself: a variable that programs set. Nothing is written here.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub static pvmdebmask: hpvm_sync::atomic::AtomicI32 = hpvm_sync::atomic::AtomicI32::new(0);

/// A list of the message handlers, on standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmdisplaymhfinfo(who: *const c_char, when: *const c_char, tid: c_int) {
    // SAFETY: the caller's promise.
    let (who, when) = unsafe { (string(who), string(when)) };
    let (who, when) = (who.unwrap_or_default(), when.unwrap_or_default());
    let mut text = format!("{who} [t{tid:x}] {when}: message handlers\n");
    for handler in &lock().handlers {
        let pattern = handler.pattern;
        let (source, tag, context) = (pattern.source, pattern.tag, pattern.context);
        text += &format!("  {}: from {source:x}, tag {tag}, context {context}\n", handler.id);
    }
    // SAFETY: the C library's stream, among whose output the program expects it.
    unsafe {
        let stdout = crate::catchout::stdout;
        libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
    }
}
