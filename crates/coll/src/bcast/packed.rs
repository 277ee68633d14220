//! A broadcast buffer seen as a run of bytes that may be cut anywhere.
//!
//! Ranks may describe the same data by different types and counts, so only the packed form can be
//! cut. A buffer that is its own packed form is used directly, any other through a temporary.

use crate::input::Broadcast;
use crate::schedule::{Block, Buffer, Schedule};

pub(super) struct Packed {
    buffer: Buffer,
    bytes: i64,
}

impl Packed {
    /// Makes the byte view; at the root it is filled before the first message.
    pub(super) fn begin(s: &mut Schedule, input: &Broadcast) -> Packed {
        let bytes = input.bytes();
        if input.contiguous {
            return Packed { buffer: Buffer::Recv, bytes };
        }
        let packed = Packed { buffer: s.temp_bytes(bytes), bytes };
        if input.rank == input.root {
            s.copy(input.whole(), packed.cut(0, bytes));
            s.end_round();
        }
        packed
    }

    /// The bytes from `start` to `end`, both clipped to the message.
    pub(super) fn cut(&self, start: i64, end: i64) -> Block {
        let (start, end) = (start.min(self.bytes), end.min(self.bytes));
        Block::bytes(self.buffer, start, end - start)
    }

    /// Brings the bytes to where the user wants them.
    pub(super) fn finish(self, s: &mut Schedule, input: &Broadcast) {
        if self.buffer != Buffer::Recv && input.rank != input.root {
            s.copy(self.cut(0, self.bytes), input.whole());
        }
        s.end_round();
    }
}
