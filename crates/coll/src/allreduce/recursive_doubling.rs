//! Recursive doubling allreduce.

use crate::fold::{Fold, Part};
use crate::input::Reduction;
use crate::schedule::{Buffer, Peer, Schedule, TempSpec};
use crate::tree::doublings;

/// Recursive doubling allreduce in rank order.
///
/// Cost: log2 n rounds of one message of m bytes out and in; where n is no power of two, two more
/// messages on the longest path. At most one copy of m bytes, none of it before the first message.
/// Wins: short messages, and operations that do not commute.
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
/// MPICH", 2005.
pub fn schedule(input: &Reduction) -> Schedule {
    if input.count == 0 {
        return Schedule::new();
    }
    let rounds = doublings(input.size) as usize + 1;
    let mut s = Schedule::with_capacity(rounds, 2 * rounds, rounds + 1);
    let scratch = Buffer::Temp(0);
    let mut value = Value { at: input.source(), free: [Buffer::Recv, scratch], input };
    if input.in_place {
        value.free = [scratch, Buffer::Recv];
    }
    let fold = Fold::new(input.size, input.size);
    match fold.part(input.rank) {
        Part::Leaves { partner } => {
            s.send(Peer::Local(partner), input.whole(value.at));
            s.end_round();
            s.recv(Peer::Local(partner), input.whole(Buffer::Recv));
            s.end_round();
            return s;
        }
        Part::Stays { number, partner } => {
            if let Some(partner) = partner {
                value.take(&mut s, partner, false);
            }
            let mut mask = 1;
            while mask < fold.power {
                value.take(&mut s, fold.real(number ^ mask), true);
                mask <<= 1;
            }
            value.settle(&mut s, scratch);
            if let Some(partner) = partner {
                s.send(Peer::Local(partner), input.whole(Buffer::Recv));
                s.end_round();
            }
        }
    }
    if s.touches(scratch) {
        s.temp(TempSpec::Elements(input.count));
    }
    s
}

/// The partial result, which changes place instead of being copied.
struct Value<'a> {
    at: Buffer,
    /// Buffers to receive into, the next one first; the other one holds the value, or nothing as
    /// long as the value is in the send buffer.
    free: [Buffer; 2],
    input: &'a Reduction,
}

impl Value<'_> {
    /// One round: receives the partner's value, gives ours if `mutual`, and combines.
    fn take(&mut self, s: &mut Schedule, partner: u32, mutual: bool) {
        let [landing, other] = self.free;
        let (ours, theirs) = (self.input.whole(self.at), self.input.whole(landing));
        if mutual {
            s.send(Peer::Local(partner), ours);
        }
        s.recv(Peer::Local(partner), theirs);
        if partner > self.input.rank {
            s.reduce(ours, theirs);
            (self.at, self.free) = (landing, [other, landing]);
        } else if self.at == Buffer::Send {
            let copy = self.input.whole(other);
            s.copy(ours, copy);
            s.reduce(theirs, copy);
            self.at = other;
        } else {
            s.reduce(theirs, ours);
        }
        s.end_round();
    }

    /// Sees to it that the result is in the receive buffer.
    fn settle(&self, s: &mut Schedule, scratch: Buffer) {
        if self.at == scratch && !self.input.in_place {
            // Both are scratch until now, so naming them the other way round saves the copy.
            s.swap_buffers(scratch, Buffer::Recv);
        } else if self.at != Buffer::Recv {
            s.copy(self.input.whole(self.at), self.input.whole(Buffer::Recv));
            s.end_round();
        }
    }
}
