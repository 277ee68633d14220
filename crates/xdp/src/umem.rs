//! The memory whose frames an XSK receives into and sends from (UMEM).

use core::ptr::NonNull;
use std::io;

/// Bytes of a frame. The kernel keeps some 256 of them for itself when it receives, so that a frame of ordinary
/// Ethernet fits.
pub const FRAME: usize = 2048;

/// Frames in a row.
pub struct Umem {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping of our own; frames are handed out one at a time by their owner.
unsafe impl Send for Umem {}

impl Umem {
    /// # Errors
    /// The system has no memory.
    pub fn new(frames: u32) -> io::Result<Umem> {
        let len = frames as usize * FRAME;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the system's choice.
        let base = unsafe { libc::mmap(core::ptr::null_mut(), len, protection, flags, -1, 0) };
        let base = NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED);
        let base = base.ok_or_else(io::Error::last_os_error)?;
        let umem = Umem { base, len };
        // A child of fork must not get copies: the kernel goes on writing into our pages.
        // SAFETY: our own mapping.
        unsafe { libc::madvise(umem.base.as_ptr().cast(), len, libc::MADV_DONTFORK) };
        Ok(umem)
    }

    pub fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The bytes from `at` on. `None`: that is not inside of one frame.
    #[inline]
    pub fn bytes(&self, at: u64, len: usize) -> Option<&[u8]> {
        let start = self.start(at, len)?;
        // SAFETY: inside of the mapping; the frame is ours as long as it is in none of the rings, which is
        // the caller's bookkeeping.
        Some(unsafe { core::slice::from_raw_parts(self.base.as_ptr().add(start), len) })
    }

    /// As [`Umem::bytes`], to write to.
    #[inline]
    pub fn bytes_mut(&mut self, at: u64, len: usize) -> Option<&mut [u8]> {
        let start = self.start(at, len)?;
        // SAFETY: as above.
        Some(unsafe { core::slice::from_raw_parts_mut(self.base.as_ptr().add(start), len) })
    }

    #[inline]
    fn start(&self, at: u64, len: usize) -> Option<usize> {
        let start = usize::try_from(at).ok().filter(|start| *start < self.len)?;
        (start % FRAME + len <= FRAME).then_some(start)
    }
}

impl Drop for Umem {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nobody uses any more: the kernel has pinned its pages itself.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_a_frame() {
        let mut umem = Umem::new(3).unwrap();
        let frame = FRAME as u64;
        umem.bytes_mut(frame, FRAME).unwrap().fill(7);
        assert_eq!(umem.bytes(frame + 256, 10).unwrap(), [7; 10]);
        assert_eq!(umem.bytes(0, 1).unwrap(), [0]);
        for (at, len) in [(0, FRAME + 1), (1, FRAME), (2 * frame, FRAME + 1), (3 * frame, 0)] {
            assert!(umem.bytes(at, len).is_none(), "{at} {len}");
        }
        assert!(umem.bytes_mut(u64::MAX, 1).is_none());
    }
}
