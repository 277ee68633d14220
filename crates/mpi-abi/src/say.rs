//! Telling people something on standard error.
//!
//! A line is formatted first and written by one call, so that lines of several ranks do not mix and an end
//! of the process leaves no half of one. A standard error that nobody reads, or that is closed, is no
//! reason to panic or to die of SIGPIPE.

/// Writes `hpvm: ` and the text as one line.
pub fn say(text: &str) {
    write(format!("hpvm: {text}\n").as_bytes());
}

/// Writes bytes to standard error. Async-signal-safe.
pub fn write(bytes: &[u8]) {
    without_sigpipe(|| {
        let mut rest = bytes;
        while !rest.is_empty() {
            // SAFETY: `rest` lives through the call; the descriptor needs no trust.
            let n = unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(n) {
                Ok(written) if written > 0 => rest = &rest[written..],
                _ if interrupted() => {}
                // There is nobody to tell.
                _ => return,
            }
        }
    });
}

fn interrupted() -> bool {
    std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
}

/// Runs `f`; a SIGPIPE that it raises in this thread is taken back.
fn without_sigpipe(f: impl FnOnce()) {
    // SAFETY: plain sets of signals, valid for all zero bytes, and calls that are async-signal-safe.
    unsafe {
        let mut pipe: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&mut pipe);
        libc::sigaddset(&mut pipe, libc::SIGPIPE);
        let mut pending: libc::sigset_t = core::mem::zeroed();
        libc::sigpending(&mut pending);
        let waited_before = libc::sigismember(&pending, libc::SIGPIPE) == 1;
        let mut before: libc::sigset_t = core::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, &pipe, &mut before);
        f();
        if !waited_before {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&pipe, core::ptr::null_mut(), &now);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
    }
}
