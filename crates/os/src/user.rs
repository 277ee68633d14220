use crate::check;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The user that this process acts for.
pub fn user() -> libc::uid_t {
    // SAFETY: a system call without arguments, which cannot fail.
    unsafe { libc::geteuid() }
}

/// The process at the other end of a Unix stream socket, and its user, as the kernel knows them: those who connected, or who made
/// the listening socket. A process of another namespace is 0.
///
/// # Errors
/// As of `getsockopt`: it is no such socket.
pub fn peer(stream: &impl AsFd) -> io::Result<(libc::pid_t, libc::uid_t)> {
    let mut credentials = libc::ucred { pid: 0, uid: libc::uid_t::MAX, gid: 0 };
    let mut len = size_of_val(&credentials) as libc::socklen_t;
    let at = (&raw mut credentials).cast();
    let (fd, level, what) = (stream.as_fd().as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: live memory of the given length.
    check(unsafe { libc::getsockopt(fd, level, what, at, &mut len) })?;
    Ok((credentials.pid, credentials.uid))
}

/// Whether the process at the other end is of our own user.
pub fn is_own(stream: &impl AsFd) -> bool {
    peer(stream).is_ok_and(|(_, other)| other == user())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_other_end_is_known() {
        let (one, _other) = UnixStream::pair().unwrap();
        let own = (std::process::id() as libc::pid_t, super::user());
        assert_eq!(super::peer(&one).unwrap(), own);
        assert!(super::is_own(&one));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(!super::is_own(&file), "who has no other end is nobody of ours");
    }
}
