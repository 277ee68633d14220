//! The `Streams` capability of the network.

use crate::bulk::MIN_STREAMED;
use crate::net::{Net, now};
use hpvm_transport::{Head, Landing, Memory, Rank, Streamed, Streams};

impl Streams for Net {
    #[inline(always)]
    fn can_stream(&self, peer: Rank, len: u64) -> bool {
        len >= MIN_STREAMED && !self.is_far(peer) && len > self.one_frame(peer)
    }

    fn can_open(&self, dst: Rank, len: u64) -> bool {
        self.can_stream(dst, len) && self.streams.may_open(dst)
    }

    unsafe fn stream_open(
        &mut self,
        dst: Rank,
        stream: (u64, Head),
        source: (Memory, u64),
        unasked: bool,
    ) {
        let packets = self.hub.pushed(dst);
        // SAFETY: the caller's promise.
        unsafe { self.streams.open(now(), dst, stream, source, (unasked, packets)) };
    }

    unsafe fn stream_out(&mut self, dst: Rank, number: u64, from: Memory, len: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.streams.send(now(), (dst, number), from, len) };
    }

    unsafe fn stream_in(&mut self, src: Rank, number: u64, to: Landing) {
        // SAFETY: the caller's promise.
        unsafe { self.streams.receive(now(), src, number, to) };
    }

    #[inline(always)]
    fn streamed(&mut self) -> Option<Streamed> {
        let ended = self.streams.done();
        if ended.is_none() && self.has_read_end() { self.read_end() } else { ended }
    }
}
