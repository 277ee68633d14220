//! Where a rank of a job on several hosts sleeps: woken by its sockets, and by the ranks of its own
//! host through a pipe.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use hpvm_shm::{Mapping, doorbell};
use hpvm_transport::Doorbell;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use hpvm_net::{now, watch};

/// The bell of one rank.
pub struct Bell {
    mapping: Arc<Mapping>,
    local: u32,
    epoll: OwnedFd,
    reading: File,
    writing: File,
    /// When the network has something to do although nothing comes.
    deadline: AtomicU64,
}

impl Bell {
    /// Where it waits: other descriptors may be added.
    pub fn epoll(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }

    /// The bell of local rank `local` of `mapping`, rung by any of `descriptors`.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn new(mapping: Arc<Mapping>, local: u32, descriptors: &[RawFd]) -> io::Result<Bell> {
        let mut ends = [0; 2];
        // SAFETY: valid memory for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both were just made and belong to nobody else.
        let (reading, writing) =
            unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
        // SAFETY: an integer; the result is checked.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just made, and nobody else's.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let deadline = AtomicU64::new(u64::MAX);
        let bell = Bell { mapping, local, epoll, reading, writing, deadline };
        bell.watch(bell.reading.as_raw_fd())?;
        descriptors.iter().try_for_each(|fd| bell.watch(*fd))?;
        Ok(bell)
    }

    /// Rings when `fd` is readable. A descriptor that is closed is forgotten.
    ///
    /// # Errors
    /// It can't be watched.
    pub fn watch(&self, fd: RawFd) -> io::Result<()> {
        watch(self.epoll(), fd)
    }

    /// Rings for `fd` no more.
    pub fn unwatch(&self, fd: RawFd) {
        // SAFETY: integers; no event is given. One that was not watched is not watched afterwards either.
        unsafe { libc::epoll_ctl(self.epoll(), libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut()) };
    }

    /// The end of the pipe that others write to.
    pub fn pipe(&self) -> RawFd {
        self.writing.as_raw_fd()
    }

    /// The next wait ends at `time` at the latest.
    pub fn set_deadline(&self, time: u64) {
        // Relaxed: the same thread waits, or another one that got the bell through a lock.
        self.deadline.store(time, Ordering::Relaxed);
    }

    /// Takes what was rung out of the pipe.
    pub fn quieten(&self) {
        let mut rings = [0; 64];
        while (&self.reading).read(&mut rings).is_ok_and(|n| n == rings.len()) {}
    }

    fn sleep(&self, time: Duration) {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let epoll = self.epoll.as_raw_fd();
        let limit = libc::timespec {
            tv_sec: time.as_secs().min(i64::MAX as u64) as libc::time_t,
            tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
        };
        // SAFETY: valid memory for one event and a time; no signal mask.
        let result =
            unsafe { libc::syscall(libc::SYS_epoll_pwait2, epoll, &mut event, 1, &limit, 0, 0) };
        if result < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) {
            let millis = time.as_micros().div_ceil(1000).min(60_000) as libc::c_int;
            // SAFETY: valid memory for one event.
            unsafe { libc::epoll_wait(epoll, &mut event, 1, millis) };
        }
    }
}

impl Doorbell for Bell {
    fn wait(&self, timeout: Duration) {
        let word = &self.mapping.control(self.local).doorbell;
        // Relaxed: whoever clears it also writes to the pipe.
        if word.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Relaxed: see `set_deadline`.
        let deadline = self.deadline.load(Ordering::Relaxed);
        let left = Duration::from_nanos(deadline.saturating_sub(now()));
        self.sleep(timeout.min(left));
    }

    fn ring(&self) {
        if doorbell::ring(&self.mapping.control(self.local).doorbell) != 0 {
            doorbell::write(&self.writing);
        }
    }
}
