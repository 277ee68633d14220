//! How a message stream lies in packet headers.
//!
//! ```text
//! handler   STREAM, for every packet of Fast Messages
//! flags     FIRST and LAST
//! aux       number of the stream: 0, 1, ... (mod 65536) per pair of nodes
//! imm       first packet: user handler id (8 bits), then the announced bound (56 bits)
//!           others: bytes of this message that went before
//! ```

use crate::{Head, handler_id};

/// The engine's handler id of a packet that belongs to a message stream.
pub(crate) const STREAM: u8 = handler_id::FM.start;
/// Of a packet by which a receiver says that too much waits for its handlers: send no more. And of the one
/// that says: go on.
pub(crate) const XOFF: u8 = handler_id::FM.start + 1;
pub(crate) const XON: u8 = handler_id::FM.start + 2;
/// Largest bound that a header can announce, bytes.
pub(crate) const MAX_BOUND: u64 = (1 << 56) - 1;

/// A header of stream `number`; `sent` bytes went before.
pub(crate) fn encode(
    number: u16,
    handler: u8,
    bound: usize,
    sent: Option<usize>,
    last: bool,
) -> Head {
    let (first, imm) = match sent {
        None => (Head::FIRST, (bound as u64) << 8 | u64::from(handler)),
        Some(sent) => (0, sent as u64),
    };
    let last = if last { Head::LAST } else { 0 };
    Head { handler: STREAM, flags: first | last, aux: number, imm }
}

/// What the first packet of a message alleges: the user handler's id and the bound in bytes.
pub(crate) fn opening(head: Head) -> (u8, u64) {
    (head.imm as u8, head.imm >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_round_trip() {
        for (handler, bound) in [(0, 0), (255, 1), (7, MAX_BOUND as usize)] {
            let head = encode(9, handler, bound, None, true);
            assert_eq!(opening(head), (handler, bound as u64));
            assert_eq!((head.flags, head.aux), (Head::FIRST | Head::LAST, 9));
        }
        assert_eq!(encode(1, 3, 100, Some(40), false).imm, 40);
        assert_eq!(encode(1, 3, 100, Some(40), false).flags, 0);
    }
}
