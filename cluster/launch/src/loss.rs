//! What the launcher tells the supervisor of a queue's job beside its exit code: that a host was lost, so that the queue
//! can start the job again elsewhere. A pipe that the supervisor has opened.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::dispatcher::Cause;
use crate::sys;

/// The variable with the number of the descriptor. It is not passed on to ranks.
pub const VARIABLE: &str = "HPVM_LOSS_FD";
/// The longest sentence: a pipe takes it at once.
pub const SENTENCE_BYTES_MAX: usize = 400;

/// The end of the pipe, if there is one; takes the variable out of the environment. The process must have one thread.
pub(crate) fn take() -> Option<OwnedFd> {
    let number: RawFd = std::env::var(VARIABLE).ok()?.parse().ok().filter(|number| *number > 2)?;
    // SAFETY: nobody else reads the environment meanwhile: this process has one thread.
    unsafe { std::env::remove_var(VARIABLE) };
    // SAFETY: takes numbers; a descriptor that is not open is refused.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return None;
    }
    // SAFETY: it is open, and by the variable it was left to us.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Tells of the end of an attempt, when it was the loss of a host.
pub(crate) fn tell(pipe: Option<&OwnedFd>, cause: Option<Cause>, reason: Option<&str>) {
    let lost = matches!(cause, Some(Cause::HostLost | Cause::PeerLost | Cause::NotStarted));
    let (Some(pipe), true) = (pipe, lost) else { return };
    let text = reason.unwrap_or("a host was lost");
    let text = text.strip_suffix("; ending the job").unwrap_or(text);
    let cut = (0..=SENTENCE_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    // A supervisor that is gone has taken the job with it.
    let _ = sys::write(pipe.as_raw_fd(), &text.as_bytes()[..cut.unwrap_or(0)]);
}

/// The supervisor's side: a pipe, and its other end for the launcher.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = sys::pipe()?;
    sys::set_nonblocking(read.as_raw_fd())?;
    Ok((read, write))
}
