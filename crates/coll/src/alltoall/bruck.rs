//! Bruck's alltoall.

use crate::input::Exchange;
use crate::schedule::{Block, Buffer, Peer, Schedule};
use crate::tree::{doublings, down, up};

/// Bruck's alltoall: blocks travel in hops of powers of two, many to a message.
///
/// Cost: ceil(log2 n) rounds of n / 2 blocks out and in; every block is copied about log2 n times.
/// Wins: short blocks on many ranks.
/// Source: Bruck et al., "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", 1997.
pub fn schedule(input: &Exchange) -> Schedule {
    let Exchange { rank, size, .. } = *input;
    let bytes = input.recv_bytes();
    let mut s = Schedule::new();
    if bytes == 0 {
        return s;
    }
    let slots = Slots::new(&mut s, size, bytes);
    // Slot i is to hold what travels i ranks up.
    for (first, length, slot) in [(rank, size - rank, 0), (0, rank, size - rank)] {
        let from =
            if input.in_place { input.received(first, length) } else { input.sent(first, length) };
        s.copy(from, slots.at(slot, length));
    }
    for bit in 0..doublings(size) {
        let mask = 1 << bit;
        slots.each_run(mask, |slots, slot, at, length| {
            s.copy(slots.at(slot, length), slots.staged(slots.out, at, length));
        });
        s.end_round();
        let travelling = slots.each_run(mask, |_, _, _, _| ());
        s.recv(Peer::Local(down(rank, mask, size)), slots.staged(slots.into, 0, travelling));
        s.send(Peer::Local(up(rank, mask, size)), slots.staged(slots.out, 0, travelling));
        slots.each_run(mask, |slots, slot, at, length| {
            s.copy(slots.staged(slots.into, at, length), slots.at(slot, length));
        });
    }
    for slot in 0..size {
        s.copy(slots.at(slot, 1), input.received(down(rank, slot, size), 1));
    }
    s.end_round();
    s
}

/// A slot per distance, and room to gather the slots that travel together.
struct Slots {
    home: Buffer,
    out: Buffer,
    into: Buffer,
    size: u32,
    bytes: i64,
}

impl Slots {
    fn new(s: &mut Schedule, size: u32, bytes: i64) -> Slots {
        let half = i64::from(size / 2) * bytes;
        let home = s.temp_bytes(i64::from(size) * bytes);
        Slots { home, out: s.temp_bytes(half), into: s.temp_bytes(half), size, bytes }
    }

    fn at(&self, slot: u32, length: u32) -> Block {
        self.staged(self.home, slot, length)
    }

    fn staged(&self, buffer: Buffer, at: u32, length: u32) -> Block {
        Block::bytes(buffer, i64::from(at) * self.bytes, i64::from(length) * self.bytes)
    }

    /// Calls `act(slots, slot, at, length)` for every run of slots whose number has the bit of
    /// `mask`, `at` being their place in the staging room; returns how many slots these are.
    fn each_run(&self, mask: u32, mut act: impl FnMut(&Slots, u32, u32, u32)) -> u32 {
        let (mut slot, mut at) = (mask, 0);
        while slot < self.size {
            let length = mask.min(self.size - slot);
            act(self, slot, at, length);
            at += length;
            slot = slot.saturating_add(2 * mask);
        }
        at
    }
}
