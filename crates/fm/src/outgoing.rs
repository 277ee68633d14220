//! Sending: pieces of any size become packets.

use crate::deferred::{Message, Replies};
use crate::fault::SendError;
use crate::head::{MAX_BOUND, encode};
use crate::sender::PacketSender;
use crate::{PerPeer, Rank, Stall};

/// Payload of one packet of a long message, where the transport allows as much: small enough
/// that the receiver's copy of one packet overlaps the sender's copy of the next.
pub const PACKET: usize = 8192;

/// A message being sent, from begin to end. One per destination at a time.
///
/// To be ended with `end_message`: a stream that is dropped keeps its destination busy.
#[must_use = "a stream that is not ended keeps its destination busy"]
#[derive(Debug, PartialEq, Eq)]
pub struct SendStream {
    dst: Rank,
    number: u16,
}

impl SendStream {
    /// The receiving node.
    pub fn dst(&self) -> Rank {
        self.dst
    }
}

/// The open stream to one node.
struct Open {
    handler: u8,
    bound: usize,
    /// Bytes in packets that have left; `None` before the first.
    sent: Option<usize>,
    /// Bytes that wait for their packet to fill, at most a packet.
    staged: Vec<u8>,
    /// The packet marked LAST has left.
    complete: bool,
}

impl Open {
    /// Bytes given to this stream so far.
    fn taken(&self) -> usize {
        self.sent.unwrap_or(0) + self.staged.len()
    }

    fn send<P: PacketSender + ?Sized>(
        &mut self,
        net: &mut P,
        dst: Rank,
        number: u16,
        payload: &[u8],
        last: bool,
    ) -> Result<(), Stall> {
        let head = encode(number, self.handler, self.bound, self.sent, last);
        net.send_packet(dst, head, payload)?;
        self.sent = Some(self.sent.unwrap_or(0) + payload.len());
        self.complete = last;
        Ok(())
    }

    /// Sends what is staged.
    fn flush<P: PacketSender + ?Sized>(
        &mut self,
        net: &mut P,
        dst: Rank,
        number: u16,
        last: bool,
    ) -> Result<(), Stall> {
        let mut staged = core::mem::take(&mut self.staged);
        let result = self.send(net, dst, number, &staged, last);
        if result.is_ok() {
            staged.clear();
        }
        self.staged = staged;
        result
    }

    /// Takes as much of `bytes` as leaves in packets or fits in the staged one.
    fn push<P: PacketSender + ?Sized>(
        &mut self,
        net: &mut P,
        dst: Rank,
        number: u16,
        packet: usize,
        bytes: &[u8],
    ) -> usize {
        let mut taken = 0;
        loop {
            let rest = &bytes[taken..];
            // A message that has reached its bound needs nothing from end_message.
            let full = |open: &Open| open.staged.len() == packet || open.taken() == open.bound;
            if !self.staged.is_empty() && full(self) {
                let last = self.taken() == self.bound;
                if self.flush(net, dst, number, last).is_err() {
                    return taken;
                }
            }
            if rest.is_empty() {
                return taken;
            }
            let left = self.bound - self.taken();
            if self.staged.is_empty() && (rest.len() >= packet || rest.len() == left) {
                // Straight from the caller's memory: no copy but the transport's.
                let n = rest.len().min(packet);
                if self.send(net, dst, number, &rest[..n], n == left).is_err() {
                    return taken;
                }
                taken += n;
            } else {
                let n = rest.len().min(packet - self.staged.len());
                self.staged.extend_from_slice(&rest[..n]);
                taken += n;
            }
        }
    }
}

#[derive(Default)]
struct Peer {
    /// Number of the open stream, or of the next.
    number: u16,
    /// It has said that too many packets wait for its handlers.
    off: bool,
    open: Option<Box<Open>>,
}

/// All streams that leave this node.
pub(crate) struct Outgoing {
    peers: PerPeer<Peer>,
    size: u32,
    packet: usize,
    /// Ended streams, to be used again without allocating.
    #[expect(clippy::vec_box, reason = "the boxes themselves go to and fro, unallocated")]
    spare: Vec<Box<Open>>,
}

impl Outgoing {
    pub fn new(size: u32, packet: usize) -> Outgoing {
        Outgoing {
            peers: PerPeer::default(),
            size,
            packet: packet.clamp(1, PACKET),
            spare: Vec::new(),
        }
    }

    /// Bytes that the tables take.
    pub fn bytes(&self) -> usize {
        self.peers.bytes()
    }

