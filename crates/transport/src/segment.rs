//! Memory that the ranks of a host share, beyond packets.

use crate::{Life, Rank};
use hpvm_wire::accumulate_lock::Updating;
use hpvm_wire::coll_slots::{CollSlots, LargeSlot};
use hpvm_wire::counters::Counters;
use hpvm_wire::delegation::DelegationSlot;
use hpvm_wire::split_copy::SplitCopy;
use hpvm_wire::traffic::Traffic;
use std::sync::Arc;

/// Memory that the ranks of a host share for other things than packets: slots, control blocks, counters. A transport
/// without such memory takes the defaults.
///
/// The conformance suite checks that both ends see the same split copies.
pub trait Segment {
    /// Set `index` of the collective slots of `rank`; `None` if `rank` does not share memory with this process or has no
    /// such set.
    fn coll_slots(&self, rank: Rank, index: usize) -> Option<&CollSlots> {
        let _ = (rank, index);
        None
    }

    /// The large slot of that set for operation `number`, if the set has large slots.
    fn large_slot(&self, rank: Rank, index: usize, number: u64) -> Option<&LargeSlot> {
        let _ = (rank, index, number);
        None
    }

    /// To be called after a slot has been posted for which `reader` may wait. True if `reader` sleeps or is about to, so
    /// that somebody has to [`Segment::wake`] it. Otherwise `reader` looks at the slot before it sleeps.
    fn announce(&self, reader: Rank) -> bool {
        let _ = reader;
        false
    }

    /// Wakes `dst` if it sleeps, because a slot has been posted for which it may wait. [`crate::Packets::arm`] does not look
    /// at slots; a rank that waits for a slot looks at it after arming.
    fn wake(&self, dst: Rank) {
        let _ = dst;
    }

    /// As `wake`, for a rank that is to work at the same time as this one. It also shows on which processor this one runs.
    fn call(&self, dst: Rank) {
        self.wake(dst);
    }

    /// The word in which `rank` shows that it is inside an atomic update, if `rank` shares memory with this process.
    fn updating(&self, rank: Rank) -> Option<&Updating> {
        let _ = rank;
        None
    }

    /// The object that tells whether ranks that share memory with this process live.
    fn life(&self) -> Option<Arc<dyn Life>> {
        None
    }

    /// The slot in which `rank` takes operations on its memory from others, if `rank` shares memory with this process.
    fn delegation(&self, rank: Rank) -> Option<&DelegationSlot> {
        let _ = rank;
        None
    }

    /// Control block `index` of `owner`, by which a receiver and its sender copy a message at the same time with
    /// `PeerMemory::read` and `PeerMemory::write`; `None` if they can't copy, or not at the same time.
    fn split_copy(&self, owner: Rank, index: usize) -> Option<&SplitCopy> {
        let _ = (owner, index);
        None
    }

    /// The list in which this process counts what it sends to whom, if the transport has one.
    fn traffic(&self) -> Option<&Traffic> {
        None
    }

    /// The counters of this process, if the transport has some.
    fn counters(&self) -> Option<&Counters> {
        None
    }
}
