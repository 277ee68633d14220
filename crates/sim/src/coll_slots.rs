//! Collective slots of the processes of a virtual network. A slot is seen as soon as it is posted.

use core::cell::OnceCell;
use hpvm_transport::Rank;
use hpvm_wire::coll_slots::{COLL_SLOTS, CollSlots, LARGE_SETS, LARGE_SLOTS, LargeSlot};
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
            large_slots: (0..size as usize * LARGE_SETS * LARGE_SLOTS)
                .map(|_| OnceCell::new())
                .collect(),
            split_copies: (0..size).map(|_| core::array::from_fn(|_| SplitCopy::new())).collect(),
        }
    }

    /// Set `index` of the collective slots of `rank`; `None` when there is no such rank or index.
    pub fn get(&self, rank: Rank, index: usize) -> Option<&CollSlots> {
        if index >= COLL_SLOTS {
            return None;
        }
        let cell = self.all.get(rank as usize * COLL_SLOTS + index)?;
        Some(cell.get_or_init(CollSlots::new))
    }

    /// Split copy `index` of `owner`; `None` when there is no such rank or index.
    pub fn split_copy(&self, owner: Rank, index: usize) -> Option<&SplitCopy> {
        self.split_copies.get(owner as usize)?.get(index)
    }

    /// The large slot for operation `number` of that set.
    pub fn large_slot(&self, rank: Rank, index: usize, number: u64) -> Option<&LargeSlot> {
        if index >= LARGE_SETS {
            return None;
        }
        let slots = rank as usize * LARGE_SETS + index;
        let cell = self.large_slots.get(slots * LARGE_SLOTS + number as usize % LARGE_SLOTS)?;
        Some(cell.get_or_init(LargeSlot::new))
    }
}
