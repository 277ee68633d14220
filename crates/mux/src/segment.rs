//! The segment of our host.

use crate::mux::Mux;
use hpvm_transport::{Life, Rank, Segment};
use hpvm_wire::accumulate_lock::Updating;
use hpvm_wire::coll_slots::{CollSlots, LargeSlot};
use hpvm_wire::counters::Counters;
use hpvm_wire::delegation::DelegationSlot;
use hpvm_wire::split_copy::SplitCopy;
use hpvm_wire::traffic::Traffic;
use std::sync::Arc;

/// Of ranks whose local ranks are others.
struct LocalLife {
    here: Arc<dyn Life>,
    /// [`Mux::local_ranks`].
    local_ranks: Arc<[u32]>,
}

impl Life for LocalLife {
    fn is_gone(&self, rank: Rank) -> bool {
        let local = self.local_ranks.get(rank as usize);
        // No local rank is as large as what says that a rank is on another host.
        local.is_some_and(|local| self.here.is_gone(*local))
    }
}

impl Segment for Mux {
    fn split_copy(&self, owner: Rank, index: usize) -> Option<&SplitCopy> {
        self.shm.split_copy(self.local(owner)?, index)
    }

    fn updating(&self, rank: Rank) -> Option<&Updating> {
        self.shm.updating(self.local(rank)?)
    }

    fn life(&self) -> Option<Arc<dyn Life>> {
        let here = self.shm.life()?;
        match self.local_ranks() {
            None => Some(here),
            Some(local_ranks) => Some(Arc::new(LocalLife { here, local_ranks })),
        }
    }

    #[inline(always)]
    fn delegation(&self, rank: Rank) -> Option<&DelegationSlot> {
        self.shm.delegation(self.local(rank)?)
    }

    #[inline(always)]
    fn traffic(&self) -> Option<&Traffic> {
        self.shm.traffic()
    }

    fn counters(&self) -> Option<&Counters> {
        self.shm.counters()
    }

    #[inline(always)]
    fn coll_slots(&self, rank: Rank, index: usize) -> Option<&CollSlots> {
        self.shm.coll_slots(self.local(rank)?, index)
    }

    #[inline(always)]
    fn large_slot(&self, rank: Rank, index: usize, number: u64) -> Option<&LargeSlot> {
        self.shm.large_slot(self.local(rank)?, index, number)
    }

    #[inline(always)]
    fn announce(&self, reader: Rank) -> bool {
        self.local(reader).is_some_and(|local| self.shm.announce(local))
    }

    #[inline(always)]
    fn wake(&self, dst: Rank) {
        if let Some(local) = self.local(dst) {
            self.shm.wake(local);
        }
    }

    fn call(&self, dst: Rank) {
        if let Some(local) = self.local(dst) {
            self.shm.call(local);
        }
    }
}
