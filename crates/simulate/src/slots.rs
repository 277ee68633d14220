//! The collective slots of all ranks of a job; each comes into being when it is first looked at.

use core::cell::OnceCell;
use hpvm_transport::Rank;
use hpvm_wire::coll_slots::{CollSlots, LARGE_SLOTS, LargeSlot};

/// One set for each rank: that of the communicator of all ranks, the only one that a simulated job has.
pub(crate) struct AllSlots {
    sets: Vec<OnceCell<Box<CollSlots>>>,
    large: Vec<OnceCell<Box<LargeSlot>>>,
    /// What a rank sees of one whose post has not come yet: a set in which nothing was ever posted.
    blank: Box<CollSlots>,
}

impl AllSlots {
    pub fn new(size: u32) -> AllSlots {
        let size = size as usize;
        AllSlots {
            sets: (0..size).map(|_| OnceCell::new()).collect(),
            large: (0..size * LARGE_SLOTS).map(|_| OnceCell::new()).collect(),
            blank: CollSlots::new(),
        }
    }

    pub fn blank(&self) -> &CollSlots {
        &self.blank
    }

    pub fn get(&self, rank: Rank, index: usize) -> Option<&CollSlots> {
        let set = self.sets.get(rank as usize).filter(|_| index == 0)?;
        Some(set.get_or_init(CollSlots::new))
    }

    pub fn large(&self, rank: Rank, index: usize, number: u64) -> Option<&LargeSlot> {
        let at = rank as usize * LARGE_SLOTS + number as usize % LARGE_SLOTS;
        let slot = self.large.get(at).filter(|_| index == 0)?;
        Some(slot.get_or_init(LargeSlot::new))
    }
}
