//! Memory that processes of one host share.
//!
//! The memory is a memfd, so it has no name in any file system and ends with the last process that has it
//! open. The process that makes it tells the others where they find it: `/proc/PID/fd/N`.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// So many bytes, mapped for reading and writing; zeros at first.
#[derive(Debug)]
pub struct SharedMemory {
    address: *mut u8,
    bytes: usize,
    file: File,
}

// SAFETY: it only says where the memory is, which stays mapped while this lives; whoever uses the address says why that is sound.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    pub fn create(name: &CStr, bytes: usize) -> io::Result<SharedMemory> {
        SharedMemory::map(hpvm_os::memory_file(name, bytes as u64)?, bytes)
    }

    /// Where other processes of this user find it, while this one lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// Opens what another process has made. What `path` names is an allegation: it has to be a file of
    /// the right length that cannot shrink.
    pub fn open(path: &Path, bytes: usize) -> io::Result<SharedMemory> {
        let file = File::options().read(true).write(true).open(path)?;
        let found = file.metadata()?.len();
        if !hpvm_os::is_sealed(&file) || found != bytes as u64 {
            let text = format!(
                "{} is no memory of {bytes} bytes that files share (found {found})",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        SharedMemory::map(file, bytes)
    }

    fn map(file: File, bytes: usize) -> io::Result<SharedMemory> {
        // SAFETY: a new mapping of a file that has that many bytes and cannot shrink.
        let address = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedMemory { address: address.cast(), bytes, file })
    }

    /// The first byte, on a page's border.
    pub fn address(&self) -> *mut u8 {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of this length, that nobody can use any more.
        unsafe { libc::munmap(self.address.cast(), self.bytes) };
    }
}
