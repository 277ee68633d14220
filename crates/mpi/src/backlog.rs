//! What waits for credits or buffers: control packets, sends that could not go out at once, and
//! messages that are streamed in `DATA` packets.
//!
//! Order between a pair of processes is kept: once a send to a process waits, later sends to it
//! wait behind it. Control packets answer requests of the peer and need no order.

use crate::process::Process;
use crate::protocol::{self, DATA, PIECE};
use crate::pt2pt::{Outgoing, pack_part};
use crate::request::{Operation, ReqId};
use hpvm_fm::{Head, Rank, Stall, Transport};
use std::collections::VecDeque;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Backlog {
    control: VecDeque<(Rank, Head, u64)>,
    /// Per process with waiting sends, those sends in order. Few at a time, so a list will do.
    sends: Vec<(Rank, VecDeque<ReqId>)>,
    streams: Vec<Stream>,
}

struct Stream {
    request: ReqId,
    /// `DATA`, or `PIECE` of a message whose first piece has gone out.
    handler: u8,
    /// Bytes of a packet.
    most: u64,
    /// What the receiver knows it by: its request, or the number of a message in pieces.
    receiver: u64,
    /// Packed bytes sent.
    position: u64,
}

impl Backlog {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.sends.is_empty() && self.control.is_empty() && self.streams.is_empty()
    }

    /// True when a send to `dst` must queue behind others.
    #[inline(always)]
    pub fn blocks(&self, dst: Rank) -> bool {
        !self.sends.is_empty() && self.sends.iter().any(|(d, _)| *d == dst)
    }

    pub fn add_send(&mut self, dst: Rank, id: ReqId) {
        match self.sends.iter_mut().find(|(d, _)| *d == dst) {
            Some((_, queue)) => queue.push_back(id),
            None => self.sends.push((dst, VecDeque::from([id]))),
        }
    }

    pub fn add_stream(&mut self, request: ReqId, receiver: u64, packet: usize) {
        let most = packet as u64;
        self.streams.push(Stream { request, handler: DATA, most, receiver, position: 0 });
    }

    /// What is left, from `position` on, of message `number` in pieces of `piece` bytes.
    pub fn add_rest(&mut self, request: ReqId, number: u64, position: u64, piece: usize) {
        let most = piece as u64;
        self.streams.push(Stream { request, handler: PIECE, most, receiver: number, position });
    }
}

impl<T: Transport> Process<T> {
    /// Sends a control packet, now or when there is a credit. `word` is the payload of a CTS.
    pub(crate) fn send_control(&mut self, dst: Rank, head: Head, word: u64) {
        if !self.try_control(dst, head, word) {
            self.backlog.control.push_back((dst, head, word));
        }
    }

    fn try_control(&mut self, dst: Rank, head: Head, word: u64) -> bool {
        let len = if head.handler == protocol::CTS { 8 } else { 0 };
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
        let (handler, most) = (stream.handler, stream.most);
        while stream.position < total {
            let n = most.min(total - stream.position);
            let last = stream.position + n == total;
            let flags = if last { Head::LAST } else { 0 };
            let head = Head { handler, flags, aux: 0, imm: stream.receiver };
            let bypass = self.fm.transport().writes_slowly();
            let sent = self.fm.send(op.dst, head, n as usize, |out| {
                // SAFETY: the program keeps its buffer of `count` elements until the request
                // completes; `position + n` is at most their packed size.
                unsafe {
                    let m = Outgoing { buf: op.buf, count: op.count, ty: &op.ty };
                    pack_part(m, stream.position, out, bypass);
                }
            });
            match sent {
                Ok(()) => stream.position += n,
                Err(Stall::NoCredit | Stall::NoBuffer) => return false,
            }
        }
        true
    }
}
