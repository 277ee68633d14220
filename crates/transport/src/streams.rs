//! Streams: long messages that go by themselves between two programs' buffers.

use crate::{Head, Memory, Rank};

/// Where the bytes of a stream go, at its receiver.
pub struct Landing {
    pub memory: Memory,
    /// Bytes that fit in the memory; the bytes behind them are dropped.
    pub room: u64,
    /// Bytes of the whole stream.
    pub len: u64,
    /// The number by which [`Streams::streamed`] names this stream at its end.
    pub cookie: u64,
}

/// A stream, or a read of a peer's memory, whose memory the transport does not touch any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    /// An incoming stream has arrived; the cookie of its [`Landing`].
    Came(u64),
    /// An outgoing stream does not need its memory any more; its number. All bytes have arrived, or the transport has copied
    /// those that it may have to send again.
    Gone(u64),
    /// A read of exposed memory ([`PeerMemory::rdma_read`](crate::PeerMemory::rdma_read)) has ended; its cookie. All bytes
    /// are there.
    Read(u64),
    /// The same, but it has failed. Nothing is written any more.
    NotRead(u64),
}

/// Streams beside the packets. A transport without them takes the defaults.
pub trait Streams {
    /// True if it is worth while to stream a message of `len` bytes from or to `peer`: the transport then moves the bytes by
    /// itself between the two programs' buffers, without packets. The two sides of a pair may give different answers for a
    /// length.
    #[inline(always)]
    fn can_stream(&self, peer: Rank, len: u64) -> bool {
        let _ = (peer, len);
        false
    }

    /// True if a message of `len` bytes to `dst` may go out by `stream_open` now. An empty message never may.
    #[inline(always)]
    fn can_open(&self, dst: Rank, len: u64) -> bool {
        let _ = (dst, len);
        false
    }

    /// Opens a stream to `dst` of which the receiver knows nothing yet; `can_open` has just said yes. The sender chooses
    /// the number, which is unique among its streams that have not ended. Never blocks.
    ///
    /// The receiver gets a packet with the head, in order with all other packets. The packet's payload is the stream's length
    /// and number, little endian, 8 bytes each. If `unasked`, bytes may go before the receiver has said where they go, as far
    /// as it permits that; the receiver then keeps bytes that come too soon. If not `unasked`, the arrival of all bytes means
    /// that the receiver knew their destination.
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

    /// Begins to send a message that was announced in a packet, after the receiver has asked for it in a packet.
    ///
    /// # Safety
    /// As for `stream_open`.
    unsafe fn stream_out(&mut self, dst: Rank, number: u64, from: Memory, len: u64) {
        let _ = (dst, number, from, len);
        debug_assert!(false, "this transport has no streams");
    }

    /// Says where the bytes of stream `number` of `src` go. When its last byte has come, `poll` counts one packet more (as it
    /// may whenever bytes of streams move), and [`Streams::streamed`] names the cookie.
    ///
    /// To be called once for each stream. For a stream that was announced in a packet, call it before the sender is asked.
    ///
    /// # Safety
    /// `to.memory` is valid for writes of `to.room` bytes until `streamed` names the cookie, and
    /// nobody else uses them.
    unsafe fn stream_in(&mut self, src: Rank, number: u64, to: Landing) {
        let _ = (src, number, to);
        debug_assert!(false, "this transport has no streams");
    }

    /// Returns each stream that has ended, once. After every `poll` that returned more than 0, call this until it returns `None`.
    #[inline(always)]
    fn streamed(&mut self) -> Option<Streamed> {
        None
    }
}
