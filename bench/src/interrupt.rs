//! Ctrl-C: remembered by the signal handler, acted upon by whoever waits for a child.

use std::sync::atomic::{AtomicBool, Ordering};

/// A signal handler can reach nothing but a static.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed); // relaxed: a flag that carries nothing else
}

/// From now on SIGINT and SIGTERM are remembered instead of ending the process.
pub fn install() {
    let handler = remember as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the structure is plain data for which all zeroes (no flags, empty mask) is a
        // valid value; the handler only stores to an atomic, which is async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Whether SIGINT or SIGTERM has come.
pub fn requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
