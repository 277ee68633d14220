//! The Transport trait, its limits, its conformance suite.
//!
//! A transport moves packets between the processes of a job: reliably, in order per pair, and
//! only when the sender holds a credit. Everything above it is a state machine that calls
//! [`Transport::poll`]; nothing here blocks except [`Doorbell::wait`].

use core::fmt;
use core::time::Duration;
pub use hpvm_wire::Head;
use std::sync::Arc;

pub mod conformance;
mod memory;

pub use memory::{Holes, Memory};

/// A process of the job, 0 to size - 1.
pub type Rank = u32;

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

/// A transport that can't go on. The text names what was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// A peer wrote something that no correct peer writes.
    Corrupt(String),
    /// A peer is gone.
    PeerLost { rank: Rank, why: String },
    /// The system does not do what the transport needs any more.
    Failed(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Corrupt(text) => write!(f, "corrupt data from a peer: {text}"),
            Broken::PeerLost { rank, why } => write!(f, "rank {rank} is gone: {why}"),
            Broken::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Broken {}

/// Why a single-copy transfer did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullRefused {
    /// The system does not permit it, or the transport has no such path: send the bytes instead.
    NotPermitted,
    /// The peer's memory could not be read: errno.
    Failed(i32),
}

/// Where the bytes of a stream belong, at its receiver.
pub struct Landing {
    pub memory: Memory,
    /// Bytes that are stored; what comes after them is dropped.
    pub room: u64,
    /// Bytes that come.
    pub len: u64,
    /// What [`Transport::streamed`] returns at the end.
    pub cookie: u64,
}

/// Where a process sleeps until a packet may have come. Cheap to clone; may be waited on while
/// another thread uses the transport.
pub trait Doorbell: Send + Sync {
    /// Blocks until the bell rings, `timeout` passes, or for no reason. Returns at once when the
    /// bell was not armed by [`Transport::arm`].
    fn wait(&self, timeout: Duration);
    /// Ends a wait of another thread of this process.
    fn ring(&self);
}

/// One process's end of a network of packets.
///
/// # Rules that [`conformance`] checks
/// - Packets of one sender to one receiver arrive once each, in the order sent, unchanged.
/// - A credit is the right to send one packet to one receiver. A sender that calls `send` without
///   having been granted one breaks the contract (transports assert it in debug builds).
/// - A receiver that polls until nothing comes makes room: some sender is granted credits again.
/// - One sender that is stopped half-way through a send keeps nobody else from sending.
pub trait Transport {
    fn rank(&self) -> Rank;
    fn size(&self) -> u32;
    fn limits(&self) -> Limits;

    /// Takes some credits toward `dst` from the receiver's pool; 0 when there are none now. To be
    /// asked when the last one is used up: hoarding starves others. A credit or a buffer that
    /// comes back rings no bell, so whoever waits for one must not sleep long.
    fn grant(&mut self, dst: Rank) -> u16;

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
    /// payload; whole packets), and returns how many. The payload is valid during the call only.
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

    /// True when `pull` from `src` is worth trying.
    fn can_pull(&self, src: Rank) -> bool;
    /// Copies `len` bytes from `remote` in the memory of `src` to `local`: one copy, no help from
    /// the peer's processor.
    ///
    /// # Safety
    /// `local` is valid for writes of `len` bytes. `remote` needs no trust: an address that is not
    /// mapped in the peer is refused by the kernel.
    unsafe fn pull(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PullRefused>;

    /// Where in our own address space `len` bytes at `remote` in the memory of `src` lie, when that is
    /// memory which `src` lends and copying from there is worth while. They stay readable for as long as this end lives, and are what
    /// `src` wrote before the last packet that has come from it.
    fn lent(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        let _ = (src, remote, len);
        None
    }

    /// True when a message of `len` bytes from or to `peer` is worth streaming: its bytes then go
    /// by themselves between the two programs' buffers, and no packets carry them. Both sides of
    /// a pair need not say the same about a length.
    #[inline(always)]
    fn can_stream(&self, peer: Rank, len: u64) -> bool {
        let _ = (peer, len);
        false
    }

    /// True when the sender may begin a stream of `len` bytes to `dst` before the receiver has
    /// said where they belong. Only a few small ones at a time may, because what comes too soon
    /// is kept at the receiver.
    #[inline(always)]
    fn can_stream_early(&self, dst: Rank, len: u64) -> bool {
        let _ = (dst, len);
        false
    }

    /// Begins to send stream `number` of `len` bytes to `dst`. The sender chooses the number and
    /// tells it to the receiver in a packet; it is unique among its streams that have not ended.
    /// `early`: nobody asked, and `can_stream_early` has just said yes.
    ///
    /// That the bytes have been written says nothing: a connection that breaks loses what lies in
    /// the kernel's buffers. The receiver has to say, in a packet, that it has them all; then
    /// [`Transport::stream_end`] is due.
    ///
    /// # Safety
    /// `from` is valid for reads of `len` bytes until `stream_end`.
    unsafe fn stream_out(&mut self, dst: Rank, number: u64, from: Memory, len: u64, early: bool) {
        let _ = (dst, number, from, len, early);
        debug_assert!(false, "this transport has no streams");
    }

    /// The receiver has all of stream `number`: its memory is not touched from now on.
    ///
    /// # Errors
    /// The receiver said so although it can't be: not all bytes have been sent.
    fn stream_end(&mut self, dst: Rank, number: u64) -> Result<(), Broken> {
        let _ = (dst, number);
        Ok(())
    }

    /// Says where stream `number` of `src` belongs. When its last byte has come, `poll` counts one
    /// packet more (as it may whenever bytes of streams move) and [`Transport::streamed`] returns the cookie.
    ///
    /// To be called once for each stream, early ones included, and before the sender is asked for
    /// those that are not.
    ///
    /// # Safety
    /// `to.memory` is valid for writes of `to.room` bytes until `streamed` returns the cookie, and
    /// nobody else uses them.
    unsafe fn stream_in(&mut self, src: Rank, number: u64, to: Landing) {
        let _ = (src, number, to);
        debug_assert!(false, "this transport has no streams");
    }

    /// The cookie of a stream that has come as a whole, once each. To be asked until it says
    /// `None` after every `poll` that returned more than 0.
    #[inline(always)]
    fn streamed(&mut self) -> Option<u64> {
        None
    }

    /// The counters of this process, when the transport keeps them.
    fn counters(&self) -> Option<&hpvm_wire::counters::Counters> {
        None
    }

    /// Longest payload of a packet to `dst` when a message goes out in several at once: the receiver
    /// copies one while the sender writes the next. `None`: one long packet does as well.
    fn piece(&self, dst: Rank) -> Option<usize> {
        let _ = dst;
        None
    }

    /// The memory that long packets are written to is slow to write to at the moment, so stores that
    /// bypass the cache are likely to be faster.
    fn writes_slowly(&self) -> bool {
        false
    }

    /// Board `index` of `rank`, where `rank` shares memory with this process and has such a board.
    fn board(&self, rank: Rank, index: usize) -> Option<&hpvm_wire::board::Board> {
        let _ = (rank, index);
        None
    }

    /// Wakes `dst` if it sleeps: something that it may wait for has been posted on a board.
    /// [`Transport::arm`] does not look at boards; whoever waits for a note looks after arming.
    fn knock(&self, dst: Rank) {
        let _ = dst;
    }
}
