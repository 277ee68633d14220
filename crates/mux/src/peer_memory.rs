//! Peers' memory: that of the ranks of our host, also of ranks of other jobs that are linked to ours, and what ranks of other
//! hosts expose to a card (RDMA).

use crate::mux::Mux;
use core::ptr::NonNull;
use hpvm_net::Net;
use hpvm_shm::Shm;
use hpvm_transport::{Exposed, PeerMemory, PeerMemoryError, Rank, Segment};
use hpvm_wire::counters::add;

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

    /// The sockets that reach `rank`, if it is on another host and of our job.
    fn other_host(&self, rank: Rank) -> Option<&Net> {
        self.hosts.as_ref().filter(|hosts| hosts.is_remote(rank))?.net.as_ref()
    }

    /// The same for something that begins.
    fn other_host_mut(&mut self, rank: Rank) -> Option<&mut Net> {
        let hosts = self.hosts.as_mut().filter(|hosts| hosts.is_remote(rank))?;
        hosts.poll_interval.expect();
        hosts.net.as_mut()
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

    fn read_was_slow(&self) -> bool {
        self.shm.read_was_slow()
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

    fn has_rdma(&self, peer: Rank) -> bool {
        self.other_host(peer).is_some_and(|net| net.has_rdma(peer))
    }

    unsafe fn expose(
        &mut self,
        peer: Rank,
        number: u64,
        from: *const u8,
        len: u64,
    ) -> Option<Exposed> {
        if !self.has_rdma(peer) {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe { self.other_host_mut(peer)?.expose(peer, number, from, len) }
    }

    fn conceal(&mut self, number: u64) {
        if let Some(net) = self.hosts.as_mut().and_then(|hosts| hosts.net.as_mut()) {
            net.conceal(number);
        }
    }

    unsafe fn rdma_read(
        &mut self,
        src: Rank,
        exposed: Exposed,
        to: (*mut u8, u64),
        cookie: u64,
    ) -> bool {
        let Some(net) = self.other_host_mut(src) else { return false };
        // SAFETY: the caller's promise.
        let begun = unsafe { net.rdma_read(src, exposed, to, cookie) };
        if begun && let Some(counters) = self.shm.counters() {
            add(&counters.peer_bytes_read, to.1);
        }
        begun
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

    fn lend_at(&mut self, address: usize, bytes: usize) -> Option<NonNull<u8>> {
        self.shm.lend_at(address, bytes)
    }

    fn take_back(&mut self, memory: *mut u8) -> bool {
        self.shm.take_back(memory)
    }

    fn mapped_mut(&mut self, owner: Rank, remote: u64, len: u64) -> Option<NonNull<u8>> {
        self.shm.mapped_mut(self.local(owner)?, remote, len)
    }
}
