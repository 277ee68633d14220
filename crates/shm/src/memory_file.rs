//! Files without a name that hold memory for several processes (memfd).
//!
//! Each is sealed: its size never changes, so whoever maps it can't be killed by a peer, or by any other
//! process of the user, that cuts it. Those who map the file of another check the seal.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

/// Makes a file of `bytes` zeros. Its descriptor is none of the standard streams.
///
/// # Errors
/// The system has no memory files or no descriptors left, or limits how large files may be.
pub(crate) fn create(name: &CStr, bytes: u64) -> io::Result<File> {
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
    // SAFETY: a valid C string; the result is checked.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just made and belongs to nobody else.
    let file = above_streams(unsafe { File::from_raw_fd(fd) })?;
    file.set_len(bytes)?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: a system call on our own descriptor with integers.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Nobody can make `file` smaller.
pub(crate) fn is_sealed(file: &File) -> bool {
    // SAFETY: a system call on our own descriptor.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    seals >= 0 && seals & libc::F_SEAL_SHRINK != 0
}

/// The same open file as a descriptor that is no standard stream. A program may start with those
/// closed, and what it prints must not land in the file.
pub(crate) fn above_streams(file: File) -> io::Result<File> {
    if file.as_raw_fd() > libc::STDERR_FILENO {
        return Ok(file);
    }
    // SAFETY: a system call on an open descriptor with integers; the result is checked.
    let fd =
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, libc::STDERR_FILENO + 1) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just made and belongs to nobody else.
    Ok(unsafe { File::from_raw_fd(fd) })
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
