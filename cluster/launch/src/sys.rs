//! Thin, safe covers of the system calls the launcher needs.

use hpvm_os::{check, check_size, own};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A pipe, read end first; both are closed on exec.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    // SAFETY: the array has room for the two descriptors.
    check(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both have just been made.
    unsafe { Ok((own(fds[0])?, own(fds[1])?)) }
}

/// A connected pair of stream sockets, both closed on exec.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: the array has room for the two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) })?;
    // SAFETY: both have just been made.
    unsafe { Ok((own(fds[0])?, own(fds[1])?)) }
}

/// Makes reads and writes of this description return instead of waiting.
pub fn set_nonblocking(fd: RawFd) -> io::Result<()> {
    // SAFETY: plain flag calls on a descriptor number.
    let flags = check(unsafe { libc::fcntl(fd, libc::F_GETFL) })?;
    // SAFETY: as above.
    check(unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
    Ok(())
}

/// A copy of a descriptor, numbered from 3, closed on exec.
pub fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: creates a new descriptor and touches no memory.
    unsafe { own(libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3)) }
}

/// The `S_IFMT` part of a descriptor's mode.
pub fn file_type(fd: RawFd) -> io::Result<libc::mode_t> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the pointer is to writable memory of the right size.
    check(unsafe { libc::fstat(fd, stat.as_mut_ptr()) })?;
    // SAFETY: zeroed is a valid stat, and fstat has filled it.
    Ok(unsafe { stat.assume_init() }.st_mode & libc::S_IFMT)
}

/// A non-blocking description of the same pipe or terminal.
pub fn reopen_for_writing(fd: RawFd) -> io::Result<OwnedFd> {
    let path = std::ffi::CString::new(format!("/proc/self/fd/{fd}"))?;
    let flags = libc::O_WRONLY | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    // SAFETY: the path is a terminated string that lives through the call.
    unsafe { own(libc::open(path.as_ptr(), flags)) }
}

/// `/dev/null`, for reading and writing.
pub fn dev_null() -> io::Result<OwnedFd> {
    // SAFETY: the path is a terminated string.
    unsafe { own(libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC)) }
}

/// One `read`.
pub fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is writable for its length.
    check_size(unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// One `write`.
pub fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are readable for their length.
    check_size(unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) })
}

/// One `send` that neither waits nor raises `SIGPIPE`.
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the bytes are readable for their length.
    check_size(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// A descriptor that becomes readable when the child ends.
pub fn pidfd(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two integers.
    unsafe { own(libc::syscall(libc::SYS_pidfd_open, pid, 0) as libc::c_int) }
}

/// Lets all signals through again, for a process between fork and exec. Async-signal-safe.
pub fn unblock_signals() {
    let mut none = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is writable and initialised by sigemptyset.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Sends a signal; a target that is gone is no error worth telling.
pub fn kill(pid: libc::pid_t, signal: i32) {
    // SAFETY: the call takes two integers.
    unsafe { libc::kill(pid, signal) };
}

/// Blocks signals in this thread, and gives a descriptor that is readable when one of them has come. It does not block.
pub fn signals(numbers: &[i32]) -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is writable and initialised by sigemptyset.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for number in numbers {
            libc::sigaddset(set.as_mut_ptr(), *number);
        }
        check(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()))?;
        own(libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
    }
}

/// How many descriptors this process may open: the present and the highest limit.
pub fn descriptor_limit() -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a writable rlimit.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    Ok(limit)
}

/// Sets the limit of open descriptors.
pub fn set_descriptor_limit(limit: &libc::rlimit) -> io::Result<()> {
    // SAFETY: the pointer is to a readable rlimit.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) })?;
    Ok(())
}

/// An epoll instance whose events carry a number of ours.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// A new instance.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes an integer.
        Ok(Self(unsafe { own(libc::epoll_create1(libc::EPOLL_CLOEXEC)) }?))
    }

    /// Watches a descriptor for `EPOLLIN` or `EPOLLOUT`, until removed.
    pub fn add(&self, fd: RawFd, events: libc::c_int, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        let epoll = self.0.as_raw_fd();
        // SAFETY: the event lives through the call.
        check(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) })?;
        Ok(())
    }

    /// Stops watching a descriptor.
    pub fn remove(&self, fd: RawFd) {
        let epoll = self.0.as_raw_fd();
        // SAFETY: removal ignores the event pointer. A failure means it was not watched.
        unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut()) };
    }

    /// Waits for events, at most so many milliseconds (-1: for ever); gives their numbers.
    pub fn wait(&self, timeout: libc::c_int, tokens: &mut Vec<u64>) -> io::Result<()> {
        const BATCH: usize = 256;
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
        tokens.clear();
        // SAFETY: the array has room for BATCH events.
        let count = unsafe {
            libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), BATCH as libc::c_int, timeout)
        };
        match check(count) {
            Ok(count) => tokens.extend(events[..count as usize].iter().map(|event| event.u64)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
