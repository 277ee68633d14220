//! Files without a name that hold memory for several processes (memfd).
//!
//! Each is sealed: its size never changes, so whoever maps it can't be killed by a peer, or by any other
//! process of the user, that cuts it. Those who map the file of another check the seal.

use crate::{check, own};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Makes a file of `bytes` zeros that can be made neither smaller nor larger, and whose seals can't be changed. Its
/// descriptor is none of the standard streams, and closed in programs that this process becomes. `name` is for people who look at
/// the process.
///
/// # Errors
/// The system has no memory files or no descriptors left, or limits how large files may be.
pub fn memory_file(name: &CStr, bytes: u64) -> io::Result<File> {
    let limit = largest();
    if bytes > limit {
        // To make it larger than that would end this process by SIGXFSZ.
        let text = format!(
            "{bytes} bytes are needed, and the limit for files of this process is {limit} \
             (RLIMIT_FSIZE); raise it, for example by \"ulimit -f unlimited\""
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: a valid C string; a descriptor that comes is new.
    let file = above_streams(unsafe { own(libc::memfd_create(name.as_ptr(), flags)) }?.into())?;
    file.set_len(bytes)?;
    let all = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: a system call on our own descriptor with integers.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, all) })?;
    Ok(file)
}

/// Whether nobody can make the file smaller: it is a memory file, and sealed.
pub fn is_sealed(file: &impl AsRawFd) -> bool {
    // SAFETY: a system call on an open descriptor.
    let seals = check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) });
    seals.is_ok_and(|seals| seals & libc::F_SEAL_SHRINK != 0)
}

/// The same open file as a descriptor that is no standard stream. A program may start with those
/// closed, and what it prints must not land in the file.
///
/// # Errors
/// The process has no descriptors left.
pub fn above_streams(file: File) -> io::Result<File> {
    const FIRST: RawFd = libc::STDERR_FILENO + 1;
    if file.as_raw_fd() >= FIRST {
        return Ok(file);
    }
    // SAFETY: a system call on an open descriptor with integers; the descriptor that comes is new.
    let copy = unsafe { own(libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST)) };
    Ok(copy?.into())
}

/// Largest file that this process may make, bytes.
fn largest() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: valid memory for the result.
    match unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } {
        0 => limit.rlim_cur,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_can_cut_it() {
        let file = memory_file(c"hpvm-test", 4096).unwrap();
        assert!(is_sealed(&file));
        assert_eq!(file.set_len(0).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(file.metadata().unwrap().len(), 4096);
        assert!(!is_sealed(&File::open("/dev/null").unwrap()));
    }
}
