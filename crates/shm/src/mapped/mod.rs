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
use hpvm_transport::Rank;
use hpvm_wire::counters::add;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// Allocations below this many bytes are not worth a page of their own: what can be sent from them
/// goes out in packets.
pub const MIN_LENT: usize = 32 * 1024;

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
    /// See `PeerMemory::lend`. The memory is valid until [`Shm::take_back`], too. `None`: it would not pay, or
    /// there is none; then ordinary memory will do.
    pub(crate) fn lend_region(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        if bytes < MIN_LENT || self.mapping.ranks() == 1 {
            return None;
        }
        let memory = self.own_regions.allocate(&self.mapping.control(self.rank).regions, bytes);
        if memory.is_none() {
            add(&self.counters_ref().lend_refused, 1);
        }
        memory
    }

    /// Takes back memory that `lend` gave. False: it did not.
    pub fn take_back(&mut self, memory: *mut u8) -> bool {
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
        let pid = control.pid.load(Ordering::Acquire);
        let base = self.peer_regions.map(src, index, pid, region)?;
        Some(base.wrapping_add(offset as usize))
    }
}
