//! Peers' memory: that of the ranks of our host.

use crate::mux::Mux;
use core::ptr::NonNull;
use hpvm_transport::{PeerMemory, PeerMemoryError, Rank};

impl PeerMemory for Mux {
    fn can_pull(&self, src: Rank) -> bool {
        self.local(src).is_some_and(|local| self.shm.can_pull(local))
    }

    fn may_pull(&self, src: Rank) -> bool {
        self.local(src).is_some_and(|local| self.shm.may_pull(local))
    }

    unsafe fn pull(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let peer = self.local(src).ok_or(PeerMemoryError::NotPermitted)?;
        // SAFETY: the caller's promise.
        unsafe { self.shm.pull(peer, remote, local, len) }
    }

    unsafe fn push(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let peer = self.local(dst).ok_or(PeerMemoryError::NotPermitted)?;
        // SAFETY: the caller's promise.
        unsafe { self.shm.push(peer, remote, local, len) }
    }

    fn lent(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        self.shm.lent(self.local(src)?, remote, len)
    }

    fn window(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        self.shm.window(self.local(src)?, remote, len)
    }

    fn lend_memory(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        self.shm.lend(bytes)
    }
}
