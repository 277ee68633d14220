//! Memory of other processes: read, written or mapped without their help.

use crate::Rank;
use core::ptr::NonNull;
use std::io;

/// Why a copy from or to a peer's memory did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerMemoryError {
    /// The system does not permit it, or the transport has no such path: send the bytes instead.
    NotPermitted,
    /// The peer's process is no more.
    Gone,
    /// The peer's memory could not be read or written: errno.
    Failed(i32),
}

/// Of a cross-memory copy that the kernel has refused.
impl From<io::Error> for PeerMemoryError {
    fn from(error: io::Error) -> PeerMemoryError {
        match error.raw_os_error().unwrap_or(0) {
            // What Yama, missing capabilities, and the seccomp filters of containers answer.
            libc::EPERM | libc::ENOSYS | libc::EACCES => PeerMemoryError::NotPermitted,
            libc::ESRCH => PeerMemoryError::Gone,
            other => PeerMemoryError::Failed(other),
        }
    }
}

/// Access to the memory of other processes. A transport without it takes the defaults.
///
/// The conformance suite checks that pulls and pushes copy exactly the bytes that they are to copy, or are
/// refused.
pub trait PeerMemory {
    /// True when `pull` from `src` is worth trying.
    fn can_pull(&self, src: Rank) -> bool {
        let _ = src;
        false
    }

    /// The same without asking whether it is the fastest way: somebody has measured that.
    fn may_pull(&self, src: Rank) -> bool {
        self.can_pull(src)
    }

    /// Copies `len` bytes from `remote` in the memory of `src` to `local`: one copy, no help from
    /// the peer's processor.
    ///
    /// # Safety
    /// `local` is valid for writes of `len` bytes. `remote` needs no trust: an address that is not
    /// mapped in the peer is refused by the kernel.
    unsafe fn pull(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let _ = (src, remote, local, len);
        Err(PeerMemoryError::NotPermitted)
    }

    /// Copies `len` bytes from `local` to `remote` in the memory of `dst`, as `pull` does the other way
    /// round.
    ///
    /// # Safety
    /// `local` is valid for reads of `len` bytes. `remote` needs no trust, as for `pull`, but `dst` has
    /// said that it may be written to.
    unsafe fn push(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let _ = (dst, remote, local, len);
        Err(PeerMemoryError::NotPermitted)
    }

    /// Where in our own address space `len` bytes at `remote` in the memory of `src` lie, when that is
    /// memory which `src` lends and copying from there is worth while. They stay readable for as long as this end lives, and are what
    /// `src` wrote before the last packet that has come from it.
    fn lent(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        let _ = (src, remote, len);
        None
    }

    /// The same whether or not copying from there is worth while for a message.
    fn window(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        let _ = (src, remote, len);
        None
    }

    /// Memory of `bytes` bytes that the ranks of our host can read by `window`, aligned to a page.
    /// It is valid while this end lives. `None`: there is none.
    fn lend_memory(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let _ = bytes;
        None
    }
}
