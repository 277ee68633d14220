//! Reading memory at an address that nobody vouches for.
//!
//! All processes of a virtual network share one address space, so a plain copy would do for
//! correct programs; but a wrong address would crash the test instead of being refused. The
//! kernel's copy refuses it, here as in `shm`.

use hpvm_transport::PullRefused;

/// Copies `len` bytes from `remote`, an address of this process, to `local`.
///
/// # Safety
/// `local` is valid for writes of `len` bytes. `remote` needs no trust.
pub(crate) unsafe fn read_own_memory(
    remote: u64,
    local: *mut u8,
    len: usize,
) -> Result<(), PullRefused> {
    let mut done = 0;
    while done < len {
        let address = usize::try_from(remote)
            .ok()
            .and_then(|r| r.checked_add(done))
            .ok_or(PullRefused::Failed(libc::EFAULT))?;
        let to = libc::iovec { iov_base: local.wrapping_add(done).cast(), iov_len: len - done };
        let from = libc::iovec {
            iov_base: core::ptr::with_exposed_provenance_mut(address),
            iov_len: len - done,
        };
        // SAFETY: the kernel writes at most `len - done` bytes from `local + done` on, which the
        // caller vouches for, and refuses a source that is not mapped; both vectors live here.
        let n = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
        match usize::try_from(n) {
            // Mapped memory ends here.
            Ok(0) => return Err(PullRefused::Failed(libc::EFAULT)),
            Ok(n) => done += n,
            Err(_) => return Err(refusal()),
        }
    }
    Ok(())
}

fn refusal() -> PullRefused {
    match std::io::Error::last_os_error().raw_os_error() {
        // What seccomp filters answer.
        Some(libc::EPERM | libc::ENOSYS) | None => PullRefused::NotPermitted,
        Some(errno) => PullRefused::Failed(errno),
    }
}
