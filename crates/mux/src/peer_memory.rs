//! Peers' memory: that of the ranks of our host, also of ranks of other jobs that are linked to ours.

use crate::mux::Mux;
use core::ptr::NonNull;
use hpvm_shm::Shm;
use hpvm_transport::{PeerMemory, PeerMemoryError, Rank};

impl Mux {
    /// The segment by which `rank` is reached, if it shares our host, and its number there.
    #[inline(always)]
    fn shares_host(&self, rank: Rank) -> Option<(&Shm, u32)> {
        match self.local(rank) {
            Some(local) => Some((&self.shm, local)),
            None => self.hosts.as_ref()?.links.reach(rank),
        }
    }

    #[inline(always)]
    fn shares_host_mut(&mut self, rank: Rank) -> Option<(&mut Shm, u32)> {
        match self.local(rank) {
            Some(local) => Some((&mut self.shm, local)),
            None => self.hosts.as_mut()?.links.reach_mut(rank),
        }
    }
}

impl PeerMemory for Mux {
    fn read_pays(&self, src: Rank) -> bool {
        self.shares_host(src).is_some_and(|(shm, local)| shm.read_pays(local))
    }

    fn can_read(&self, src: Rank) -> bool {
        self.shares_host(src).is_some_and(|(shm, local)| shm.can_read(local))
    }

    unsafe fn read(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let (shm, peer) = self.shares_host_mut(src).ok_or(PeerMemoryError::NotPermitted)?;
        // SAFETY: the caller's promise.
        unsafe { shm.read(peer, remote, local, len) }
    }

    unsafe fn write(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let (shm, peer) = self.shares_host_mut(dst).ok_or(PeerMemoryError::NotPermitted)?;
        // SAFETY: the caller's promise.
        unsafe { shm.write(peer, remote, local, len) }
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
