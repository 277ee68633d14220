//! Packets between the processes of a job: what every transport has.

use crate::{Broken, Head, PREFIX, Rank};
use core::time::Duration;
use std::sync::Arc;

/// The limits of a transport. They are fixed for the life of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest payload of the cheapest packets, bytes: header and payload share a slot or a datagram.
    pub inline: usize,
    /// Largest payload of one packet, bytes.
    pub packet: usize,
}

/// Why a packet was not taken. Not an error: poll, then try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// All buffers for a packet of this size are on their way to receivers.
    NoBuffer,
}

/// The bell on which a process sleeps until a packet may have come. It is cheap to clone, and a thread may wait on
/// it while another thread uses the transport.
pub trait Doorbell: Send + Sync {
    /// Blocks until the bell rings or `timeout` has passed; may also return for no reason. Returns at once if the bell
    /// was not armed by [`Packets::arm`].
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
/// - A packet of `send_with_next` arrives also when nothing follows it, as long as its sender polls.
/// - One sender that is stopped half-way through a send keeps nobody else from sending.
pub trait Packets {
    fn rank(&self) -> Rank;
    fn size(&self) -> u32;
    fn limits(&self) -> Limits;

    /// Takes a batch of credits toward `dst` from the receiver's pool; 0 if there are none now. To be called only when
    /// the last credit is used up, because hoarding starves others. A credit or a buffer that comes back rings no bell,
    /// so a process that waits for one must not sleep long.
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

    /// As `send`, of a packet that may leave together with the next one to `dst`, in one datagram: the caller is about to send that.
    /// If none follows, it leaves when this process polls or arms the bell.
    #[inline(always)]
    fn send_with_next<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        self.send(dst, head, len, fill)
    }

    /// Delivers packets that have come, until about `budget` bytes have been delivered or none is left, and returns their
    /// number. Each packet counts 64 bytes and its payload. Packets are delivered whole, and of a message in fragments
    /// everything that has come. The payload is valid only during the call of `sink`. Costs one cache-line read if nothing
    /// has come. Never blocks.
    fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        sink: F,
    ) -> Result<usize, Broken>;

    /// Prepares to sleep. False: a packet has come meanwhile, and the bell is not armed; poll instead. True: until `disarm`
    /// the next packet rings the bell.
    fn arm(&mut self) -> bool;

    /// Ends what `arm` began. Harmless at any time.
    fn disarm(&mut self);

    /// Where to sleep after `arm`.
    fn doorbell(&self) -> Arc<dyn Doorbell>;

    /// Bytes of the longest message that `send_fragments` takes to `dst`; 0 if the transport has no fragments, or if one
    /// packet after the other is as fast.
    #[inline(always)]
    fn max_fragmented(&self, dst: Rank) -> u64 {
        let _ = dst;
        0
    }

    /// Sends a message of `len` bytes in fragments, for one credit: the receiver can read one fragment while the sender
    /// writes the next. If `first` is given, the receiver gets a packet with that head, whose payload is the prefix. Then, in
    /// the same poll or in later ones, it gets packets with the head `rest`, which together hold the message. No other packet
    /// of this sender comes between them.
    ///
    /// `fill` writes the fragments, in order. It gets the offset in the message, the memory, and whether stores past the
    /// cache are likely to be faster there.
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

    /// Whether ordinary stores to the memory of the next long packet to `dst` are slow at the moment, so that stores past
    /// the cache are likely to be faster.
    fn stores_are_slow(&self, dst: Rank) -> bool {
        let _ = dst;
        false
    }
}
