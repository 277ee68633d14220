//! The end of a process that takes part in a job.

use core::ffi::{c_int, c_void};

unsafe extern "C" {
    /// Of the C library: `atexit` with the exit status.
    fn on_exit(call: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Whose exit it is, and what is to be called then.
struct Watched {
    process: u32,
    call: fn(c_int),
}

/// Calls `call` with the exit status when this process returns from `main` or calls `exit`; not when a child of `fork` does, which
/// inherits the handler and has no part in the job. To be used once for each function.
pub fn at_exit(call: fn(c_int)) {
    let watched = Box::leak(Box::new(Watched { process: std::process::id(), call }));
    // SAFETY: a function of this library, which stays loaded because programs are linked with it, and memory that stays.
    unsafe { on_exit(run, core::ptr::from_mut(watched).cast()) };
}

extern "C" fn run(status: c_int, watched: *mut c_void) {
    // SAFETY: `at_exit` has leaked it.
    let watched = unsafe { &*watched.cast::<Watched>() };
    if watched.process == std::process::id() {
        (watched.call)(status);
    }
}
