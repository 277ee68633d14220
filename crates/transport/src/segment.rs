//! Memory that the ranks of a host share, beyond packets.

use crate::{Life, Rank};
use hpvm_wire::accumulate_lock::Updating;
use hpvm_wire::coll_slots::{CollSlots, LargeSlot};
use hpvm_wire::counters::Counters;
use hpvm_wire::delegation::DelegationSlot;
use hpvm_wire::split_copy::SplitCopy;
use hpvm_wire::traffic::Traffic;
use std::sync::Arc;

/// What ranks of a host post in memory that they share. A transport without it takes the defaults.
///
/// The conformance suite checks that both ends see the same split copies.
pub trait Segment {
    /// Slots `index` of `rank`, where `rank` shares memory with this process and has such slots.
    fn coll_slots(&self, rank: Rank, index: usize) -> Option<&CollSlots> {
        let _ = (rank, index);
        None
    }

    /// The large slot for operation `number` of them, where there is one.
    fn large_slot(&self, rank: Rank, index: usize, number: u64) -> Option<&LargeSlot> {
        let _ = (rank, index, number);
        None
    }

    /// Something has been posted in a slot that `reader` may wait for. True if `reader` sleeps or is about to, so that
    /// somebody has to [`Segment::wake`] it; otherwise it looks at the slot before it sleeps.
    fn announce(&self, reader: Rank) -> bool {
        let _ = reader;
        false
    }

    /// Wakes `dst` if it sleeps: something that it may wait for has been posted in a slot.
    /// [`crate::Packets::arm`] does not look at slots; whoever waits for a slot looks after arming.
    fn wake(&self, dst: Rank) {
        let _ = dst;
    }

    /// As `wake`, of a rank that is to work while this one does: it learns on which processor this one runs.
    fn call(&self, dst: Rank) {
        self.wake(dst);
    }

    /// Where `rank`, if it shares memory with this process, shows that it is inside an atomic update.
    fn updating(&self, rank: Rank) -> Option<&Updating> {
        let _ = rank;
        None
    }

    /// Who tells whether ranks that share memory with this process live.
    fn life(&self) -> Option<Arc<dyn Life>> {
        None
    }

    /// Where `rank`, if it shares memory with this process, takes operations on its memory from others.
    fn delegation(&self, rank: Rank) -> Option<&DelegationSlot> {
        let _ = rank;
        None
    }

    /// Control block `index` of `owner`, by which a receiver and its sender copy a message at the same time
    /// with `PeerMemory::read` and `PeerMemory::write`; `None` where they can not, or not at the same time.
    fn split_copy(&self, owner: Rank, index: usize) -> Option<&SplitCopy> {
        let _ = (owner, index);
        None
    }

    /// Where this process counts what it sends to whom, when the transport keeps it.
    fn traffic(&self) -> Option<&Traffic> {
        None
    }

    /// The counters of this process, when the transport keeps them.
    fn counters(&self) -> Option<&Counters> {
        None
    }
}
