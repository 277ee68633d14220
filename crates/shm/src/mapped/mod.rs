//! Memory that a rank lends to the others of its host (`MPI_Alloc_mem`), so that they copy straight
//! out of it, without the kernel and without frames.
//!
//! [`own`] is what this rank lends, [`peers`] what it has mapped of others. A region is a memfd: it
//! has no name, and ends with its last process. Its file is sealed against shrinking and its
//! addresses never change, so a mapping of it stays valid whatever its owner does. Free parts are
//! given back to the system by punching holes, which read as zeros.

pub(crate) mod own;
pub(crate) mod peers;

use crate::endpoint::Shm;
use crate::mapped::peers::Access;
use hpvm_transport::Rank;
use hpvm_wire::counters::add;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// Bytes of the cache that a processor has to itself, as far as the system tells: shortest message that is
/// worth copying out of mapped memory by a rank with a processor of its own.
///
/// One copy is half of the work of two. But it leaves the sender's lines in the receiver's cache,
/// and writing the next data into them costs the sender several nanoseconds for each line, where
/// they have not been displaced. Ranks that take turns on a processor have one cache.
pub(crate) fn own_cache() -> u64 {
    // SAFETY: takes and returns integers.
    let bytes = unsafe { libc::sysconf(libc::_SC_LEVEL2_CACHE_SIZE) };
    u64::try_from(bytes).ok().filter(|b| *b != 0).unwrap_or(1 << 20)
}

impl Shm {
    /// See `PeerMemory::lend`. `None`: there is nobody to lend to, or no memory; then ordinary memory will do.
    pub(crate) fn lend_region(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        if self.mapping.ranks() == 1 {
            return None;
        }
        let memory = self.own_regions.allocate(&self.mapping.control(self.rank).regions, bytes);
        if memory.is_none() {
            add(&self.counters_ref().lend_refused, 1);
        }
        memory
    }

    /// See `PeerMemory::lend_at`.
    pub(crate) fn lend_region_at(&mut self, address: usize, bytes: usize) -> Option<NonNull<u8>> {
        if self.mapping.ranks() == 1 {
            return None;
        }
        let shown = &self.mapping.control(self.rank).regions;
        self.own_regions.allocate_at(shown, address, bytes)
    }

    /// See `PeerMemory::take_back`.
    pub(crate) fn take_back_region(&mut self, memory: *mut u8) -> bool {
        self.own_regions.free(memory)
    }

    /// See `PeerMemory::mapped`.
    pub(crate) fn mapped_of(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        if src >= self.mapping.ranks() {
            return None;
        }
        let control = self.mapping.control(src);
        let (index, region, offset) = control.regions.find(remote, len)?;
        // Acquire pairs with the release in `attach`.
        let pid = control.identity.pid.load(Ordering::Acquire);
        let base = self.peer_regions.map((src, index, Access::Read), pid, region)?;
        Some(base.wrapping_add(offset as usize))
    }

    /// See `PeerMemory::mapped_mut`.
    pub(crate) fn mapped_mut_of(&mut self, owner: Rank, at: u64, len: u64) -> Option<NonNull<u8>> {
        if owner >= self.mapping.ranks() {
            return None;
        }
        let control = self.mapping.control(owner);
        let (index, place, offset) = control.regions.find(at, len)?;
        if owner == self.rank {
            return self.own_regions.at(index, offset);
        }
        // Acquire pairs with the release in `attach`.
        let pid = control.identity.pid.load(Ordering::Acquire);
        let base = self.peer_regions.map((owner, index, Access::ReadWrite), pid, place)?;
        NonNull::new(base.wrapping_add(offset as usize))
    }
}
