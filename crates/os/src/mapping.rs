//! Memory that is mapped, at an address of the kernel's choice or at a given one.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{NonNull, null_mut, with_exposed_provenance_mut};

/// Maps `bytes` bytes to be read and written: of a file from its start, which others see too, or without one zeros of this process.
/// They lie `at` an address, if nothing lies there yet. Pages are allocated when they are touched.
///
/// # Errors
/// Something lies at the address, or the system has no room.
pub fn map(at: Option<usize>, bytes: usize, file: Option<&File>) -> io::Result<NonNull<u8>> {
    let (sharing, fd) = match file {
        Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
        None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
    };
    let fixed = if at.is_some() { libc::MAP_FIXED_NOREPLACE } else { 0 };
    let flags = sharing | fixed | libc::MAP_NORESERVE;
    let place = at.map_or(null_mut(), with_exposed_provenance_mut);
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, which replaces none.
    let base = unsafe { libc::mmap(place, bytes, rights, flags, fd, 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if at.is_some_and(|at| at != base.addr()) {
        // Linux before 4.17 does not know the flag, and takes the address for a hint.
        // SAFETY: the mapping that was just made, which nobody uses.
        unsafe { libc::munmap(base, bytes) };
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_replaced() {
        let first = map(None, 4096, None).unwrap();
        // SAFETY: mapped above.
        unsafe { first.write(7) };
        let address = first.as_ptr().addr();
        assert!(map(Some(address), 4096, None).is_err());
        // SAFETY: as above; then it is unmapped, and nobody uses it.
        unsafe {
            assert_eq!(first.read(), 7);
            libc::munmap(first.as_ptr().cast(), 4096);
        }
        let file = crate::memory_file(c"hpvm-test", 4096).unwrap();
        let again = map(Some(address), 4096, Some(&file)).unwrap();
        assert_eq!(again.as_ptr().addr(), address);
        // SAFETY: mapped above.
        unsafe { libc::munmap(again.as_ptr().cast(), 4096) };
    }
}
