//! Sleeping and waking between processes: a futex word per rank, and a barrier that the sleeper
//! pays so that senders need no fence.
//!
//! The sender publishes the slot, then reads the receiver's bell. The sleeper sets its bell, then looks
//! for published slots. Neither may miss the other, which needs a full barrier on both sides. The
//! sleeper's `membarrier(GLOBAL_EXPEDITED)` runs a barrier on every processor that runs a process of the
//! job at that moment, so it stands for the sender's barrier, too. Where the system forbids `membarrier`,
//! the segment's `fences` flag makes every sender pay for its own.

use core::sync::atomic::Ordering;
use core::time::Duration;
use hpvm_sync::atomic::AtomicU32;
use hpvm_transport::Doorbell;
use hpvm_wire::segment::SLEEPS_ON_WORD;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::sync::Arc;

use crate::segment::Mapping;

/// The futex word of one rank in the segment.
pub struct Bell {
    mapping: Arc<Mapping>,
    rank: u32,
}

impl Bell {
    pub fn new(mapping: Arc<Mapping>, rank: u32) -> Self {
        Bell { mapping, rank }
    }

    fn word(&self) -> &AtomicU32 {
        &self.mapping.control(self.rank).doorbell
    }
}

impl Doorbell for Bell {
    fn wait(&self, timeout: Duration) {
        let limit = libc::timespec {
            tv_sec: timeout.as_secs().min(i64::MAX as u64) as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
        };
        // SAFETY: the word lives in the mapping that `self` keeps alive; the kernel only compares
        // it with 1 and reads `limit`. No FUTEX_PRIVATE: other processes wake us.
        unsafe {
            libc::syscall(libc::SYS_futex, self.word().as_ptr(), libc::FUTEX_WAIT, 1, &limit);
        }
    }

    fn ring(&self) {
        ring(self.word());
    }
}

/// Wakes the owner of `word` if it sleeps there. Returns the state that the word had: whoever gets
/// `SLEEPS_ON_PIPE` has to write to the owner's pipe.
#[cold]
pub fn ring(word: &AtomicU32) -> u32 {
    // Relaxed: the word carries no data; the system call orders the wake-up. The swap makes sure
    // that of many senders one pays for it.
    let state = word.swap(0, Ordering::Relaxed);
    if state != SLEEPS_ON_WORD {
        return state;
    }
    // SAFETY: FUTEX_WAKE uses the address as a key only.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1);
    }
    state
}

/// Opens the pipe that descriptor `fd` of process `pid` writes to, to wake that process.
///
/// For reading, too: a pipe that somebody could read never raises SIGPIPE, which would end this process when
/// the other one is gone. And without blocking, should the pipe be full.
///
/// # Errors
/// The process is gone, it has no such pipe, or there are no descriptors left.
pub fn open(pid: u32, fd: u32) -> io::Result<File> {
    let path = format!("/proc/{pid}/fd/{fd}");
    let pipe = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    // What a peer says of its descriptor is checked: bytes go to a pipe and nowhere else.
    match pipe.metadata()?.file_type().is_fifo() {
        true => Ok(pipe),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Ends a wait on the pipe `file`.
pub fn write(file: &File) {
    // A full pipe wakes as well.
    let _ = (&*file).write(&[1]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsRawFd, FromRawFd};

    #[test]
    fn a_pipe_whose_reader_is_gone_raises_no_signal_and_does_not_block() {
        let mut ends = [0; 2];
        // SAFETY: valid memory for two descriptors.
        assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
        // SAFETY: both were just made and belong to nobody else.
        let (reading, writing) =
            unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
        let bell = open(std::process::id(), writing.as_raw_fd() as u32).unwrap();
        drop((reading, writing));
        // EPIPE is what comes with the signal, which tests ignore.
        assert_eq!((&bell).write(&[1]).unwrap(), 1);
        for _ in 0..1 << 17 {
            write(&bell);
        }
        let full = (&bell).write(&[1]).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
    }
}
