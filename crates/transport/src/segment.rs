//! Memory that the ranks of a host share, beyond packets.

use crate::Rank;
use hpvm_wire::coll_slots::{CollSlots, LargeSlot};
use hpvm_wire::counters::Counters;
use hpvm_wire::duet::Duet;

/// What ranks of a host post in memory that they share. A transport without it takes the defaults.
///
/// The conformance suite checks that both ends see the same duets.
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

    /// Wakes `dst` if it sleeps: something that it may wait for has been posted in a slot.
    /// [`crate::Packets::arm`] does not look at slots; whoever waits for a slot looks after arming.
    fn knock(&self, dst: Rank) {
        let _ = dst;
    }

    /// Duet `place` of `owner`, where a receiver and its sender can copy a message at the same time with
    /// `pull` and `push`; `None` where they can not, or not at the same time.
    fn duet(&self, owner: Rank, place: usize) -> Option<&Duet> {
        let _ = (owner, place);
        None
    }

    /// Shortest message that is worth a duet, bytes: the sender has to be told, and to answer, and what
    /// it has copied lies in its cache and not in the receiver's.
    fn least_duet(&self) -> u64 {
        512 * 1024
    }

    /// Parts of a duet that the receiver copies before it waits for the sender to copy the rest. All,
    /// but where nothing happens at the same time: on the virtual network.
    fn duet_parts(&mut self) -> u32 {
        u32::MAX
    }

    /// The counters of this process, when the transport keeps them.
    fn counters(&self) -> Option<&Counters> {
        None
    }
}
