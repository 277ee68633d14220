//! Cross-memory attach: reading and writing a peer's memory without its help.

use hpvm_transport::PullRefused;

/// Copies `len` bytes at `remote` in process `pid` to `local`.
///
/// # Safety
/// `local` is valid for writes of `len` bytes.
pub unsafe fn read(pid: u32, remote: u64, local: *mut u8, len: usize) -> Result<(), PullRefused> {
    // SAFETY: `all` calls it with parts of `local`; the kernel checks `from` against the peer's map.
    let read = |to: &libc::iovec, from: &libc::iovec| unsafe {
        libc::process_vm_readv(pid as libc::pid_t, to, 1, from, 1, 0)
    };
    all(local, remote, len, read)
}

/// Copies `len` bytes at `local` to `remote` in process `pid`.
///
/// # Safety
/// `local` is valid for reads of `len` bytes.
pub unsafe fn write(
    pid: u32,
    remote: u64,
    local: *const u8,
    len: usize,
) -> Result<(), PullRefused> {
    // SAFETY: as in `read`; the kernel only reads from `local`.
    let write = |from: &libc::iovec, to: &libc::iovec| unsafe {
        libc::process_vm_writev(pid as libc::pid_t, from, 1, to, 1, 0)
    };
    all(local.cast_mut(), remote, len, write)
}

/// Calls `copy` with our memory and the peer's until `len` bytes have been copied.
fn all(
    local: *mut u8,
    remote: u64,
    len: usize,
    copy: impl Fn(&libc::iovec, &libc::iovec) -> isize,
) -> Result<(), PullRefused> {
    let mut done = 0;
    while done < len {
        let left = len - done;
        let ours = libc::iovec { iov_base: local.wrapping_add(done).cast(), iov_len: left };
        let theirs = (remote as usize).wrapping_add(done) as *mut libc::c_void;
        let theirs = libc::iovec { iov_base: theirs, iov_len: left };
        match copy(&ours, &theirs) {
            n if n > 0 => done += n as usize,
            0 => return Err(PullRefused::Failed(libc::EFAULT)),
            _ => {
                let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
                return Err(match errno {
                    libc::EPERM | libc::ENOSYS | libc::EACCES => PullRefused::NotPermitted,
                    libc::ESRCH => PullRefused::Gone,
                    other => PullRefused::Failed(other),
                });
            }
        }
    }
    Ok(())
}

/// Whether reading another process's memory through the kernel is fast enough here to beat two
/// copies through shared frames, which two processors do at the same time.
///
/// Measured on ourselves, some 50 microseconds once: the kernel pays for the system call and for
/// looking up every page, which on some virtual machines costs more than copying it.
pub fn pays() -> bool {
    const BYTES: usize = 64 * 1024;
    // Half a page apart within their pages: two blocks of `malloc` would be 16 bytes apart, where some
    // processors copy twenty times as slowly as anywhere else.
    const SKEW: usize = 2048;
    let mut memory = vec![1u8; 2 * BYTES + SKEW];
    let (source, target) = memory.split_at_mut(BYTES);
    let target = &mut target[SKEW..];
    let me = std::process::id();
    let best = |work: &mut dyn FnMut()| {
        let once = |_| {
            let start = std::time::Instant::now();
            work();
            start.elapsed()
        };
        (0..4).map(once).min().unwrap_or_default()
    };
    let mut permitted = true;
    let pulled = best(&mut || {
        // SAFETY: `target` holds `BYTES` bytes.
        permitted &=
            unsafe { read(me, source.as_ptr().addr() as u64, target.as_mut_ptr(), BYTES) }.is_ok();
    });
    let copied = best(&mut || std::hint::black_box(&mut *target).copy_from_slice(source));
    permitted && pulled < copied * 3
}

/// Lets the other ranks of this job read our memory where the kernel's Yama policy asks for a
/// declaration. Failure only means that there is no such policy.
pub fn permit() {
    const PR_SET_PTRACER: libc::c_int = 0x5961_6d61;
    // SAFETY: prctl with integers only.
    unsafe {
        libc::prctl(PR_SET_PTRACER, libc::c_ulong::MAX, 0, 0, 0);
    }
}
