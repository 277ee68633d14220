//! Memory for messages: whole pages, all of them present, as registration wants it (`FI_MR_ALLOCATED`).

use core::ffi::c_void;
use std::io;
use std::ptr::NonNull;

/// Buffers of one size behind each other.
pub(crate) struct Memory {
    start: NonNull<u8>,
    size: usize,
    count: usize,
    /// Somebody may write there for ever.
    left: bool,
}

// SAFETY: the pages belong to this value alone, wherever it goes.
unsafe impl Send for Memory {}

impl Memory {
    /// `count` buffers of `size` bytes, zeros.
    pub fn new(count: usize, size: usize) -> io::Result<Memory> {
        let len = count * size;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: new memory at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start: NonNull<u8> = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        // A child of fork(2) would take pages away from a card that writes into them, and has no use for them.
        // SAFETY: the pages just made. Where the kernel refuses, nothing has changed.
        unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_DONTFORK) };
        Ok(Memory { start, size, count, left: false })
    }

    /// The pages stay when this value goes.
    pub fn leave(&mut self) {
        self.left = true;
    }

    /// How many buffers there are.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn len(&self) -> usize {
        self.count * self.size
    }

    /// The beginning of a buffer, for the library.
    pub fn at(&self, buffer: usize) -> *mut c_void {
        assert!(buffer < self.count, "a buffer that does not exist");
        // SAFETY: inside the mapping.
        unsafe { self.start.add(buffer * self.size) }.as_ptr().cast()
    }

    /// The first bytes of a buffer that the library has given back, at most all of it.
    pub fn bytes(&self, buffer: usize, len: usize) -> &[u8] {
        // SAFETY: inside the mapping, initialised, and written by nobody while the caller holds the buffer.
        unsafe { core::slice::from_raw_parts(self.at(buffer).cast(), len.min(self.size)) }
    }

    /// A buffer that is ours.
    pub fn bytes_mut(&mut self, buffer: usize) -> &mut [u8] {
        // SAFETY: inside the mapping, initialised, and the library reads it only while it has it.
        unsafe { core::slice::from_raw_parts_mut(self.at(buffer).cast(), self.size) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if !self.left {
            // SAFETY: the mapping of `new`, and nobody uses it any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.len()) };
        }
    }
}
