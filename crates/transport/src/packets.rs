//! Packets between the processes of a job: what every transport has.

use crate::{Broken, Head, PREFIX, Rank};
use core::time::Duration;
use std::sync::Arc;

/// What a transport can do. Fixed for the life of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Payloads up to this many bytes are cheapest: header and payload share a line or a datagram.
    pub inline: usize,
    /// Largest payload of one packet, bytes.
    pub packet: usize,
}

/// Why a packet was not taken. Not an error: poll, then try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Every buffer that a packet of this size needs is on its way to somebody.
    NoBuffer,
}

/// Where a process sleeps until a packet may have come. Cheap to clone; may be waited on while
/// another thread uses the transport.
pub trait Doorbell: Send + Sync {
    /// Blocks until the bell rings, `timeout` passes, or for no reason. Returns at once when the
    /// bell was not armed by [`Packets::arm`].
    fn wait(&self, timeout: Duration);
    /// Ends a wait of another thread of this process.
    fn ring(&self);
}

/// Packets: reliable, in order per pair, each for a credit.
///
/// # Rules that the conformance suite checks
/// - Packets of one sender to one receiver arrive once each, in the order sent, unchanged.
/// - A credit is the right to send one packet to one receiver. A sender that calls `send` without
///   having been granted one breaks the contract (transports assert it in debug builds).
/// - A receiver that polls until nothing comes makes room: some sender is granted credits again.
/// - One sender that is stopped half-way through a send keeps nobody else from sending.
pub trait Packets {
    fn rank(&self) -> Rank;
    fn size(&self) -> u32;
    fn limits(&self) -> Limits;

    /// Takes some credits toward `dst` from the receiver's pool; 0 when there are none now. To be
    /// asked when the last one is used up: hoarding starves others. A credit or a buffer that
    /// comes back rings no bell, so whoever waits for one must not sleep long.
    fn take_credits(&mut self, dst: Rank) -> u16;

    /// Sends one packet of `len` payload bytes; `fill` writes them in place, all of them.
    ///
    /// Uses up one credit when it returns `Ok` and none otherwise. `len` is at most
    /// `limits().packet`.
    fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused>;

    /// Delivers packets that have come until about `budget` bytes (64 for each packet and its
    /// payload; whole packets, and all that has come of a message in fragments), and returns how many.
    /// The payload is valid during the call only.
    /// Costs one cache-line read when nothing has come.
    fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        sink: F,
    ) -> Result<usize, Broken>;

    /// Prepares to sleep. False: something has come meanwhile, and nothing is armed; poll instead.
    /// True: the next packet rings the bell, until `disarm`, which is harmless at any time.
    fn arm(&mut self) -> bool;

    /// Ends what `arm` began.
    fn disarm(&mut self);

    /// Where to sleep after `arm`.
    fn doorbell(&self) -> Arc<dyn Doorbell>;

    /// Longest message that `send_fragments` takes to `dst`, bytes; 0 where the transport has no such path, or
    /// where sending one packet after the other is as fast.
    #[inline(always)]
    fn max_fragmented(&self, dst: Rank) -> u64 {
        let _ = dst;
        0
    }

    /// Sends a message of `len` bytes in fragments, for one credit: the receiver can have one fragment while
    /// the sender writes the next. The receiver gets a packet with the first head whose payload is the prefix,
    /// if they are given, and then, in this poll or later ones, packets with `rest` that together hold the
    /// message. Nothing else of this sender comes between them.
    ///
    /// `fill` writes the fragments, in order: it gets the offset in the message, the memory, and whether
    /// stores past the cache are likely to be faster there.
    ///
    /// Uses up one credit when it returns `Ok` and none otherwise. `len` is more than 0 and at most
    /// `max_fragmented(dst)`.
    fn send_fragments<F: FnMut(usize, &mut [u8], bool)>(
        &mut self,
        dst: Rank,
        first: Option<(Head, &[u8; PREFIX])>,
        rest: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        let _ = (dst, first, rest, len, fill);
        debug_assert!(false, "this transport sends no fragments");
        Err(Refused::NoBuffer)
    }

    /// Ordinary stores to the memory of the next long packet to `dst` are slow at the moment, so that stores past
    /// the cache are likely to be faster.
    fn stores_are_slow(&self, dst: Rank) -> bool {
        let _ = dst;
        false
    }
}
