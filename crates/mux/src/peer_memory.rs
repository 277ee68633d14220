//! Peers' memory: that of the ranks of our host.

use crate::mux::Mux;
use core::ptr::NonNull;
use hpvm_transport::{PeerMemory, PeerMemoryError, Rank};

impl PeerMemory for Mux {
    fn read_pays(&self, src: Rank) -> bool {
        self.local(src).is_some_and(|local| self.shm.read_pays(local))
    }

    fn can_read(&self, src: Rank) -> bool {
        self.local(src).is_some_and(|local| self.shm.can_read(local))
    }

    unsafe fn read(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let peer = self.local(src).ok_or(PeerMemoryError::NotPermitted)?;
        // SAFETY: the caller's promise.
        unsafe { self.shm.read(peer, remote, local, len) }
    }

    unsafe fn write(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let peer = self.local(dst).ok_or(PeerMemoryError::NotPermitted)?;
        // SAFETY: the caller's promise.
        unsafe { self.shm.write(peer, remote, local, len) }
    }

    fn mapped(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        self.shm.mapped(self.local(src)?, remote, len)
    }

    fn min_mapped(&self) -> u64 {
        self.shm.min_mapped()
    }

    fn lend(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        self.shm.lend(bytes)
    }

    fn take_back(&mut self, memory: *mut u8) -> bool {
        self.shm.take_back(memory)
    }

    fn mapped_mut(&mut self, owner: Rank, remote: u64, len: u64) -> Option<NonNull<u8>> {
        self.shm.mapped_mut(self.local(owner)?, remote, len)
    }
}
