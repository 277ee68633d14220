//! A shared file pointer among ranks of one host: a number in memory that they all map.
//!
//! The memory is a memfd, so it has no name in any file system and ends with the last process that has it
//! open. The rank that makes it tells the others where they find it: `/proc/PID/fd/N`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file pointer that several ranks move, in etypes.
#[derive(Debug)]
pub struct SharedPointer {
    value: *const AtomicU64,
    file: File,
}

// SAFETY: the value is an atomic in memory that stays mapped while this lives.
unsafe impl Send for SharedPointer {}
// SAFETY: as above.
unsafe impl Sync for SharedPointer {}

/// A page: what the kernel maps at least.
const BYTES: usize = 4096;

impl SharedPointer {
    /// Makes one, at 0.
    pub fn create() -> io::Result<SharedPointer> {
        SharedPointer::map(hpvm_os::memory_file(c"hpvm-file-pointer", BYTES as u64)?)
    }

    /// Where other processes of this user find it, while this one lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// Opens the one that another process has made. What `path` names is an allegation: it has to be a
    /// file of the right length that cannot shrink.
    pub fn open(path: &Path) -> io::Result<SharedPointer> {
        let file = File::options().read(true).write(true).open(path)?;
        if !hpvm_os::is_sealed(&file) || file.metadata()?.len() != BYTES as u64 {
            let text = format!("{} is no shared file pointer", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        SharedPointer::map(file)
    }

    fn map(file: File) -> io::Result<SharedPointer> {
        // SAFETY: a new mapping of a file that has that many bytes and cannot shrink.
        let address = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedPointer { value: address.cast_const().cast(), file })
    }

    fn value(&self) -> &AtomicU64 {
        // SAFETY: mapped while this lives, aligned to a page, and only used as an atomic.
        unsafe { &*self.value }
    }

    pub fn get(&self) -> u64 {
        // SeqCst: file operations are far apart, and programs reason about their order.
        self.value().load(Ordering::SeqCst)
    }

    pub fn set(&self, etypes: u64) {
        // SeqCst: as in `get`.
        self.value().store(etypes, Ordering::SeqCst);
    }

    /// Moves it on; says where it was.
    pub fn advance(&self, etypes: u64) -> u64 {
        // SeqCst: as in `get`.
        self.value().fetch_add(etypes, Ordering::SeqCst)
    }
}

impl Drop for SharedPointer {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of this length, that nobody can use any more.
        unsafe { libc::munmap(self.value.cast_mut().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_share_one_number() {
        let a = SharedPointer::create().unwrap();
        let b = SharedPointer::open(&a.path()).unwrap();
        assert_eq!(a.advance(5), 0);
        assert_eq!(b.advance(2), 5);
        b.set(100);
        assert_eq!(a.get(), 100);
        assert!(SharedPointer::open(Path::new("/proc/self/exe")).is_err());
    }
}
