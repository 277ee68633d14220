//! Fast Messages: streams, packets, credits, handlers, extract.
//!
//! [`Fm`] is the engine that every programming model shares: it holds the credits, sends packets
//! and extracts what has come. MPI uses it directly, packet by packet ([`Fm::send`],
//! [`Fm::extract`]).
//!
//! Two rules keep it free of deadlock. What runs inside `extract` never sends: it appends to a
//! bounded list of its own that is drained afterwards. And a send that finds no credit returns
//! [`Stall`] instead of waiting, so the caller goes on extracting.

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
    Broken, Doorbell, Head, Holes, Landing, Life, Limits, Memory, PREFIX, Packets, PeerMemory,
    PeerMemoryError, Rank, Refused, Segment, Streamed, Streams, Transport,
};
use hpvm_wire::counters::{Counters, add};
pub use incoming::{Arrival, Counts};
pub use node::Node;
pub use outgoing::SendStream;
pub use per_peer::PerPeer;
pub use sender::PacketSender;
use std::sync::Arc;

/// Packets that a process may send, to all others together, before it has to extract once: what
/// others have to tell it would else be seen only when credits run out. Beyond it goes on with the
/// credits that it holds. Not fewer, because a program may start many sends and compute before it
/// waits: those beyond would not leave until then.
pub const BLIND: u32 = 256;

/// Why a packet was not taken now. Extract, then try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// The receiver has promised all its slots; it gives some back when it polls. Or this process has
    /// sent [`BLIND`] packets without a look at what has come.
    NoCredit,
    /// All of our own buffers are on their way.
    NoBuffer,
}

/// The engine of one process over one transport.
pub struct Fm<T> {
    transport: T,
    /// Credits taken since packets were last extracted.
    blind: u32,
    /// Credits held toward each rank. Idle peers cost next to nothing.
    wallet: PerPeer<u16>,
}

impl<T: Transport> Fm<T> {
    pub fn new(transport: T) -> Self {
        Fm { transport, blind: 0, wallet: PerPeer::default() }
    }

    /// Bytes that the engine keeps beside the transport.
    pub fn bytes(&self) -> usize {
        self.wallet.bytes()
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

    /// Sends one packet of `len` bytes, at most `limits().packet`, which `fill` writes in place.
    /// Never blocks.
    #[inline(always)]
    pub fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Stall> {
        let held = match self.wallet.get_mut(dst) {
            Some(held) => held,
            None => self.wallet.at(dst),
        };
        if *held == 0 {
            *held = granted(&mut self.transport, &mut self.blind, dst)?;
        }
        match self.transport.send(dst, head, len, fill) {
            Ok(()) => {
                *held -= 1;
                Ok(())
            }
            Err(Refused::NoBuffer) => Err(Stall::NoBuffer),
        }
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
        let held = match self.wallet.get_mut(dst) {
            Some(held) => held,
            None => self.wallet.at(dst),
        };
        if *held == 0 {
            *held = granted(&mut self.transport, &mut self.blind, dst)?;
        }
        let packets = (len / self.transport.limits().packet) as u32;
        match self.transport.send_fragments(dst, first, rest, len, fill) {
            Ok(()) => {
                *held -= 1;
                // One credit, but as much as so many packets.
                self.blind = self.blind.saturating_add(packets);
                Ok(())
            }
            Err(Refused::NoBuffer) => Err(Stall::NoBuffer),
        }
    }

    /// Delivers packets that have come to `sink`, until about `budget` bytes (whole packets) or
    /// nothing more is there. Returns how many.
    #[inline(always)]
    pub fn extract<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        sink: F,
    ) -> Result<usize, Broken> {
        self.blind = 0;
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

    /// Sleeps until a packet may have come or `timeout` has passed. For a process whose only
    /// thread is the caller; with several threads take the doorbell and wait outside the lock.
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

/// Credits toward `dst` for one who holds none, at least one.
#[inline(always)]
fn granted<T: Transport>(transport: &mut T, blind: &mut u32, dst: Rank) -> Result<u16, Stall> {
    let granted = if *blind < BLIND { transport.take_credits(dst) } else { 0 };
    if granted == 0 {
        return Err(stalled(transport));
    }
    *blind += u32::from(granted);
    Ok(granted)
}

#[cold]
fn stalled<T: Transport>(transport: &T) -> Stall {
    if let Some(c) = transport.counters() {
        add(&c.credit_stalls, 1);
    }
    Stall::NoCredit
}
