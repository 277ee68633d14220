//! The links of one process.

use crate::Peer;
use crate::config::Config;
use crate::counters::Counters;
use hpvm_wire::Head;

/// No room for a packet now: its credit is not used up. Hand in datagrams, then try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Why a datagram was not used. Each kind is counted; none is a reason to do anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// No correct peer sends these bytes.
    Garbage,
    /// This transmission has come before, or is too far behind to tell.
    Replayed,
    /// Its data have come before. Its acknowledgements were used.
    Duplicate,
    /// Its data lie outside of the window. Its acknowledgements were used.
    Outside,
    /// There is no buffer to keep it until what is missing before it has come.
    NoRoom,
}

/// What became of a datagram that was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way, or lost like any other.
    Taken,
    /// The socket is full. The datagram is handed out again by a later call.
    Later,
    /// It is too large for the path (EMSGSIZE), which carries datagrams of at most so many bytes,
    /// counted as [`Config::datagram`] is; 0 when that is not known.
    TooLarge(usize),
}

/// What a peer has not acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Datagrams, sent or waiting for the window.
    pub datagrams: u32,
    /// Packets that begin in them.
    pub packets: u64,
    /// When the oldest of them was first waited for, and when the peer last gave a sign of life
    /// (0: never), in the caller's time.
    pub since: u64,
    pub heard: u64,
}

/// The links of one process to its peers. A peer costs four bytes until it is first talked to.
pub struct Hub {
    config: Config,
    counters: Counters,
    peers: u32,
}

impl Hub {
    /// Err: the settings contradict each other (the text says which), or there are no peers.
    /// `peers` is the size of the job: peers are numbered below it.
    pub fn new(config: Config, peers: u32) -> Result<Hub, String> {
        config.check()?;
        Ok(Hub { config, counters: Counters::default(), peers })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Credits toward `peer`: as many packets as fit into one datagram each (of
    /// [`Hub::small`] bytes) are sure to be taken by [`Hub::push`]. 0 when there is no room now.
    /// A credit holds a place; ask when the last one is used up.
    pub fn grant(&mut self, peer: Peer) -> u16 {
        let _ = peer < self.peers;
        0
    }

    /// Payload bytes up to which a packet with a credit is never refused.
    pub fn small(&self) -> usize {
        self.config.least_datagram - 64
    }

    /// Takes a packet of `len` payload bytes, which `fill` writes in place, all of them. A packet
    /// that is taken is delivered in the end. Uses up a credit when it returns `Ok`, and may
    /// refuse a packet of more than [`Hub::small`] bytes in spite of one. Sends nothing yet:
    /// [`Hub::transmit_to`] does.
    pub fn push(
        &mut self,
        now: u64,
        peer: Peer,
        head: Head,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Full> {
        let _ = (now, peer, head, len, fill);
        Err(Full)
    }

    /// Uses a datagram that `peer` has sent (authentication is the caller's) and delivers the
    /// packets that are complete with it, in order. Returns how many: seldom more than fit into
    /// one datagram, but all that waited behind a missing datagram when that one comes.
    pub fn on_datagram(
        &mut self,
        now: u64,
        peer: Peer,
        bytes: &[u8],
        deliver: &mut impl FnMut(Head, &[u8]),
    ) -> Result<usize, Dropped> {
        let _ = (now, peer, bytes, deliver);
        Err(Dropped::Garbage)
    }

    /// True when [`Hub::transmit`] has something to do: something may be sent, or a timer is due.
    pub fn has_work(&self, now: u64) -> bool {
        let _ = now;
        false
    }

    /// Hands out every datagram that may be sent now, several to one peer in a row, until `out`
    /// says [`Sent::Later`]. Returns how many were taken. The bytes are valid during the call only.
    pub fn transmit(&mut self, now: u64, out: &mut impl FnMut(Peer, &[u8]) -> Sent) -> usize {
        let _ = (now, out);
        0
    }

    /// The same for one peer, without looking at timers: to follow a `push`.
    pub fn transmit_to(
        &mut self,
        now: u64,
        peer: Peer,
        out: &mut impl FnMut(Peer, &[u8]) -> Sent,
    ) -> usize {
        let _ = (now, peer, out);
        0
    }

    /// When `transmit` has something to do although nothing comes: until then the caller may
    /// sleep. None: until a datagram comes.
    pub fn deadline(&mut self) -> Option<u64> {
        None
    }

    /// Makes acknowledgements that wait for data to travel with go out with the next `transmit`:
    /// before the process stops calling for long, or ends.
    pub fn flush_acks(&mut self) {}

    /// A sign of life of `peer` came another way.
    pub fn heard(&mut self, now: u64, peer: Peer) {
        let _ = (now, peer);
    }

    /// Calls `each` with every peer that has not acknowledged something and has given no sign of
    /// life for `timeout` (nor has anything been waited for longer). Decides nothing: what a
    /// silent peer means (its host may be well and its process computing) the caller knows.
    pub fn silent(&self, now: u64, timeout: u64, each: impl FnMut(Peer, Pending)) {
        let _ = (now, timeout, each);
    }

    /// What `peer` has not acknowledged.
    pub fn pending(&self, peer: Peer) -> Pending {
        let _ = peer;
        Pending::default()
    }

    /// True when every peer has acknowledged everything: the process may end, after
    /// `flush_acks`, `transmit`, and some time in which it answers peers whose last
    /// acknowledgement was lost.
    pub fn all_acknowledged(&self) -> bool {
        true
    }

    /// The path to `peer` carries datagrams of at most `size` bytes, counted as
    /// [`Config::datagram`] is. What was cut larger is sent again in parts.
    pub fn set_datagram(&mut self, peer: Peer, size: usize) {
        let _ = (peer, size);
    }

    /// Links made so far.
    pub fn links(&self) -> usize {
        0
    }

    /// Bytes of memory that the links hold now.
    pub fn memory(&self) -> usize {
        0
    }

    /// Bytes of memory that `links` links of a job of `peers` ever hold.
    pub fn bound(config: &Config, peers: u32, links: usize) -> usize {
        4 * peers as usize + config.most_buffers(links) * config.most_datagram
    }
}
