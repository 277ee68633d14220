//! Telling people something on standard error, for the libraries that are loaded into programs of others: those are the
//! only ones below the commands that tell anybody anything.
//!
//! A line is formatted first and written by one call, so that lines of several ranks do not mix and an end
//! of the process leaves no half of one. A standard error that nobody reads, or that is closed, is no
//! reason to panic, as `eprintln!` does, or to die of SIGPIPE.

/// Writes the text as one line.
pub fn line(text: &str) {
    write(format!("{text}\n").as_bytes());
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{FromRawFd, OwnedFd};

    /// Standard error, while somebody else's descriptor stands in for it.
    struct StandIn(OwnedFd);

    impl StandIn {
        fn new(instead: OwnedFd) -> StandIn {
            use std::os::fd::AsRawFd;
            // SAFETY: plain descriptors; the copy is ours.
            unsafe {
                let kept = OwnedFd::from_raw_fd(libc::dup(libc::STDERR_FILENO));
                libc::dup2(instead.as_raw_fd(), libc::STDERR_FILENO);
                StandIn(kept)
            }
        }
    }

    impl Drop for StandIn {
        fn drop(&mut self) {
            use std::os::fd::AsRawFd;
            // SAFETY: as above.
            unsafe { libc::dup2(self.0.as_raw_fd(), libc::STDERR_FILENO) };
        }
    }

    /// One test for both, because there is one standard error.
    #[test]
    fn a_line_is_written_whole_and_a_reader_that_is_gone_does_no_harm() {
        // What the Rust runtime sets aside, C programs have.
        // SAFETY: the default action of a signal.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let (mut reader, writer) = std::io::pipe().unwrap();
        let standing_in = StandIn::new(writer.into());
        line("hpvm: a line");
        drop(standing_in);
        let mut told = String::new();
        std::io::Read::read_to_string(&mut reader, &mut told).unwrap();
        assert_eq!(told, "hpvm: a line\n");

        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let standing_in = StandIn::new(writer.into());
        line("nobody hears this");
        drop(standing_in);
        // SAFETY: plain sets of signals.
        let pending = unsafe {
            let mut pending: libc::sigset_t = core::mem::zeroed();
            libc::sigpending(&mut pending);
            libc::sigismember(&pending, libc::SIGPIPE)
        };
        assert_eq!(pending, 0, "the signal was left to be delivered later");
    }
}
