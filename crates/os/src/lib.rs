//! Calls of the operating system that several crates make, with safe signatures: random bytes for secrets, who is at the
//! other end of a socket, descriptors that go along with a message, memory without a name, waiting for descriptors, what the
//! kernel tells of a process.
//!
//! What one crate alone calls stays with that crate.

mod descriptors;
mod mapping;
mod memory_file;
mod poll;
pub mod process;
mod random;
mod user;

pub use descriptors::{MOST_DESCRIPTORS, Received, receive, send};
pub use mapping::map;
pub use memory_file::{above_streams, is_sealed, memory_file};
pub use poll::{entry, is_ready, poll, wait};
pub use random::random;
pub use user::{is_own, peer, user};

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Turns the usual -1 into the error it stands for.
///
/// # Errors
/// `errno`, where the result is negative.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The same for calls that return how many bytes they have moved.
///
/// # Errors
/// `errno`, where the result is negative.
pub fn check_size(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Takes over the descriptor that a call has returned.
///
/// # Errors
/// `errno`, where it has returned none.
///
/// # Safety
/// The result is what a call has just returned that makes a descriptor, which nobody else owns.
pub unsafe fn own(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: as the caller promises.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
