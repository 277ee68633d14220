//! A shared file pointer among ranks of one host: a number in memory that they all map.

use crate::shared_memory::SharedMemory;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file pointer that several ranks move, in etypes.
#[derive(Debug)]
pub struct SharedPointer(SharedMemory);

/// A page: what the kernel maps at least.
const BYTES: usize = 4096;

impl SharedPointer {
    /// Makes one, at 0.
    pub fn create() -> io::Result<SharedPointer> {
        SharedMemory::create(c"hpvm-file-pointer", BYTES).map(SharedPointer)
    }

    /// Where other processes of this user find it, while this one lives.
    pub fn path(&self) -> PathBuf {
        self.0.path()
    }

    /// Opens the one that another process has made.
    pub fn open(path: &Path) -> io::Result<SharedPointer> {
        SharedMemory::open(path, BYTES).map(SharedPointer)
    }

    fn value(&self) -> &AtomicU64 {
        // SAFETY: mapped while this lives, aligned to a page, and only used as an atomic.
        unsafe { &*self.0.address().cast() }
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
