//! Streams: those of the network, to ranks of other hosts.

use crate::mux::Mux;
use hpvm_transport::{Head, Landing, Memory, Rank, Streamed, Streams};

impl Streams for Mux {
    fn can_stream(&self, peer: Rank, len: u64) -> bool {
        let Some(hosts) = &self.hosts else { return false };
        hosts.net.can_stream(peer, len) && hosts.is_remote(peer)
    }

    fn can_open(&self, dst: Rank, len: u64) -> bool {
        let Some(hosts) = &self.hosts else { return false };
        hosts.is_remote(dst) && hosts.net.can_open(dst, len)
    }

    unsafe fn stream_open(
        &mut self,
        dst: Rank,
        stream: (u64, Head),
        source: (Memory, u64),
        unasked: bool,
    ) {
        let Some(hosts) = &mut self.hosts else { return };
        hosts.poll_interval.expect();
        // SAFETY: the caller's promise.
        unsafe { hosts.net.stream_open(dst, stream, source, unasked) };
    }

    unsafe fn stream_out(&mut self, dst: Rank, number: u64, from: Memory, len: u64) {
        let Some(hosts) = &mut self.hosts else { return };
        hosts.poll_interval.expect();
        // SAFETY: the caller's promise.
        unsafe { hosts.net.stream_out(dst, number, from, len) };
    }

    unsafe fn stream_in(&mut self, src: Rank, number: u64, to: Landing) {
        let Some(hosts) = &mut self.hosts else { return };
        hosts.poll_interval.expect();
        // SAFETY: the caller's promise.
        unsafe { hosts.net.stream_in(src, number, to) };
    }

    #[inline(always)]
    fn streamed(&mut self) -> Option<Streamed> {
        match &mut self.hosts {
            None => None,
            Some(hosts) => hosts.net.streamed(),
        }
    }
}
