//! Event queues (section 3.13).

use crate::fault::{Fault, Result};
use crate::message::Process;
use std::collections::VecDeque;

/// An event as a program gets it (`ptl_event_t`). Numbers are those of portals4.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullEvent {
    pub start: u64,
    pub user_ptr: u64,
    pub hdr_data: u64,
    pub match_bits: u64,
    pub rlength: u64,
    pub mlength: u64,
    pub remote_offset: u64,
    pub initiator: Process,
    pub uid: u32,
    pub pt_index: u32,
    pub kind: u8,
    pub list: u8,
    pub fail: u8,
    pub operation: u8,
    pub datatype: u8,
}

/// `PTL_EVENT_REPLY` and its kin, which only initiators get.
pub(crate) const REPLY: u8 = 8;
pub(crate) const SEND: u8 = 9;
pub(crate) const ACK: u8 = 10;
pub(crate) const PT_DISABLED: u8 = 11;

/// Events of one message at its target: of its arrival, and that its entry was unlinked and is free.
const OF_ONE_MESSAGE: usize = 3;

/// A ring of events. The oldest goes when a new one finds no room.
pub(crate) struct Queue {
    events: VecDeque<FullEvent>,
    count: usize,
    /// Room that only `PTL_EVENT_PT_DISABLED` takes: one for each portal table entry.
    reserved: usize,
    /// Events have gone since the last one was taken.
    dropped: bool,
}

impl Queue {
    /// Room for `count` events and those of one more message: with flow control a message is refused while it has no room.
    pub fn new(count: usize, reserved: usize) -> Queue {
        let events = VecDeque::with_capacity(count.min(64));
        Queue { events, count: count.saturating_add(OF_ONE_MESSAGE), reserved, dropped: false }
    }

    pub fn push(&mut self, event: FullEvent) {
        let room = if event.kind == PT_DISABLED { self.count + self.reserved } else { self.count };
        if self.events.len() >= room {
            self.events.pop_front();
            self.dropped = true;
        }
        self.events.push_back(event);
    }

    /// Whether the events of one more message find room, beside those of `coming` that are being moved.
    pub fn has_room(&self, coming: usize) -> bool {
        self.events.len() + OF_ONE_MESSAGE * (coming + 1) <= self.count
    }

    /// The oldest event, and whether events before it are lost ([`Fault::EqDropped`]).
    pub fn take(&mut self) -> Result<(FullEvent, bool)> {
        let event = self.events.pop_front().ok_or(Fault::EqEmpty)?;
        Ok((event, std::mem::take(&mut self.dropped)))
    }
}
