//! Event queues (section 3.13).

use crate::fault::{Fault, Result};
use crate::message::Process;

/// An event as a program gets it (`ptl_event_t`). Numbers are those of portals4.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
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
///
/// Not a `VecDeque`, which is given what it copies: an event is put together where it stays, and read there. What has just been stored in
/// small pieces can't be loaded in large ones before it has left the store buffer.
pub(crate) struct Queue {
    /// A power of two of places; it grows until all events that there may be have one.
    places: Vec<FullEvent>,
    /// The place of the oldest event, and how many there are.
    oldest: usize,
    len: usize,
    count: usize,
    /// Room that only `PTL_EVENT_PT_DISABLED` takes: one for each portal table entry.
    reserved: usize,
    /// Events have gone since the last one was taken.
    dropped: bool,
}

/// Places of a queue at its beginning, at most.
const PLACES: usize = 64;

impl Queue {
    /// Room for `count` events and those of one more message: with flow control a message is refused while it has no room.
    pub fn new(count: usize, reserved: usize) -> Queue {
        let places = vec![FullEvent::default(); count.clamp(1, PLACES).next_power_of_two()];
        let count = count.saturating_add(OF_ONE_MESSAGE);
        Queue { places, oldest: 0, len: 0, count, reserved, dropped: false }
    }

    // In the caller, so that what it puts together is written to its place.
    #[inline(always)]
    pub fn push(&mut self, event: FullEvent) {
        let room = if event.kind == PT_DISABLED {
            self.count.saturating_add(self.reserved)
        } else {
            self.count
        };
        if self.len >= room.min(self.places.len()) {
            self.make_room(room);
        }
        let last = (self.oldest + self.len) & (self.places.len() - 1);
        self.places[last] = event;
        self.len += 1;
    }

    /// Makes room for one more event, of `room` at most.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, room: usize) {
        while self.len >= room {
            self.pop();
            self.dropped = true;
        }
        if self.len == self.places.len() {
            self.places.rotate_left(self.oldest);
            self.oldest = 0;
            self.places.resize(2 * self.len, FullEvent::default());
        }
    }

    #[inline(always)]
    fn pop(&mut self) {
        self.oldest = (self.oldest + 1) & (self.places.len() - 1);
        self.len -= 1;
    }

    /// Whether the events of one more message find room, beside those of `coming` that are being moved.
    pub fn has_room(&self, coming: usize) -> bool {
        self.len + OF_ONE_MESSAGE * (coming + 1) <= self.count
    }

    /// Takes the oldest event, which `show` gets where it lies, and says whether events before it are lost ([`Fault::EqDropped`]).
    #[inline(always)]
    pub fn take<R>(&mut self, show: impl FnOnce(&FullEvent) -> R) -> Result<(R, bool)> {
        if self.len == 0 {
            return Err(Fault::EqEmpty);
        }
        let shown = show(&self.places[self.oldest & (self.places.len() - 1)]);
        self.pop();
        Ok((shown, std::mem::take(&mut self.dropped)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: u8, user_ptr: u64) -> FullEvent {
        FullEvent { kind, user_ptr, ..FullEvent::default() }
    }

    #[test]
    fn events_come_out_in_order_while_their_ring_grows() {
        let mut queue = Queue::new(1000, 0);
        let (mut next, mut taken) = (0, 0);
        for round in 1..60 {
            for _ in 0..round {
                queue.push(event(ACK, next));
                next += 1;
            }
            for _ in 0..round / 2 {
                assert_eq!(queue.take(|e| e.user_ptr), Ok((taken, false)));
                taken += 1;
            }
        }
        while let Ok(found) = queue.take(|e| e.user_ptr) {
            assert_eq!(found, (taken, false));
            taken += 1;
        }
        assert_eq!((taken, queue.take(|_| ())), (next, Err(Fault::EqEmpty)));
    }

    #[test]
    fn the_oldest_events_go_and_that_is_told_once() {
        let mut queue = Queue::new(2, 1);
        let room = 2 + OF_ONE_MESSAGE as u64;
        for nth in 0..room + 3 {
            queue.push(event(ACK, nth));
        }
        // There is room of its own for the event of flow control.
        queue.push(event(PT_DISABLED, 100));
        assert_eq!(queue.take(|e| e.user_ptr), Ok((3, true)));
        for nth in 4..room + 3 {
            assert_eq!(queue.take(|e| e.user_ptr), Ok((nth, false)));
        }
        assert_eq!(queue.take(|e| e.user_ptr), Ok((100, false)));
        assert!(Queue::new(0, 0).take(|_| ()).is_err());
        // As many as a program asks for are not there before they are needed.
        let mut queue = Queue::new(usize::MAX, usize::MAX);
        queue.push(event(PT_DISABLED, 1));
        assert_eq!(queue.take(|e| e.user_ptr), Ok((1, false)));
    }
}
