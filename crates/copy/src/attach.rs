//! Cross-memory attach: the kernel copies between this process's memory and another's, in one copy and
//! without the other's help.

use std::io;

/// Copies `len` bytes at `remote` in process `pid` to `local`. `remote` needs no trust: what is not mapped there
/// is refused.
///
/// # Errors
/// What the kernel says: ESRCH when there is no such process, EPERM, EACCES or ENOSYS where this is not
/// permitted, EFAULT when the memory is not there. Some of the bytes may have been copied.
///
/// # Safety
/// `local` is valid for writes of `len` bytes.
pub unsafe fn read(pid: u32, remote: u64, local: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: `all` calls it with parts of `local`; the kernel checks `from` against the peer's map.
    let read = |to: &libc::iovec, from: &libc::iovec| unsafe {
        libc::process_vm_readv(pid as libc::pid_t, to, 1, from, 1, 0)
    };
    all(local, remote, len, read)
}

/// Copies `len` bytes at `local` to `remote` in process `pid`.
///
/// # Errors
/// As for [`read`].
///
/// # Safety
/// `local` is valid for reads of `len` bytes.
pub unsafe fn write(pid: u32, remote: u64, local: *const u8, len: usize) -> io::Result<()> {
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
) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        let left = len - done;
        let ours = libc::iovec { iov_base: local.wrapping_add(done).cast(), iov_len: left };
        let theirs = (remote as usize).wrapping_add(done) as *mut libc::c_void;
        let theirs = libc::iovec { iov_base: theirs, iov_len: left };
        match copy(&ours, &theirs) {
            n if n > 0 => done += n as usize,
            // The peer's mapped memory ends here.
            0 => return Err(io::Error::from_raw_os_error(libc::EFAULT)),
            _ => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}

/// What it costs here to read another process's memory.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// It is fast enough to beat two copies through shared frames, which two processors do at the same time.
    pub pays: bool,
    /// Nanoseconds for [`MEASURED_BYTES`] that lie in this processor's cache, at least 1.
    pub cached_ns: u32,
}

/// Bytes of the read that is measured.
pub const MEASURED_BYTES: usize = 64 * 1024;

impl Cost {
    /// Whether a read of `len` bytes that took `ns` was much slower than one of cached memory: the data lay in another processor's
    /// cache, or in none.
    pub fn is_slow(cached_ns: u32, len: usize, ns: u64) -> bool {
        let cached_ns = u64::from(cached_ns);
        let usual = cached_ns.saturating_mul(len as u64) / MEASURED_BYTES as u64;
        // A quarter of the measured time for the part of the cost that does not depend on the length.
        cached_ns != 0 && ns > usual.saturating_add(usual / 2 + cached_ns / 4)
    }
}

/// What reading another process's memory through the kernel costs.
///
/// Measured on ourselves, some 50 microseconds once: the kernel pays for the system call and for
/// looking up every page, which on some virtual machines costs more than copying it.
pub fn measure() -> Cost {
    const BYTES: usize = MEASURED_BYTES;
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
    let read_time = best(&mut || {
        // SAFETY: `target` holds `BYTES` bytes.
        permitted &=
            unsafe { read(me, source.as_ptr().addr() as u64, target.as_mut_ptr(), BYTES) }.is_ok();
    });
    let copy_time = best(&mut || std::hint::black_box(&mut *target).copy_from_slice(source));
    let cached_ns = read_time.as_nanos().clamp(1, u128::from(u32::MAX)) as u32;
    Cost { pays: permitted && read_time < copy_time * 3, cached_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_is_half_as_much_again_as_cached_memory_takes() {
        for (cached_ns, len, ns, slow) in [
            (8000, MEASURED_BYTES, 14_000, false),
            (8000, MEASURED_BYTES, 14_001, true),
            (8000, 2 * MEASURED_BYTES, 26_001, true),
            (8000, 0, 2000, false),
            (0, MEASURED_BYTES, u64::MAX, false),
            (u32::MAX, usize::MAX, u64::MAX, true),
        ] {
            assert_eq!(Cost::is_slow(cached_ns, len, ns), slow, "{cached_ns} {len} {ns}");
        }
    }

    #[test]
    fn own_memory_is_copied_both_ways_and_wild_addresses_are_refused() {
        let source: Vec<u8> = (0..100_000).map(|i| i as u8).collect();
        let mut target = vec![0; source.len()];
        let me = std::process::id();
        let remote = source.as_ptr().expose_provenance() as u64;
        // SAFETY: `target` is as long as `source`.
        let done = unsafe { read(me, remote, target.as_mut_ptr(), source.len()) };
        let not_permitted = |e: &io::Error| e.raw_os_error() == Some(libc::EPERM);
        if done.as_ref().is_err_and(not_permitted) {
            return;
        }
        done.expect("our own memory is readable");
        assert!(target == source);
        target.fill(0);
        let remote = target.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: `source` is as long as `target`.
        unsafe { write(me, remote, source.as_ptr(), source.len()) }.expect("it is writable");
        assert!(target == source);
        for wild in [0, 16, 1 << 63, u64::MAX - 100, u64::MAX] {
            // SAFETY: `target` is longer; nothing is mapped at those addresses.
            let outcome = unsafe { read(me, wild, target.as_mut_ptr(), 4096) };
            assert!(outcome.is_err(), "{wild:#x}");
            // SAFETY: as above.
            assert!(unsafe { write(me, wild, source.as_ptr(), 4096) }.is_err(), "{wild:#x}");
        }
    }
}
