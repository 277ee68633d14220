use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// What [`poll`] takes: a descriptor and what is waited for, `POLLIN`, `POLLOUT` or both. Its end and its errors are
/// reported whether asked for or not. The descriptor may be a number: several crates keep those of sockets that live elsewhere.
pub fn entry(fd: &impl AsRawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 }
}

/// Waits until one of the descriptors is ready, and says how many are; `revents` of each says for what. Without a limit for
/// ever; the limit is rounded up to milliseconds, since who wakes too early would have to look again and again. A signal
/// ends the wait with 0, as the limit does.
///
/// # Errors
/// As of `poll(2)`, but for signals. No descriptor is said to be ready then.
pub fn poll(fds: &mut [libc::pollfd], limit: Option<Duration>) -> io::Result<usize> {
    let millis = limit.map_or(-1, |limit| {
        libc::c_int::try_from(limit.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
    });
    // SAFETY: as many entries as the slice has.
    let ready = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, millis) };
    if let Ok(ready) = usize::try_from(ready) {
        return Ok(ready);
    }
    let error = io::Error::last_os_error();
    fds.iter_mut().for_each(|fd| fd.revents = 0);
    if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) }
}

/// Waits for one descriptor; whether it is ready, or at its end, or broken. A signal ends the wait with `false`.
///
/// # Errors
/// As of [`poll`].
pub fn wait(fd: &impl AsRawFd, events: libc::c_short, limit: Option<Duration>) -> io::Result<bool> {
    Ok(poll(&mut [entry(fd, events)], limit)? > 0)
}

/// Whether a descriptor is ready now, or at its end, or broken. Does not wait; a call that failed counts as no.
pub fn is_ready(fd: &impl AsRawFd, events: libc::c_short) -> bool {
    matches!(wait(fd, events, Some(Duration::ZERO)), Ok(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    #[test]
    fn ready_is_what_can_be_read_and_what_has_ended() {
        let (mut one, other) = UnixStream::pair().unwrap();
        assert!(!is_ready(&other, libc::POLLIN) && is_ready(&other, libc::POLLOUT));
        one.write_all(b".").unwrap();
        let mut both = [entry(&one, libc::POLLIN), entry(&other, libc::POLLIN)];
        assert_eq!(poll(&mut both, None).unwrap(), 1);
        assert_eq!((both[0].revents, both[1].revents), (0, libc::POLLIN));
        drop(one);
        assert!(wait(&other, 0, None).unwrap(), "an end is told without being asked for");
    }

    #[test]
    fn a_limit_is_never_cut_short() {
        let (one, _other) = UnixStream::pair().unwrap();
        let (begin, limit) = (Instant::now(), Duration::from_micros(1300));
        assert!(!wait(&one, libc::POLLIN, Some(limit)).unwrap());
        assert!(begin.elapsed() >= limit);
    }
}
