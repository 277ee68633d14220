//! The packets of MPI's point-to-point protocol.
//!
//! | handler | `imm` | payload | meaning |
//! |---|---|---|---|
//! | `EAGER` | envelope | the message | a whole message |
//! | `FRAGMENT_HEAD` | envelope | [`MessageHead`] | a whole message follows in fragments |
//! | `FRAGMENT` | number of a `FRAGMENT_HEAD` | the next fragment | |
//! | `RTS` | envelope | [`Rts`], then the message if `aux` is `WITH_DATA`, or what a card needs to read it if `aux` is `EXPOSED` | a message is ready |
//! | `CTS` | sender's request | receiver's request | send it in `DATA` packets, or as a stream if `aux` is `AS_STREAM` |
//! | `DATA` | receiver's request | the next bytes | |
//! | `FIN` | sender's request | | the receiver has it all; `aux` is `READ_FAST` or `READ_SLOW` if it has read it out of the sender's memory |
//! | `XOFF`, `XON` | a number | | too many unexpected messages are kept: announce every message; that is over |
//! | `SPLIT_REQUEST` | sender's request | [`SplitRequest`] | the receiver reads the message from its beginning; the sender may write it from its end |
//! | `SPLIT_DONE` | receiver's request | a range of parts that the sender could not write: first and end, 4 bytes each; 0: none | the sender has written the last part that was missing, or could not write these |
//! | `WINDOW` | context id and code | | a notice of a window ([`crate::rma::notice`]) |
//! | `CANCEL` | envelope | sender's request | forget the message if no receive has matched it |
//! | `CANCEL_ANSWER` | sender's request | | the message is forgotten if `aux` is `FORGOTTEN`, else a receive has matched it |
//! | `STREAM_HEAD` | envelope | [`MessageHead`], whose number is the sender's request | a message is ready, and comes in a stream |
//!
//! [`super::select`] chooses the method for each message. A transport that has streams makes the
//! `STREAM_HEAD` packet itself when the sender opens a stream; the receiver only says where the bytes go.
//! Where no stream can be opened yet, an RTS announces the message and the receiver asks for a stream. The
//! transport tells both sides when the stream has ended.

use hpvm_fm::{Exposed, handler_id};

pub const EAGER: u8 = handler_id::MPI.start;
pub const RTS: u8 = handler_id::MPI.start + 1;
pub const CTS: u8 = handler_id::MPI.start + 2;
pub const DATA: u8 = handler_id::MPI.start + 3;
pub const FIN: u8 = handler_id::MPI.start + 4;

pub const FRAGMENT_HEAD: u8 = handler_id::MPI.start + 5;
pub const FRAGMENT: u8 = handler_id::MPI.start + 6;
pub const STREAM_HEAD: u8 = handler_id::MPI.start + 7;
pub const XOFF: u8 = handler_id::MPI.start + 8;
pub const SPLIT_REQUEST: u8 = handler_id::MPI.start + 9;
pub const SPLIT_DONE: u8 = handler_id::MPI.start + 10;
pub const XON: u8 = handler_id::MPI.start + 11;
pub const WINDOW: u8 = handler_id::MPI.start + 14;
pub const CANCEL: u8 = handler_id::MPI.start + 12;
pub const CANCEL_ANSWER: u8 = handler_id::MPI.start + 13;

/// Longest message in fragments that a receiver takes, bytes: what comes before its receive is kept whole.
pub const MAX_FRAGMENTED: u64 = 64 * 1024;

/// `aux` of an RTS that carries the message itself.
pub const WITH_DATA: u16 = 1;
/// `aux` of an RTS behind which follows what the receiver needs to read the message by RDMA: an [`Exposed`].
pub const EXPOSED: u16 = 2;
/// `aux` of a CTS that asks for a stream.
pub const AS_STREAM: u16 = 1;
/// `aux` of a FIN: the receiver has read the message out of the sender's memory, as fast as out of its own cache, or slower
/// ([`super::fresh`]).
pub const READ_FAST: u16 = 1;
pub const READ_SLOW: u16 = 2;
/// `aux` of a CANCEL_ANSWER that says that the message will not be received.
pub const FORGOTTEN: u16 = 1;

/// Context id and tag in one word.
#[inline(always)]
pub const fn envelope(context: u32, tag: i32) -> u64 {
    (context as u64) << 32 | tag as u32 as u64
}

/// Context id and tag of an envelope.
#[inline(always)]
pub const fn open_envelope(imm: u64) -> (u32, i32) {
    ((imm >> 32) as u32, imm as u32 as i32)
}

/// The fixed part of an RTS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rts {
    pub address: u64,
    pub len: u64,
    pub request: u64,
}

impl Rts {
    pub const BYTES: usize = 24;

    pub fn write(&self, out: &mut [u8]) {
        out[0..8].copy_from_slice(&self.address.to_le_bytes());
        out[8..16].copy_from_slice(&self.len.to_le_bytes());
        out[16..24].copy_from_slice(&self.request.to_le_bytes());
    }

