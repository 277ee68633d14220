//! The order of openings among the packets of the same sender.
//!
//! Packets and streams come by different ways, so each says how much of the other kind went before it: an opening says how many
//! packets, and the first packet behind an opening says how many openings (its *fence*). An opening or a packet that comes too
//! soon waits here. A packet that is held back holds back those behind it. The sender sends few packets before it knows that an
//! opening has come (`Settings::most_behind`).

use crate::Rank;
use hpvm_wire::Head;
use hpvm_wire::bulk::Opening;
use std::collections::VecDeque;

/// Bytes of a fence, at the end of a packet's payload.
pub const FENCE: usize = 4;

/// A packet that has come before an opening that went before it.
struct Held {
    fence: Option<u32>,
    head: Head,
    data: Box<[u8]>,
}

/// Openings and packets between this process and one other. All counts wrap.
#[derive(Default)]
pub(crate) struct Order {
    /// Openings sent.
    begun: u32,
    /// What the last fence told of them.
    fenced: u32,
    /// Openings delivered.
    delivered: u32,
    /// Openings that came too soon, or just now, with the number of their stream.
    waiting: Vec<(u64, Opening)>,
    held: VecDeque<Held>,
}

impl Order {
    /// The number of the next opening that goes out.
    pub fn begin(&mut self) -> u32 {
        let number = self.begun;
        self.begun = self.begun.wrapping_add(1);
        number
    }

    /// What the next packet has to tell.
    pub fn fence(&self) -> Option<u32> {
        (self.begun != self.fenced).then_some(self.begun)
    }

    /// A packet has told it.
    pub fn fenced(&mut self) {
        self.fenced = self.begun;
    }

    /// An opening has come. False: it had come before.
    pub fn opened(&mut self, number: u64, opening: Opening) -> bool {
        let again = is_before(opening.order, self.delivered)
            || self.waiting.iter().any(|(_, w)| w.order == opening.order);
        if !again {
            self.waiting.push((number, opening));
        }
        !again
    }

    /// Something waits here.
    pub fn holds(&self) -> bool {
        !self.waiting.is_empty() || !self.held.is_empty()
    }

    /// Packets that wait here.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Whether a packet that has just come may be delivered at once. If not, it is held back.
    pub fn passes(&mut self, head: Head, data: &[u8], fence: Option<u32>) -> bool {
        if self.held.is_empty() && self.is_open(fence) {
            return true;
        }
        self.held.push_back(Held { fence, head, data: data.into() });
        false
    }

    fn is_open(&self, fence: Option<u32>) -> bool {
        fence.is_none_or(|fence| !is_before(self.delivered, fence))
    }

    /// Delivers what waits and may go, when `packets` packets of the sender have come in all.
    /// Returns how many.
    pub fn release(
        &mut self,
        src: Rank,
        packets: u32,
        sink: &mut impl FnMut(Rank, Head, &[u8]),
    ) -> usize {
        let mut released = 0;
        loop {
            let front = self.held.front().map(|held| held.fence);
            if front.is_some_and(|fence| self.is_open(fence))
                && let Some(Held { head, data, .. }) = self.held.pop_front()
            {
                sink(src, head, &data);
            } else if let Some((number, opening)) = self.next_opening(packets) {
                self.delivered = self.delivered.wrapping_add(1);
                let mut text = [0; 16];
                text[..8].copy_from_slice(&opening.total.to_le_bytes());
                text[8..].copy_from_slice(&number.to_le_bytes());
                sink(src, opening.head, &text);
            } else {
                return released;
            }
            released += 1;
        }
    }

    fn next_opening(&mut self, packets: u32) -> Option<(u64, Opening)> {
        let delivered = packets.wrapping_sub(self.held.len() as u32);
        let due =
            |(_, w): &(u64, Opening)| w.order == self.delivered && !is_before(delivered, w.packets);
        let index = self.waiting.iter().position(due)?;
        Some(self.waiting.swap_remove(index))
    }
}

/// Whether count `a` comes before count `b`.
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a sender sends: packets by even numbers, openings by odd ones.
    enum Sent {
        Packet(Option<u32>, u64),
        Opening(Opening, u64),
    }

    fn send(order: &mut Order, what: u64, packets: &mut u32) -> Sent {
        let head = Head::single(0, what);
        if what % 2 == 1 {
            let order = order.begin();
            return Sent::Opening(Opening { total: 1, order, packets: *packets, head }, what);
        }
        let fence = order.fence();
        order.fenced();
        *packets = packets.wrapping_add(1);
        Sent::Packet(fence, what)
    }

    #[test]
    fn two_ways_deliver_in_one_order_however_they_race() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..2000 {
            // Counts wrap in the middle.
            let start = u32::MAX - random.u32(0..20);
            let counts =
                Order { begun: start, fenced: start, delivered: start, ..Order::default() };
            let (mut from, mut to) = (counts, Order::default());
            (to.begun, to.delivered) = (start, start);
            let mut sent = start;
            let (mut packets, mut openings) = (VecDeque::new(), Vec::new());
            let whats: Vec<u64> = (0..40).map(|i| 2 * i + random.u64(0..2)).collect();
            for what in &whats {
                match send(&mut from, *what, &mut sent) {
                    Sent::Packet(fence, what) => packets.push_back((fence, what)),
                    Sent::Opening(opening, what) => openings.push((opening, what)),
                }
            }
            let (mut came, mut got) = (start, Vec::new());
            while got.len() < whats.len() {
                if random.bool() && !openings.is_empty() {
                    // Of several rails any may be first, and one may repeat itself.
                    let (opening, what) = openings[random.usize(0..openings.len().min(3))];
                    to.opened(what, opening);
                    if random.bool() {
                        openings.retain(|(_, w)| *w != what);
                    }
                } else if let Some((fence, what)) = packets.pop_front() {
                    came = came.wrapping_add(1);
                    if to.passes(Head::single(0, what), &[], fence) {
                        got.push(what);
                    }
                }
                to.release(0, came, &mut |_, head, _| got.push(head.imm));
            }
            assert_eq!(got, whats);
            assert!(to.held.is_empty());
        }
    }
}
