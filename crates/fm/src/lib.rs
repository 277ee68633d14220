//! Fast Messages: streams, packets, credits, handlers, extract.
//!
//! [`Fm`] is the engine that every programming model shares: it holds the credits, sends packets and
//! extracts the packets that have come. MPI uses it directly, packet by packet ([`Fm::send`],
//! [`Fm::extract`]).
//!
//! Two rules keep it free of deadlock. A packet handler, which runs inside `extract`, never sends: it appends
//! to a bounded list that is emptied afterwards. And a send that finds no credit returns [`Stall`] instead of
//! waiting, so that the caller goes on extracting.

pub mod backoff;
pub mod deferred;
pub mod fast;
pub mod fault;
pub mod handler;
pub mod handler_id;
mod head;
pub mod incoming;
pub mod node;
pub mod outgoing;
pub mod per_peer;
pub mod sender;

use core::time::Duration;
pub use fast::Fast;
pub use fault::{Fault, SendError};
pub use handler::{Action, RecvStream};
pub use hpvm_transport::{
    Broken, Doorbell, Exposed, Head, Holes, Landing, Life, Limits, Memory, PREFIX, Packets,
    PeerMemory, PeerMemoryError, Rank, Refused, Segment, Streamed, Streams, Transport,
};
use hpvm_wire::counters::{Counters, add};
pub use incoming::{Arrival, Counts};
pub use node::Node;
pub use outgoing::SendStream;
pub use per_peer::PerPeer;
pub use sender::PacketSender;
use std::sync::Arc;

/// Packets that a process may send, to all others together, before it has to extract once. Without this
/// limit it would see an XOFF only when its credits run out. Beyond the limit it may spend the credits that it
/// holds, but gets no new ones. The number is not smaller because a program may start many sends and compute
/// before it waits: the sends beyond the limit do not leave until then.
pub const MAX_UNPOLLED: u32 = 256;

/// Why a packet can't be sent now. The caller extracts, then tries again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// All credits toward the receiver are given out; it gives some back when it polls. Or this process has
    /// sent [`MAX_UNPOLLED`] packets without extracting.
    NoCredit,
    /// All frames of this process are on their way to receivers.
    NoBuffer,
}

/// The engine of one process over one transport.
pub struct Fm<T> {
    transport: T,
    /// Credits acquired since packets were last extracted.
    unpolled: u32,
    /// Credits that this process holds toward each rank. A peer that nobody talks to costs next to nothing.
    credits: PerPeer<u16>,
}

impl<T: Transport> Fm<T> {
    pub fn new(transport: T) -> Self {
        Fm { transport, unpolled: 0, credits: PerPeer::default() }
    }

    /// Bytes of memory that the engine uses, without the transport.
    pub fn bytes(&self) -> usize {
        self.credits.bytes()
    }

    #[inline(always)]
    pub fn rank(&self) -> Rank {
        self.transport.rank()
    }

    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.transport.size()
    }

    #[inline(always)]
    pub fn limits(&self) -> Limits {
        self.transport.limits()
    }

    pub fn transport(&self) -> &T {
        &self.transport
    }

    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Sends one packet of `len` bytes, at most `limits().packet`; `fill` writes them where the transport wants
    /// them. Costs one credit toward `dst`. Never blocks.
    #[inline(always)]
    pub fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Stall> {
        // Written out: the compiler leaves a closure of `for_a_credit` outside, which costs a small message 60 instructions.
        let held = match self.credits.get_mut(dst) {
            Some(held) => held,
            None => self.credits.at(dst),
        };
        if *held == 0 {
            *held = acquire_credits(&mut self.transport, &mut self.unpolled, dst)?;
        }
        paid(held, self.transport.send(dst, head, len, fill))
    }

    /// As `send`, of a packet that may leave together with the next one to `dst`: see [`Packets::send_with_next`].
    pub fn send_with_next<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Stall> {
        self.for_a_credit(dst, |transport| transport.send_with_next(dst, head, len, fill))
    }

    /// Sends something to `dst` that costs a credit if it is taken.
    fn for_a_credit(
        &mut self,
        dst: Rank,
        send: impl FnOnce(&mut T) -> Result<(), Refused>,
    ) -> Result<(), Stall> {
        let held = match self.credits.get_mut(dst) {
            Some(held) => held,
            None => self.credits.at(dst),
        };
        if *held == 0 {
            *held = acquire_credits(&mut self.transport, &mut self.unpolled, dst)?;
        }
        paid(held, send(&mut self.transport))
    }

    /// Sends a message in fragments, for one credit: see [`Packets::send_fragments`]. Never blocks.
    pub fn send_fragments<F: FnMut(usize, &mut [u8], bool)>(
        &mut self,
        dst: Rank,
        first: Option<(Head, &[u8; PREFIX])>,
        rest: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Stall> {
        self.for_a_credit(dst, |t| t.send_fragments(dst, first, rest, len, fill))?;
        // One credit, but as many bytes as these packets would carry.
        let packets = (len / self.transport.limits().packet) as u32;
        self.unpolled = self.unpolled.saturating_add(packets);
        Ok(())
    }

    /// Gives packets that have come to `sink`, until about `budget` bytes have been delivered (in whole packets)
    /// or none is left. Returns the number of packets. Never blocks.
    #[inline(always)]
    pub fn extract<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        sink: F,
    ) -> Result<usize, Broken> {
        self.unpolled = 0;
        self.transport.poll(budget, sink)
    }

    /// See [`Packets::arm`].
    pub fn arm(&mut self) -> bool {
        self.transport.arm()
    }

    /// See [`Packets::disarm`].
    pub fn disarm(&mut self) {
        self.transport.disarm();
    }

    pub fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.transport.doorbell()
    }

    /// Sleeps until a packet may have come or `timeout` has passed. For a process with one thread; with several
    /// threads take the doorbell, and wait without holding the lock.
    pub fn sleep(&mut self, timeout: Duration) {
        if self.transport.arm() {
            self.transport.doorbell().wait(timeout);
            self.transport.disarm();
        }
    }

    pub fn counters(&self) -> Option<&Counters> {
        self.transport.counters()
    }
}

/// What follows from a send that cost one of the credits held if the packet was taken.
#[inline(always)]
fn paid(held: &mut u16, sent: Result<(), Refused>) -> Result<(), Stall> {
    match sent {
        Ok(()) => {
            *held -= 1;
            Ok(())
        }
        Err(Refused::NoBuffer) => Err(Stall::NoBuffer),
    }
}

/// Acquires a batch of credits toward `dst`, at least one.
#[inline(always)]
fn acquire_credits<T: Transport>(
    transport: &mut T,
    unpolled: &mut u32,
    dst: Rank,
) -> Result<u16, Stall> {
    let granted = if *unpolled < MAX_UNPOLLED { transport.take_credits(dst) } else { 0 };
    if granted == 0 {
        return Err(stalled(transport));
    }
    *unpolled += u32::from(granted);
    Ok(granted)
}

#[cold]
fn stalled<T: Transport>(transport: &T) -> Stall {
    if let Some(c) = transport.counters() {
        add(&c.credit_stalls, 1);
    }
    Stall::NoCredit
}