    /// `None` when a peer sent less than an RTS.
    pub fn read(data: &[u8]) -> Option<Rts> {
        let (words, _) = data.get(..Self::BYTES)?.as_chunks::<8>();
        let [address, len, request] = *words else { return None };
        Some(Rts {
            address: u64::from_le_bytes(address),
            len: u64::from_le_bytes(len),
            request: u64::from_le_bytes(request),
        })
    }
}

/// Bytes of an [`Exposed`] in a packet.
pub const EXPOSED_BYTES: usize = 16;

pub fn exposed_to_bytes(exposed: Exposed) -> [u8; EXPOSED_BYTES] {
    let mut out = [0; EXPOSED_BYTES];
    out[..8].copy_from_slice(&exposed.address.to_le_bytes());
    out[8..].copy_from_slice(&exposed.key.to_le_bytes());
    out
}

/// `None` when a peer sent another number of bytes.
pub fn exposed_of(data: &[u8]) -> Option<Exposed> {
    let (words, []) = data.as_chunks::<8>() else { return None };
    let [address, key] = *words else { return None };
    Some(Exposed { address: u64::from_le_bytes(address), key: u64::from_le_bytes(key) })
}

/// A SPLIT_REQUEST: the receiver of a message, which reads it, asks its sender to write from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitRequest {
    /// Which of the receiver's control blocks, and what it is called for this message.
    pub index: u32,
    pub name: u32,
    /// Bytes of the message that the receiver has room for.
    pub want: u64,
    /// Address of the receive buffer, in the receiver's memory.
    pub to: u64,
    /// The receiver's request, for SPLIT_DONE.
    pub receive: u64,
}

impl SplitRequest {
    pub const BYTES: usize = 32;

    pub fn write(&self, out: &mut [u8]) {
        out[0..4].copy_from_slice(&self.index.to_le_bytes());
        out[4..8].copy_from_slice(&self.name.to_le_bytes());
        out[8..16].copy_from_slice(&self.want.to_le_bytes());
        out[16..24].copy_from_slice(&self.to.to_le_bytes());
        out[24..32].copy_from_slice(&self.receive.to_le_bytes());
    }

    /// `None` when a peer sent less.
    pub fn read(data: &[u8]) -> Option<SplitRequest> {
        let (words, _) = data.get(..Self::BYTES)?.as_chunks::<8>();
        let [block, want, to, receive] =
            <[[u8; 8]; 4]>::try_from(words).ok()?.map(u64::from_le_bytes);
        Some(SplitRequest { index: block as u32, name: (block >> 32) as u32, want, to, receive })
    }
}

/// The payload of a `FRAGMENT_HEAD` and of a `STREAM_HEAD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHead {
    /// Bytes of the message.
    pub len: u64,
    /// What the sender calls it in its fragments.
    pub number: u64,
}

impl MessageHead {
    pub const BYTES: usize = 16;

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[..8].copy_from_slice(&self.len.to_le_bytes());
        out[8..].copy_from_slice(&self.number.to_le_bytes());
        out
    }

    /// `None` when a peer sent less.
    pub fn read(data: &[u8]) -> Option<MessageHead> {
        let (words, _) = data.get(..Self::BYTES)?.as_chunks::<8>();
        let [len, number] = *words else { return None };
        Some(MessageHead { len: u64::from_le_bytes(len), number: u64::from_le_bytes(number) })
    }
}

/// The word in a CTS, a SPLIT_DONE or a CANCEL.
pub fn read_word(data: &[u8]) -> Option<u64> {
    data.first_chunk::<8>().map(|w| u64::from_le_bytes(*w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        let rts = Rts { address: 1 << 40, len: 77, request: u64::MAX };
        let mut bytes = [0; Rts::BYTES];
        rts.write(&mut bytes);
        assert_eq!(Rts::read(&bytes), Some(rts));
        assert_eq!(Rts::read(&bytes[1..]), None);
        let exposed = Exposed { address: 1 << 50, key: 9 };
        let bytes = exposed_to_bytes(exposed);
        assert_eq!(exposed_of(&bytes), Some(exposed));
        assert_eq!((exposed_of(&bytes[1..]), exposed_of(&bytes[..8])), (None, None));
        let head = MessageHead { len: 5, number: u64::MAX - 1 };
        assert_eq!(MessageHead::read(&head.to_bytes()), Some(head));
        assert_eq!(MessageHead::read(&head.to_bytes()[1..]), None);
        let request =
            SplitRequest { index: 3, name: u32::MAX, want: 1 << 33, to: 1 << 47, receive: 99 };
        let mut bytes = [0; SplitRequest::BYTES];
        request.write(&mut bytes);
        assert_eq!(SplitRequest::read(&bytes), Some(request));
        assert_eq!(SplitRequest::read(&bytes[1..]), None);
        assert_eq!(open_envelope(envelope(7, -5)), (7, -5));
    }
}
