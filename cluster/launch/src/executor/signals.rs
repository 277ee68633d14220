//! The launcher's signals, read from a descriptor instead of handled.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::sys;

/// Signals the job hears of. `SIGCHLD` only wakes the launcher.
const WATCHED: &[i32] = &[
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGCHLD,
];

/// The blocked signals with their descriptor. Dropping it restores the mask.
#[derive(Debug)]
pub struct Signals {
    pub fd: OwnedFd,
    /// The mask from before, which the ranks get.
    pub old_mask: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals and opens the descriptor. Those that are ignored (`nohup`, background
    /// jobs of a script) stay so.
    pub fn new() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut old = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: both sets are writable, initialised by sigemptyset and sigprocmask.
        let (fd, old_mask) = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for number in WATCHED.iter().filter(|number| !ignored(**number)) {
                libc::sigaddset(set.as_mut_ptr(), *number);
            }
            // A write beyond the limit of file size then fails, which is told, instead of ending us.
            libc::sigaddset(set.as_mut_ptr(), libc::SIGXFSZ);
            hpvm_os::check(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), old.as_mut_ptr()))?;
            libc::sigdelset(set.as_mut_ptr(), libc::SIGXFSZ);
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            (hpvm_os::check(libc::signalfd(-1, set.as_ptr(), flags))?, old.assume_init())
        };
        // SAFETY: signalfd has just given us this descriptor.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) }, old_mask })
    }

    /// The next signal that has come.
    pub fn next(&self) -> Option<i32> {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        let count = sys::read(self.fd.as_raw_fd(), &mut info).ok()?;
        // The number is the first field.
        (count == info.len()).then(|| i32::from_ne_bytes([info[0], info[1], info[2], info[3]]))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the set is writable and initialised by sigemptyset; the mask is a valid set.
        unsafe {
            // One that is pending would end us now.
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGXFSZ);
            libc::sigtimedwait(set.as_ptr(), std::ptr::null_mut(), &now);
            libc::sigprocmask(libc::SIG_SETMASK, &self.old_mask, std::ptr::null_mut());
        }
    }
}

fn ignored(number: i32) -> bool {
    if number == libc::SIGCHLD {
        return false;
    }
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only asks; the pointer is to writable memory, and zeroed is a valid sigaction.
    let action = unsafe {
        libc::sigaction(number, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}
