//! Locks on ranges of a file that processes share: of the open file description, so that they end with it
//! however the process ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A lock on bytes `start..end` of a file; it ends with this value.
#[derive(Debug)]
pub struct RangeLock<'a> {
    file: &'a File,
    start: u64,
    len: u64,
}

impl RangeLock<'_> {
    /// Waits until nobody else has a lock that overlaps: for reading none to write, for writing none.
    /// A file system without locks gives an error.
    pub fn wait(file: &File, start: u64, end: u64, writes: bool) -> io::Result<RangeLock<'_>> {
        let len = end.saturating_sub(start);
        let kind = if writes { libc::F_WRLCK } else { libc::F_RDLCK };
        set(file, start, len, kind, libc::F_OFD_SETLKW)?;
        Ok(RangeLock { file, start, len })
    }
}

impl Drop for RangeLock<'_> {
    fn drop(&mut self) {
        // It cannot fail for a range that was locked; and closing the file would end it anyway.
        let _ = set(self.file, self.start, self.len, libc::F_UNLCK, libc::F_OFD_SETLK);
    }
}

fn set(file: &File, start: u64, len: u64, kind: i32, command: i32) -> io::Result<()> {
    let limit = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    // SAFETY: plain data, valid for all zero bytes.
    let mut lock: libc::flock = unsafe { core::mem::zeroed() };
    lock.l_type = kind as i16;
    lock.l_whence = libc::SEEK_SET as i16;
    lock.l_start = limit(start);
    // 0 would mean up to the end of all files.
    lock.l_len = limit(len.max(1)).min(i64::MAX - lock.l_start);
    loop {
        // SAFETY: the descriptor is open, and the structure lives through the call.
        if unsafe { libc::fcntl(file.as_raw_fd(), command, &lock) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
