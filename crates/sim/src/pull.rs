//! Reading and writing memory at an address that nobody vouches for.
//!
//! All processes of a virtual network share one address space, so a plain copy would do for
//! correct programs; but a wrong address would crash the test instead of being refused. The
//! kernel's copy refuses it, here as in `shm`.

use hpvm_copy::attach;
use hpvm_transport::PeerMemoryError;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Copies `len` bytes from `remote`, an address of this process, to `local`.
///
/// # Safety
/// `local` is valid for writes of `len` bytes. `remote` needs no trust.
pub(crate) unsafe fn read_own_memory(
    remote: u64,
    local: *mut u8,
    len: usize,
) -> Result<(), PeerMemoryError> {
    // SAFETY: the caller's promise, passed on.
    match unsafe { attach::read(std::process::id(), remote, local, len) }.map_err(Into::into) {
        // The seccomp filter of a container; a file that a process may always read about itself is left.
        Err(PeerMemoryError::NotPermitted) => {
            // SAFETY: the caller's promise, passed on.
            unsafe { read_proc_mem(remote, local, len) }
        }
        outcome => outcome,
    }
}

/// Copies `len` bytes from `local` to `remote`, an address of this process.
///
/// # Safety
/// `local` is valid for reads of `len` bytes. What is at `remote` may be written to by whoever knows of it.
pub(crate) unsafe fn write_own_memory(
    remote: u64,
    local: *const u8,
    len: usize,
) -> Result<(), PeerMemoryError> {
    // SAFETY: the caller's promise, passed on.
    Ok(unsafe { attach::write(std::process::id(), remote, local, len) }?)
}

/// The second way.
///
/// # Safety
/// `local` is valid for writes of `len` bytes.
unsafe fn read_proc_mem(remote: u64, local: *mut u8, len: usize) -> Result<(), PeerMemoryError> {
    let Ok(memory) = File::open("/proc/self/mem") else {
        return Err(PeerMemoryError::NotPermitted);
    };
    if len == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise; the kernel writes there, and nobody else has the bytes meanwhile.
    let room = unsafe {
        core::ptr::write_bytes(local, 0, len);
        core::slice::from_raw_parts_mut(local, len)
    };
    // An address above i64::MAX is the kernel's; pread refuses the negative offset.
    let read = memory.read_exact_at(room, remote);
    read.map_err(|e: io::Error| PeerMemoryError::Failed(e.raw_os_error().unwrap_or(libc::EFAULT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Reader = unsafe fn(u64, *mut u8, usize) -> Result<(), PeerMemoryError>;

    #[test]
    fn both_ways_copy_and_refuse() {
        let source: Vec<u8> = (0..100_000).map(|i| i as u8).collect();
        for read in [read_own_memory as Reader, read_proc_mem] {
            let mut room = vec![0; source.len()];
            let remote = source.as_ptr().expose_provenance() as u64;
            // SAFETY: `room` is as long as the source.
            assert_eq!(unsafe { read(remote, room.as_mut_ptr(), source.len()) }, Ok(()));
            assert!(room == source);
            for wild in [0, 16, 1 << 63, u64::MAX - 100, u64::MAX] {
                // SAFETY: as above.
                let outcome = unsafe { read(wild, room.as_mut_ptr(), 4096) };
                assert!(
                    matches!(outcome, Err(PeerMemoryError::Failed(_))),
                    "{wild:#x}: {outcome:?}"
                );
            }
        }
    }
}
