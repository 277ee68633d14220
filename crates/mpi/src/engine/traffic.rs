//! The rank map: how many messages and bytes this process has sent to each other one, counted where a monitor reads
//! them (`hpvm_wire::traffic`). Only in a process that is monitored.
//!
//! A message counts when the program, or a collective, sends it, with the bytes of its elements. How it then travels, in
//! how many packets, does not matter, and neither does whether it is received.
//!
//! A process that is not monitored executes nothing of this: sends take another branch than usual where the backlog
//! asks for attention anyway ([`crate::engine::backlog`]).

use crate::engine::process::Process;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::counters::add;

/// Where each peer's counters lie.
pub(crate) struct Index {
    /// By rank: one more than the entry's place; 0: it has none yet.
    places: Box<[u32]>,
}

impl<T: Transport> Process<T> {
    /// From now on messages are counted for each peer. To be called before the first message.
    pub fn monitor(&mut self) {
        let Some(traffic) = self.fm.transport().traffic() else { return };
        traffic.begin();
        // The allocator gives zeroed pages, which take memory when they are written.
        self.traffic = Some(Index { places: vec![0; self.fm.size() as usize].into() });
        self.backlog.watch();
    }

    /// Whether messages are counted for each peer.
    pub fn is_monitored(&self) -> bool {
        self.traffic.is_some()
    }

    /// `messages` of `bytes` together have been sent to `dst`.
    #[inline]
    pub(crate) fn count_sent(&mut self, dst: Rank, messages: u64, bytes: u64) {
        let Some(index) = &mut self.traffic else { return };
        let (Some(place), Some(traffic)) =
            (index.places.get_mut(dst as usize), self.fm.transport().traffic())
        else {
            return;
        };
        if *place == 0 {
            // When the list is full, this peer is not counted.
            *place = traffic.add(dst).map_or(0, |at| at + 1);
        }
        if let Some(peer) = place.checked_sub(1).and_then(|at| traffic.peer(at)) {
            add(&peer.messages, messages);
            add(&peer.bytes, bytes);
        }
    }
}
