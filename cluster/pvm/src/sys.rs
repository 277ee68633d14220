//! What the standard library does not have.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;

/// Listens with room for all tasks of a host that come at once.
pub fn listen(listener: &UnixListener) -> io::Result<()> {
    const BACKLOG: i32 = 4096;
    // SAFETY: a system call with numbers.
    let done = unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends a signal to one process, never to several or to all.
pub fn kill(pid: i32, signal: i32) -> bool {
    // SAFETY: a system call with numbers.
    pid > 1 && unsafe { libc::kill(pid, signal) } == 0
}

/// Sends a signal to the processes of the group that `pid` leads.
pub fn kill_group(pid: i32, signal: i32) {
    if pid > 1 {
        // SAFETY: a system call with numbers.
        unsafe { libc::kill(-pid, signal) };
    }
}

/// The next signal that has come.
pub fn next_signal(fd: &OwnedFd) -> Option<i32> {
    // SAFETY: a structure of numbers, which the kernel fills.
    unsafe {
        let mut info: libc::signalfd_siginfo = std::mem::zeroed();
        let len = size_of::<libc::signalfd_siginfo>();
        let got = libc::read(fd.as_raw_fd(), (&raw mut info).cast(), len);
        (got == len as isize).then_some(info.ssi_signo as i32)
    }
}

/// A child that has ended; its process is no more.
pub fn reap() -> Option<i32> {
    // SAFETY: asks for any child without waiting.
    let pid = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
    (pid > 0).then_some(pid)
}

/// Another descriptor of the same file, which programs that are started do not get.
pub fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: a system call with numbers; the descriptor is new and ours.
    unsafe {
        let new = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3);
        if new < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(new)) }
    }
}

/// Standard input and output are those of nobody.
pub fn forget_streams() -> io::Result<()> {
    // SAFETY: system calls with numbers and a string of ours.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if null < 0 || libc::dup2(null, 0) < 0 || libc::dup2(null, 1) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::close(null);
    }
    Ok(())
}

/// The end of a terminal or of a connection ends nothing here by itself.
pub fn ignore_ends() {
    // SAFETY: system calls with numbers.
    unsafe {
        for number in [libc::SIGHUP, libc::SIGINT, libc::SIGPIPE] {
            libc::signal(number, libc::SIG_IGN);
        }
    }
}

pub fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: as many bytes as the array has, the last of which stays 0.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let len = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..len]).into_owned()
}

/// Goes on in a process of its own that has no terminal, no parent and only the descriptor `keep`. The process that called
/// ends; the one that goes on says `ready` before it lets go of standard output.
pub fn detach(keep: RawFd, ready: impl FnOnce()) -> io::Result<()> {
    // SAFETY: this process has one thread. The descriptors that are closed are not ours: nothing here has opened one.
    unsafe {
        match libc::fork() {
            -1 => return Err(io::Error::last_os_error()),
            0 => {}
            _ => libc::_exit(0),
        }
        libc::setsid();
        ready();
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for fd in 0..3 {
            libc::dup2(null, fd);
        }
        let _ = libc::chdir(c"/".as_ptr());
        let keep = keep as libc::c_uint;
        if keep > 3 {
            libc::syscall(libc::SYS_close_range, 3, keep - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, keep + 1, libc::c_uint::MAX, 0);
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut files = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut files) == 0 {
            files.rlim_cur = files.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const files);
        }
    }
    Ok(())
}

/// To be called between fork and exec: the program gets the descriptor.
pub fn inherit(fd: RawFd) {
    // SAFETY: a flag of a descriptor; the call may be made there.
    unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
}

/// To be called between fork and exec: the program gets all signals, also those that are read from a descriptor here.
pub fn unblock_signals() {
    // SAFETY: a set of our own; the calls may be made there.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        // These are ignored here, which programs would inherit.
        for number in [libc::SIGHUP, libc::SIGINT, libc::SIGPIPE] {
            libc::signal(number, libc::SIG_DFL);
        }
    }
}

/// To be called between fork and exec: the process dies with the one that started it.
pub fn die_with_parent(parent: i32) -> io::Result<()> {
    // SAFETY: system calls with numbers, which may be called there.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // It may have died before.
        if libc::getppid() != parent {
            libc::_exit(1);
        }
    }
    Ok(())
}
