//! Streams over the network, to ranks of other hosts, of our job and of linked jobs.

use crate::mux::{Hosts, Mux};
use hpvm_net::Net;
use hpvm_transport::{Head, Landing, Memory, Rank, Streamed, Streams};

impl Hosts {
    /// The sockets that reach a rank on another host, and its number there.
    fn net_to(&self, rank: Rank) -> Option<(&Net, Rank)> {
        match self.is_remote(rank) {
            true => Some((self.net.as_ref()?, rank)),
            false => self.links.net(rank),
        }
    }

    /// The same for a stream that begins.
    fn stream_to(&mut self, rank: Rank) -> Option<(&mut Net, Rank)> {
        self.poll_interval.expect();
        match self.is_remote(rank) {
            true => Some((self.net.as_mut()?, rank)),
            false => self.links.net_mut(rank),
        }
    }
}

impl Streams for Mux {
    fn can_stream(&self, peer: Rank, len: u64) -> bool {
        let found = self.hosts.as_ref().and_then(|hosts| hosts.net_to(peer));
        found.is_some_and(|(net, peer)| net.can_stream(peer, len))
    }

    fn can_open(&self, dst: Rank, len: u64) -> bool {
        let found = self.hosts.as_ref().and_then(|hosts| hosts.net_to(dst));
        found.is_some_and(|(net, dst)| net.can_open(dst, len))
    }

    unsafe fn stream_open(
        &mut self,
        dst: Rank,
        stream: (u64, Head),
        source: (Memory, u64),
        unasked: bool,
    ) {
        let found = self.hosts.as_mut().and_then(|hosts| hosts.stream_to(dst));
        if let Some((net, dst)) = found {
            // SAFETY: the caller's promise.
            unsafe { net.stream_open(dst, stream, source, unasked) };
        }
    }

    unsafe fn stream_out(&mut self, dst: Rank, number: u64, from: Memory, len: u64) {
        let found = self.hosts.as_mut().and_then(|hosts| hosts.stream_to(dst));
        if let Some((net, dst)) = found {
            // SAFETY: the caller's promise.
            unsafe { net.stream_out(dst, number, from, len) };
        }
    }

    unsafe fn stream_in(&mut self, src: Rank, number: u64, to: Landing) {
        let found = self.hosts.as_mut().and_then(|hosts| hosts.stream_to(src));
        if let Some((net, src)) = found {
            // SAFETY: the caller's promise.
            unsafe { net.stream_in(src, number, to) };
        }
    }

    #[inline(always)]
    fn streamed(&mut self) -> Option<Streamed> {
        match &mut self.hosts {
            None => None,
            Some(hosts) => {
                hosts.net.as_mut().and_then(Net::streamed).or_else(|| hosts.links.streamed())
            }
        }
    }
}
