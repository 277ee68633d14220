//! Streams: those of the network, to ranks of other hosts.

use crate::mux::{Hosts, Mux};
use hpvm_transport::{Head, Landing, Memory, Rank, Streamed, Streams};

impl Streams for Mux {
    fn can_stream(&self, peer: Rank, len: u64) -> bool {
        let Some(hosts) = &self.hosts else { return false };
        hosts.net.as_ref().is_some_and(|net| net.can_stream(peer, len)) && hosts.is_remote(peer)
    }

    fn can_open(&self, dst: Rank, len: u64) -> bool {
        let Some(hosts) = &self.hosts else { return false };
        hosts.is_remote(dst) && hosts.net.as_ref().is_some_and(|net| net.can_open(dst, len))
    }

    unsafe fn stream_open(
        &mut self,
        dst: Rank,
        stream: (u64, Head),
        source: (Memory, u64),
        unasked: bool,
    ) {
        let Some(Hosts { net: Some(net), poll_interval, .. }) = self.hosts.as_deref_mut() else {
            return;
        };
        poll_interval.expect();
        // SAFETY: the caller's promise.
        unsafe { net.stream_open(dst, stream, source, unasked) };
    }

    unsafe fn stream_out(&mut self, dst: Rank, number: u64, from: Memory, len: u64) {
        let Some(Hosts { net: Some(net), poll_interval, .. }) = self.hosts.as_deref_mut() else {
            return;
        };
        poll_interval.expect();
        // SAFETY: the caller's promise.
        unsafe { net.stream_out(dst, number, from, len) };
    }

    unsafe fn stream_in(&mut self, src: Rank, number: u64, to: Landing) {
        let Some(Hosts { net: Some(net), poll_interval, .. }) = self.hosts.as_deref_mut() else {
            return;
        };
        poll_interval.expect();
        // SAFETY: the caller's promise.
        unsafe { net.stream_in(src, number, to) };
    }

    #[inline(always)]
    fn streamed(&mut self) -> Option<Streamed> {
        match &mut self.hosts {
            None => None,
            Some(hosts) => hosts.net.as_mut()?.streamed(),
        }
    }
}
