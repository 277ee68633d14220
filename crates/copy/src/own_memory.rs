//! Reading and writing this process's memory at an address that may be wrong.
//!
//! All ranks of a virtual network share one address space, so a plain copy would do for correct programs; but a wrong address
//! would crash the process instead of being refused. The kernel's copy refuses it, as between processes.

use crate::attach;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

/// Copies `len` bytes from `remote`, an address of this process, to `local`.
///
/// # Errors
/// EFAULT or EIO when the memory is not there. Some of the bytes may have been copied.
///
/// # Safety
/// `local` is valid for writes of `len` bytes. `remote` needs no trust.
pub unsafe fn read(remote: u64, local: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        match attach::read(std::process::id(), remote, local, len) {
            Err(error) if is_forbidden(&error) => read_proc_mem(remote, local, len),
            outcome => outcome,
        }
    }
}

/// Copies `len` bytes from `local` to `remote`, an address of this process.
///
/// # Errors
/// As for [`read`].
///
/// # Safety
/// `local` is valid for reads of `len` bytes. What is at `remote` may be written to by whoever knows of it.
pub unsafe fn write(remote: u64, local: *const u8, len: usize) -> io::Result<()> {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        match attach::write(std::process::id(), remote, local, len) {
            Err(error) if is_forbidden(&error) => write_proc_mem(remote, local, len),
            outcome => outcome,
        }
    }
}

/// The seccomp filter of a container forbids it; a file that a process may always use for itself is left.
fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS | libc::EACCES))
}

/// The second way of [`read`].
///
/// # Safety
/// As for [`read`].
unsafe fn read_proc_mem(remote: u64, local: *mut u8, len: usize) -> io::Result<()> {
    let memory = File::open("/proc/self/mem")?;
    if len == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise; the kernel writes there, and nobody else has the bytes meanwhile.
    let room = unsafe {
        core::ptr::write_bytes(local, 0, len);
        core::slice::from_raw_parts_mut(local, len)
    };
    // An address above i64::MAX is the kernel's; pread refuses the negative offset.
    memory.read_exact_at(room, remote).map_err(not_there)
}

/// The second way of [`write()`]. The kernel refuses memory that is not mapped; unlike the first way it writes to what is
/// mapped for reading alone.
///
/// # Safety
/// As for [`write()`].
unsafe fn write_proc_mem(remote: u64, local: *const u8, len: usize) -> io::Result<()> {
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    if len == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise; nobody writes to what is sent meanwhile.
    let bytes = unsafe { core::slice::from_raw_parts(local, len) };
    memory.write_all_at(bytes, remote).map_err(not_there)
}

/// What ends early has no code of the kernel's.
fn not_there(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(_) => error,
        None => io::Error::from_raw_os_error(libc::EFAULT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WILD: [u64; 5] = [0, 16, 1 << 63, u64::MAX - 100, u64::MAX];

    fn bytes() -> Vec<u8> {
        (0..100_000).map(|i| i as u8).collect()
    }

    #[test]
    fn both_ways_read_and_refuse() {
        type Read = unsafe fn(u64, *mut u8, usize) -> io::Result<()>;
        let source = bytes();
        for read in [read as Read, read_proc_mem] {
            let mut room = vec![0; source.len()];
            let remote = source.as_ptr().expose_provenance() as u64;
            // SAFETY: `room` is as long as the source.
            unsafe { read(remote, room.as_mut_ptr(), source.len()) }.expect("it is there");
            assert!(room == source);
            for wild in WILD {
                // SAFETY: as above.
                let outcome = unsafe { read(wild, room.as_mut_ptr(), 4096) };
                let code = outcome.expect_err("nothing is there").raw_os_error();
                assert!(code.is_some_and(|code| code != libc::EPERM), "{wild:#x}: {code:?}");
            }
        }
    }

    #[test]
    fn both_ways_write_and_refuse() {
        type Write = unsafe fn(u64, *const u8, usize) -> io::Result<()>;
        let source = bytes();
        for write in [write as Write, write_proc_mem] {
            let mut room = vec![0; source.len()];
            let remote = room.as_mut_ptr().expose_provenance() as u64;
            // SAFETY: the source is as long as the room, which nobody looks at meanwhile.
            unsafe { write(remote, source.as_ptr(), source.len()) }.expect("it is there");
            assert!(room == source);
            for wild in WILD {
                // SAFETY: as above.
                let outcome = unsafe { write(wild, source.as_ptr(), 4096) };
                assert!(outcome.is_err(), "{wild:#x}");
            }
        }
    }
}