    pub fn begin(
        &mut self,
        replies: &Replies,
        dst: Rank,
        bound: usize,
        handler: u8,
    ) -> Result<SendStream, SendError> {
        let size = self.size;
        if dst >= size {
            return Err(SendError::NoSuchNode { dst, size });
        }
        let peer = self.peers.at(dst);
        if bound as u64 > MAX_BOUND {
            return Err(SendError::TooLong { asked: bound as u64, most: MAX_BOUND });
        }
        if peer.open.is_some() {
            return Err(SendError::Busy);
        }
        if replies.pending_to(dst) {
            return Err(SendError::Stalled);
        }
        let staged = Vec::new();
        let mut open = self.spare.pop().unwrap_or_else(|| {
            Box::new(Open { handler, bound, sent: None, staged, complete: false })
        });
        (open.handler, open.bound) = (handler, bound);
        peer.open = Some(open);
        Ok(SendStream { dst, number: peer.number })
    }

    /// `src` has said whether it takes packets.
    pub fn told(&mut self, src: Rank, off: bool) {
        if src < self.size {
            self.peers.at(src).off = off;
        }
    }

    /// See [`crate::Fast::push`].
    pub fn push<P: PacketSender + ?Sized>(
        &mut self,
        net: &mut P,
        stream: &SendStream,
        bytes: &[u8],
    ) -> Result<usize, SendError> {
        let packet = self.packet;
        let open = self.open(stream)?;
        if bytes.len() > open.bound - open.taken() {
            let asked = open.taken() as u64 + bytes.len() as u64;
            return Err(SendError::TooLong { asked, most: open.bound as u64 });
        }
        if self.peers.get(stream.dst).is_some_and(|peer| peer.off) {
            return Ok(0);
        }
        let open = self.open(stream)?;
        Ok(open.push(net, stream.dst, stream.number, packet, bytes))
    }

    /// See [`crate::Fast::finish`].
    pub fn finish<P: PacketSender + ?Sized>(
        &mut self,
        net: &mut P,
        stream: &SendStream,
    ) -> Result<bool, SendError> {
        let off = self.peers.get(stream.dst).is_some_and(|peer| peer.off);
        let open = self.open(stream)?;
        if !open.complete && off {
            return Ok(false);
        }
        if !open.complete && open.flush(net, stream.dst, stream.number, true).is_err() {
            return Ok(false);
        }
        let peer = self.peers.at(stream.dst);
        peer.number = peer.number.wrapping_add(1);
        if let Some(mut open) = peer.open.take()
            && self.spare.len() < 4
        {
            open.staged.clear();
            (open.sent, open.complete) = (None, false);
            self.spare.push(open);
        }
        Ok(true)
    }

    fn open(&mut self, stream: &SendStream) -> Result<&mut Open, SendError> {
        let peer = self.peers.get_mut(stream.dst).ok_or(SendError::Ended)?;
        if peer.number != stream.number {
            return Err(SendError::Ended);
        }
        peer.open.as_deref_mut().ok_or(SendError::Ended)
    }

    /// Sends what handlers have deferred, as far as credits go.
    pub fn drain<P: PacketSender + ?Sized>(&mut self, net: &mut P, replies: &Replies) {
        let mut queue = replies.lock();
        // Nodes whose earlier message still waits: later ones must not overtake it.
        let mut blocked: Vec<Rank> = Vec::new();
        let mut i = 0;
        while i < queue.messages.len() {
            let message = &mut queue.messages[i];
            if !blocked.contains(&message.dst) {
                if self.send_deferred(net, message) {
                    queue.remove(i);
                    continue;
                }
                blocked.push(message.dst);
            }
            i += 1;
        }
        replies.publish(&queue);
    }

    /// True once all of `message` has left.
    fn send_deferred<P: PacketSender + ?Sized>(
        &mut self,
        net: &mut P,
        message: &mut Message,
    ) -> bool {
        let peer = self.peers.at(message.dst);
        if peer.open.is_some() || peer.off {
            return false;
        }
        let number = peer.number;
        let total = message.bytes.len();
        loop {
            let sent = message.number.map(|_| message.sent);
            let end = total.min(message.sent + self.packet);
            let head = encode(number, message.handler, total, sent, end == total);
            let payload = &message.bytes[message.sent..end];
            if net.send_packet(message.dst, head, payload).is_err() {
                return false;
            }
            (message.number, message.sent) = (Some(number), end);
            if end == total {
                peer.number = number.wrapping_add(1);
                return true;
            }
        }
    }
}
