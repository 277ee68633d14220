//! collective slots of the processes of a virtual network. A slot is seen as soon as it is posted.

use core::cell::OnceCell;
use hpvm_transport::Rank;
use hpvm_wire::coll_slots::{COLL_SLOTS, CollSlots, LARGE_SLOTS, LargeSlot};
use hpvm_wire::split_copy::{SPLIT_COPIES, SplitCopy};

/// The slots of all processes; each comes into being when it is first looked at.
pub(crate) struct AllCollSlots {
    all: Vec<OnceCell<Box<CollSlots>>>,
    large_slots: Vec<OnceCell<Box<LargeSlot>>>,
    split_copies: Vec<[SplitCopy; SPLIT_COPIES]>,
}

impl AllCollSlots {
    pub fn new(size: u32) -> AllCollSlots {
        let coll_slots = size as usize * COLL_SLOTS;
        AllCollSlots {
            all: (0..coll_slots).map(|_| OnceCell::new()).collect(),
            large_slots: (0..coll_slots * LARGE_SLOTS).map(|_| OnceCell::new()).collect(),
            split_copies: (0..size).map(|_| core::array::from_fn(|_| SplitCopy::new())).collect(),
        }
    }

    /// CollSlots `index` of `rank`; `None` when there is no such rank or slots.
    pub fn get(&self, rank: Rank, index: usize) -> Option<&CollSlots> {
        if index >= COLL_SLOTS {
            return None;
        }
        let place = self.all.get(rank as usize * COLL_SLOTS + index)?;
        Some(place.get_or_init(CollSlots::new))
    }

    /// SplitCopy `place` of `owner`; `None` when there is no such rank or split copy.
    pub fn split_copy(&self, owner: Rank, place: usize) -> Option<&SplitCopy> {
        self.split_copies.get(owner as usize)?.get(place)
    }

    /// The large slot for slot `number` of that slots.
    pub fn large_slot(&self, rank: Rank, index: usize, number: u64) -> Option<&LargeSlot> {
        if index >= COLL_SLOTS {
            return None;
        }
        let slots = rank as usize * COLL_SLOTS + index;
        let place = self.large_slots.get(slots * LARGE_SLOTS + number as usize % LARGE_SLOTS)?;
        Some(place.get_or_init(LargeSlot::new))
    }
}
