//! What is to happen, in the order of time.

use crate::packet::Packet;
use crate::time::Time;
use core::cmp::Ordering;
use hpvm_transport::Rank;
use std::collections::BinaryHeap;

pub enum Event {
    /// A packet leaves its sender's host.
    Depart(Box<Packet>),
    /// A packet can be seen by its receiver.
    Arrive(Box<Packet>),
    /// Something that a rank may wait for is there.
    Look(Rank),
    /// A rank looks at what has come and goes on.
    Turn(Rank),
}

struct Entry {
    at: Time,
    /// Of two events of one moment, the one that was entered first goes first.
    order: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    /// Reversed: the heap's greatest is the next to happen.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

#[derive(Default)]
pub struct Agenda {
    heap: BinaryHeap<Entry>,
    order: u64,
}

impl Agenda {
    pub fn enter(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.heap.push(Entry { at, order: self.order, event });
    }

    pub fn next(&mut self) -> Option<(Time, Event)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
