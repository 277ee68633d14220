//! Streams: long messages that go by themselves between two programs' buffers.

use crate::{Head, Memory, Rank};

/// Where the bytes of a stream belong, at its receiver.
pub struct Landing {
    pub memory: Memory,
    /// Bytes that are stored; what comes after them is dropped.
    pub room: u64,
    /// Bytes that come.
    pub len: u64,
    /// What [`Streams::streamed`] names at the end.
    pub cookie: u64,
}

/// A stream whose memory the transport does not touch any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    /// One that came in: the cookie of its [`Landing`].
    Came(u64),
    /// One that went out: its number. All bytes have come, or the transport has copied what it may
    /// have to send again.
    Gone(u64),
}

/// Streams beside the packets. A transport without them takes the defaults.
pub trait Streams {
    /// True when a message of `len` bytes from or to `peer` is worth streaming: its bytes then go
    /// by themselves between the two programs' buffers, and no packets carry them. Both sides of
    /// a pair need not say the same about a length.
    #[inline(always)]
    fn can_stream(&self, peer: Rank, len: u64) -> bool {
        let _ = (peer, len);
        false
    }

    /// True when a message of `len` bytes to `dst` may go out by `stream_open` now. Empty ones never
    /// may.
    #[inline(always)]
    fn can_open(&self, dst: Rank, len: u64) -> bool {
        let _ = (dst, len);
        false
    }

    /// Begins to send stream `number` of `len` bytes to `dst`, of which the receiver knows nothing;
    /// `can_open` has just said yes. The sender chooses the number; it is unique among its streams
    /// that have not ended.
    ///
    /// The receiver gets a packet with `head`, in order with all other packets; its payload is the
    /// stream's length and number, little endian, 8 bytes each. `unasked`: bytes may go before
    /// the receiver has said where they belong, as far as it takes some; what comes too soon is
    /// kept there. Otherwise that all have come means that the receiver knew their destination.
    ///
    /// # Safety
    /// `from` is valid for reads of `len` bytes until `streamed` names the stream.
    unsafe fn stream_open(
        &mut self,
        dst: Rank,
        (number, head): (u64, Head),
        (from, len): (Memory, u64),
        unasked: bool,
    ) {
        let _ = (dst, number, head, from, len, unasked);
        debug_assert!(false, "this transport has no streams");
    }

    /// The same for a stream that was announced in a packet, after the receiver has asked for it in
    /// one.
    ///
    /// # Safety
    /// As for `stream_open`.
    unsafe fn stream_out(&mut self, dst: Rank, number: u64, from: Memory, len: u64) {
        let _ = (dst, number, from, len);
        debug_assert!(false, "this transport has no streams");
    }

    /// Says where stream `number` of `src` belongs. When its last byte has come, `poll` counts one
    /// packet more (as it may whenever bytes of streams move) and [`Streams::streamed`] names the cookie.
    ///
    /// To be called once for each stream, and before the sender is asked for one that was announced
    /// in a packet.
    ///
    /// # Safety
    /// `to.memory` is valid for writes of `to.room` bytes until `streamed` names the cookie, and
    /// nobody else uses them.
    unsafe fn stream_in(&mut self, src: Rank, number: u64, to: Landing) {
        let _ = (src, number, to);
        debug_assert!(false, "this transport has no streams");
    }

    /// A stream that has ended, once each. To be asked until it says `None` after every `poll` that
    /// returned more than 0.
    #[inline(always)]
    fn streamed(&mut self) -> Option<Streamed> {
        None
    }
}
