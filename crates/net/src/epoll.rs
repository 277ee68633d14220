//! Descriptors that one wait watches together.

use std::io;
use std::os::fd::RawFd;

/// From now on `epoll` tells when `fd` is readable.
///
/// # Errors
/// It can't be watched.
pub fn watch(epoll: RawFd, fd: RawFd) -> io::Result<()> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: fd as u64 };
    // SAFETY: a live event structure; the kernel checks the descriptors.
    let result = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
