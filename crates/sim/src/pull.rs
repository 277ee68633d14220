//! Reading memory at an address that nobody vouches for.
//!
//! All processes of a virtual network share one address space, so a plain copy would do for
//! correct programs; but a wrong address would crash the test instead of being refused. The
//! kernel's copy refuses it, here as in `shm`.

use hpvm_transport::PullRefused;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Copies `len` bytes from `remote`, an address of this process, to `local`.
///
/// # Safety
/// `local` is valid for writes of `len` bytes. `remote` needs no trust.
pub(crate) unsafe fn read_own_memory(
    remote: u64,
    local: *mut u8,
    len: usize,
) -> Result<(), PullRefused> {
    // SAFETY: `copy_pieces` calls it with pieces of `local` only.
    let read = |done, to, n| unsafe { vm_read(remote, done, to, n) };
    // SAFETY: the caller's promise, passed on.
    let outcome = unsafe { copy_pieces(local, len, read) };
    match outcome.map_err(|e| e.raw_os_error()) {
        // What the seccomp filters of containers answer.
        Err(Some(libc::EPERM | libc::ENOSYS)) => {
            // SAFETY: the caller's promise, passed on.
            unsafe { read_proc_mem(remote, local, len) }
        }
        outcome => outcome.map_err(|errno| PullRefused::Failed(errno.unwrap_or(libc::EFAULT))),
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
) -> Result<(), PullRefused> {
    // The name of its parameters notwithstanding, `copy_pieces` only counts.
    let write = |done, from: *mut u8, n| {
        let from = libc::iovec { iov_base: from.cast(), iov_len: n };
        let address = source_address(remote, done)?;
        let to =
            libc::iovec { iov_base: core::ptr::with_exposed_provenance_mut(address), iov_len: n };
        // SAFETY: the kernel reads at most `n` bytes at `from`, which the caller vouches for, and
        // refuses a target that is not mapped; both vectors live here.
        Ok(unsafe { libc::process_vm_writev(libc::getpid(), &from, 1, &to, 1, 0) })
    };
    // SAFETY: the caller's promise; `write` does not write to `local`.
    unsafe { copy_pieces(local.cast_mut(), len, write) }.map_err(|e| match e.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS) => PullRefused::NotPermitted,
        errno => PullRefused::Failed(errno.unwrap_or(libc::EFAULT)),
    })
}

/// The second way: a file that a process may always read about itself.
///
/// # Safety
/// `local` is valid for writes of `len` bytes.
unsafe fn read_proc_mem(remote: u64, local: *mut u8, len: usize) -> Result<(), PullRefused> {
    let Ok(memory) = File::open("/proc/self/mem") else { return Err(PullRefused::NotPermitted) };
    let read = |done, to: *mut u8, n| {
        let address = source_address(remote, done)?;
        // An address above i64::MAX is the kernel's; pread refuses the negative offset.
        // SAFETY: the kernel writes at most `n` bytes at `to`, a piece of `local`.
        Ok(unsafe { libc::pread(memory.as_raw_fd(), to.cast(), n, address as libc::off_t) })
    };
    // SAFETY: the caller's promise, passed on.
    unsafe { copy_pieces(local, len, read) }
        .map_err(|e| PullRefused::Failed(e.raw_os_error().unwrap_or(libc::EFAULT)))
}

/// Calls `read(done, to, n)` until `len` bytes have come; it may bring fewer than `n` at a time.
///
/// # Safety
/// `local` is valid for writes of `len` bytes.
unsafe fn copy_pieces(
    local: *mut u8,
    len: usize,
    read: impl Fn(usize, *mut u8, usize) -> io::Result<isize>,
) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        match usize::try_from(read(done, local.wrapping_add(done), len - done)?) {
            // Mapped memory ends here.
            Ok(0) => return Err(io::Error::from_raw_os_error(libc::EFAULT)),
            Ok(n) => done += n,
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}

/// One call of the kernel: how many bytes came, negative for errno.
///
/// # Safety
/// `to` is valid for writes of `n` bytes.
unsafe fn vm_read(remote: u64, done: usize, to: *mut u8, n: usize) -> io::Result<isize> {
    let to = libc::iovec { iov_base: to.cast(), iov_len: n };
    let address = source_address(remote, done)?;
    let from =
        libc::iovec { iov_base: core::ptr::with_exposed_provenance_mut(address), iov_len: n };
    // SAFETY: the kernel writes at most `n` bytes at `to`, which the caller vouches for, and
    // refuses a source that is not mapped; both vectors live here.
    Ok(unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) })
}

fn source_address(remote: u64, done: usize) -> io::Result<usize> {
    let address = usize::try_from(remote).ok().and_then(|r| r.checked_add(done));
    address.ok_or_else(|| io::Error::from_raw_os_error(libc::EFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Reader = unsafe fn(u64, *mut u8, usize) -> Result<(), PullRefused>;

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
                assert!(matches!(outcome, Err(PullRefused::Failed(_))), "{wild:#x}: {outcome:?}");
            }
        }
    }
}
