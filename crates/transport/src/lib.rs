//! The Transport trait, its limits, its conformance suite.
//!
//! A transport moves packets between the processes of a job: reliably, in order per pair, and
//! only when the sender holds a credit. Everything above it is a state machine that calls
//! [`Transport::poll`]; nothing here blocks except [`Doorbell::wait`].

use core::fmt;
use core::ptr::NonNull;
use core::time::Duration;
pub use hpvm_wire::Head;
pub use hpvm_wire::cell::PREFIX;
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
    /// The peer's process is no more.
    Gone,
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
    /// What [`Transport::streamed`] names at the end.
    pub cookie: u64,
}

/// A stream whose memory the transport does not touch any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    /// One that came in: the cookie of its [`Landing`].
    Came(u64),
    /// One that went out: its number. All bytes have come, or the transport has copied what it may
    /// have to send again.
    Gone(u64),
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
/// - Pulls and pushes copy exactly the bytes that they are to copy, or are refused; both ends see the same
///   duets.
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
    /// payload; whole packets, and all that has come of a message in pieces), and returns how many.
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

    /// True when `pull` from `src` is worth trying.
    fn can_pull(&self, src: Rank) -> bool;

    /// The same without asking whether it is the fastest way: somebody has measured that.
    fn may_pull(&self, src: Rank) -> bool {
        self.can_pull(src)
    }

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

    /// Copies `len` bytes from `local` to `remote` in the memory of `dst`, as `pull` does the other way
    /// round.
    ///
    /// # Safety
    /// `local` is valid for reads of `len` bytes. `remote` needs no trust, as for `pull`, but `dst` has
    /// said that it may be written to.
    unsafe fn push(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PullRefused> {
        let _ = (dst, remote, local, len);
        Err(PullRefused::NotPermitted)
    }

    /// Duet `place` of `owner`, where a receiver and its sender can copy a message at the same time with
    /// `pull` and `push`; `None` where they can not, or not at the same time.
    fn duet(&self, owner: Rank, place: usize) -> Option<&hpvm_wire::duet::Duet> {
        let _ = (owner, place);
        None
    }

    /// Shortest message that is worth a duet, bytes: the sender has to be told, and to answer, and what
    /// it has copied lies in its cache and not in the receiver's.
    fn least_duet(&self) -> u64 {
        512 * 1024
    }

    /// Parts of a duet that the receiver copies before it waits for the sender to copy the rest. All,
    /// but where nothing happens at the same time: on the virtual network.
    fn duet_parts(&mut self) -> u32 {
        u32::MAX
    }

    /// Where in our own address space `len` bytes at `remote` in the memory of `src` lie, when that is
    /// memory which `src` lends and copying from there is worth while. They stay readable for as long as this end lives, and are what
    /// `src` wrote before the last packet that has come from it.
    fn lent(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        let _ = (src, remote, len);
        None
    }

    /// The same whether or not copying from there is worth while for a message.
    fn window(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        let _ = (src, remote, len);
        None
    }

    /// Memory of `bytes` bytes that the ranks of our host can read by `window`, aligned to a page.
    /// It is valid while this end lives. `None`: there is none.
    fn lend_memory(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let _ = bytes;
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

    /// True when a message of `len` bytes to `dst` may go out by `stream_open` now. Empty ones never
    /// may.
    #[inline(always)]
    fn can_open(&self, dst: Rank, len: u64) -> bool {
        let _ = (dst, len);
        false
    }

    /// Begins to send stream `number` of `len` bytes to `dst`, of which the receiver knows nothing;
    /// `can_open` has just said yes. The sender chooses the number; it is unique among its streams
    /// that have not ended.
    ///
    /// The receiver gets a packet with `head`, in order with all other packets; its payload is the
    /// stream's length and number, little endian, 8 bytes each. `unasked`: bytes may go before
    /// the receiver has said where they belong, as far as it takes some; what comes too soon is
    /// kept there. Otherwise that all have come means that the receiver knew their place.
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

    /// The same for a stream that was announced in a packet, after the receiver has asked for it in
    /// one.
    ///
    /// # Safety
    /// As for `stream_open`.
    unsafe fn stream_out(&mut self, dst: Rank, number: u64, from: Memory, len: u64) {
        let _ = (dst, number, from, len);
        debug_assert!(false, "this transport has no streams");
    }

    /// Says where stream `number` of `src` belongs. When its last byte has come, `poll` counts one
    /// packet more (as it may whenever bytes of streams move) and [`Transport::streamed`] names the cookie.
    ///
    /// To be called once for each stream, and before the sender is asked for one that was announced
    /// in a packet.
    ///
    /// # Safety
    /// `to.memory` is valid for writes of `to.room` bytes until `streamed` names the cookie, and
    /// nobody else uses them.
    unsafe fn stream_in(&mut self, src: Rank, number: u64, to: Landing) {
        let _ = (src, number, to);
        debug_assert!(false, "this transport has no streams");
    }

    /// A stream that has ended, once each. To be asked until it says `None` after every `poll` that
    /// returned more than 0.
    #[inline(always)]
    fn streamed(&mut self) -> Option<Streamed> {
        None
    }

    /// The counters of this process, when the transport keeps them.
    fn counters(&self) -> Option<&hpvm_wire::counters::Counters> {
        None
    }

    /// Longest message that `send_pieces` takes to `dst`, bytes; 0 where the transport has no such path or
    /// one packet after the other does as well.
    #[inline(always)]
    fn pieces(&self, dst: Rank) -> u64 {
        let _ = dst;
        0
    }

    /// Sends a message of `len` bytes in pieces, of which the receiver can have one while the sender
    /// writes the next, for one credit. The receiver gets a packet with the first head whose payload is
    /// the prefix, if they are given, and then, in this poll or later ones, packets with `rest` that
    /// together hold the message. Nothing else of this sender comes between them.
    ///
    /// `fill` writes the pieces, in order: it gets the place in the message and the memory, and whether
    /// stores that bypass the cache are likely to be faster there.
    ///
    /// Uses up one credit when it returns `Ok` and none otherwise. `len` is more than 0 and at most
    /// `pieces(dst)`.
    fn send_pieces<F: FnMut(usize, &mut [u8], bool)>(
        &mut self,
        dst: Rank,
        first: Option<(Head, &[u8; PREFIX])>,
        rest: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        let _ = (dst, first, rest, len, fill);
        debug_assert!(false, "this transport has no pieces");
        Err(Refused::NoBuffer)
    }

    /// The memory that the next long packet to `dst` is written to is slow to write to at the
    /// moment, so stores that bypass the cache are likely to be faster.
    fn writes_slowly(&self, dst: Rank) -> bool {
        let _ = dst;
        false
    }

    /// Collective slots `index` of `rank`, where `rank` shares memory with this process and has such ones.
    fn coll_slots(&self, rank: Rank, index: usize) -> Option<&hpvm_wire::coll_slots::CollSlots> {
        let _ = (rank, index);
        None
    }

    /// The large slot for operation `number` of those, where there is one.
    fn large_slot(
        &self,
        rank: Rank,
        index: usize,
        number: u64,
    ) -> Option<&hpvm_wire::coll_slots::LargeSlot> {
        let _ = (rank, index, number);
        None
    }

    /// Wakes `dst` if it sleeps: something that it may wait for has been posted in a collective slot.
    /// [`Transport::arm`] does not look at collective slots; whoever waits for one looks after arming.
    fn knock(&self, dst: Rank) {
        let _ = dst;
    }
}
