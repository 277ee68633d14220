//! What waits for credits or buffers: control packets, sends that could not go out at once, and
//! messages that are streamed in `DATA` packets.
//!
//! Order between a pair of processes is kept: once a send to a process waits, later sends to it
//! wait behind it. Control packets answer requests of the peer and need no order.

use crate::engine::process::Process;
use crate::engine::quota::announces;
use crate::engine::requests::{Operation, ReqId};
use crate::pt2pt::protocol::{self, ANNOUNCE, DATA};
use crate::pt2pt::{Outgoing, pack_part};
use hpvm_fm::{Head, Rank, Stall, Transport};
use std::collections::VecDeque;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Backlog {
    control: VecDeque<(Rank, Head, u64)>,
    /// Per process with waiting sends, those sends in order. Few at a time, so a list will do.
    sends: Vec<(Rank, VecDeque<ReqId>)>,
    streams: Vec<Stream>,
    /// Receivers that have ever kept too much, and the last that each has said about it.
    told: Vec<(Rank, u64)>,
}

struct Stream {
    request: ReqId,
    /// Bytes of a packet.
    most: u64,
    /// The receiver's request.
    receiver: u64,
    /// Packed bytes sent.
    position: u64,
}

impl Backlog {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.sends.is_empty() && self.control.is_empty() && self.streams.is_empty()
    }

    /// True when somebody needs something of it. Who is to announce its messages, or no more, can do
    /// without being told once this process ends.
    pub fn is_needed(&self) -> bool {
        let mut control = self.control.iter();
        let needed = control.any(|(_, head, _)| head.handler != ANNOUNCE);
        needed || !self.sends.is_empty() || !self.streams.is_empty()
    }

    /// True when a send to `dst` can't go out at once: it has to queue, or to be announced.
    #[inline(always)]
    pub fn blocks(&self, dst: Rank) -> bool {
        self.queues(dst) || self.announces(dst)
    }

    /// True when a send to `dst` must queue behind others.
    #[inline(always)]
    pub fn queues(&self, dst: Rank) -> bool {
        !self.sends.is_empty() && self.sends.iter().any(|(d, _)| *d == dst)
    }

    /// True when all messages to `dst` are announced, because it keeps too many.
    #[inline(always)]
    pub fn announces(&self, dst: Rank) -> bool {
        !self.told.is_empty() && self.told.iter().any(|(d, word)| *d == dst && announces(*word))
    }

    /// `dst` has said whether messages to it are to be announced.
    pub fn told(&mut self, dst: Rank, word: u64) {
        match self.told.iter_mut().find(|(d, _)| *d == dst) {
            // A word that had to wait for a credit may come behind the next.
            Some((_, last)) => *last = word.max(*last),
            None => self.told.push((dst, word)),
        }
    }

    pub fn add_send(&mut self, dst: Rank, id: ReqId) {
        match self.sends.iter_mut().find(|(d, _)| *d == dst) {
            Some((_, queue)) => queue.push_back(id),
            None => self.sends.push((dst, VecDeque::from([id]))),
        }
    }

    pub fn add_stream(&mut self, request: ReqId, receiver: u64, packet: usize) {
        let most = packet as u64;
        self.streams.push(Stream { request, most, receiver, position: 0 });
    }
}

impl<T: Transport> Process<T> {
    /// Sends a control packet, now or when there is a credit. `word` is the payload of a CTS and a
    /// HELPED.
    pub(crate) fn send_control(&mut self, dst: Rank, head: Head, word: u64) {
        if !self.try_control(dst, head, word) {
            self.backlog.control.push_back((dst, head, word));
        }
    }

    fn try_control(&mut self, dst: Rank, head: Head, word: u64) -> bool {
        let len = if matches!(head.handler, protocol::CTS | protocol::HELPED) { 8 } else { 0 };
        let bytes = word.to_le_bytes();
        self.fm.send(dst, head, len, |out| out.copy_from_slice(&bytes[..len])).is_ok()
    }

    /// Tries everything that waits once. True when something went out.
    pub(crate) fn drain_backlog(&mut self) -> bool {
        let mut moved = false;
        for _ in 0..self.backlog.control.len() {
            let Some((dst, head, word)) = self.backlog.control.pop_front() else { break };
            match self.try_control(dst, head, word) {
                true => moved = true,
                false => self.backlog.control.push_back((dst, head, word)),
            }
        }
        moved |= self.drain_sends();
        moved | self.drain_streams()
    }

    fn drain_sends(&mut self) -> bool {
        let mut moved = false;
        let mut place = 0;
        while place < self.backlog.sends.len() {
            let (_, queue) = &self.backlog.sends[place];
            match queue.front().copied() {
                Some(id) => match self.launch(id) {
                    Ok(()) => {
                        moved = true;
                        self.backlog.sends[place].1.pop_front();
                    }
                    Err(_) => place += 1,
                },
                None => drop(self.backlog.sends.swap_remove(place)),
            }
        }
        moved
    }

    fn drain_streams(&mut self) -> bool {
        let mut moved = false;
        let mut place = 0;
        while place < self.backlog.streams.len() {
            let before = self.backlog.streams[place].position;
            let ended = self.push_stream(place);
            moved |= ended || self.backlog.streams[place].position != before;
            if ended {
                let stream = self.backlog.streams.swap_remove(place);
                self.inbox.complete(stream.request);
            } else {
                place += 1;
            }
        }
        moved
    }

    /// Sends packets of one stream until it ends (true) or must wait.
    fn push_stream(&mut self, place: usize) -> bool {
        let stream = &mut self.backlog.streams[place];
        let Some(Operation::Send(op)) = self.inbox.requests.get(stream.request).map(|r| &r.op)
        else {
            return true;
        };
        let total = op.packed_size();
        let m = Outgoing { buf: op.buf, count: op.count, ty: &op.ty };
        let pieces = self.fm.transport().max_fragmented(op.dst);
        while stream.position < total {
            let (at, left) = (stream.position, total - stream.position);
            let head = Head { handler: DATA, flags: 0, aux: 0, imm: stream.receiver };
            // SAFETY: the program keeps its buffer of `count` elements until the request
            // completes; the transport asks for parts of the message only.
            let fill = |from, out: &mut [u8], bypass| unsafe { pack_part(m, from, out, bypass) };
            if left > stream.most && pieces > 0 {
                let n = pieces.min(left);
                let fill = |from, out: &mut [u8], bypass| fill(at + from as u64, out, bypass);
                if self.fm.send_fragments(op.dst, None, head, n as usize, fill).is_ok() {
                    stream.position += n;
                    continue;
                }
                // There may be room for a packet.
            }
            let n = stream.most.min(left);
            let bypass = self.fm.transport().stores_are_slow(op.dst);
            let sent = self.fm.send(op.dst, head, n as usize, |out| fill(at, out, bypass));
            match sent {
                Ok(()) => stream.position += n,
                Err(Stall::NoCredit | Stall::NoBuffer) => return false,
            }
        }
        true
    }
}
