//! Receiving: packets become messages, messages run handlers.
//!
//! A sender has at most one stream open to us, so what arrives from a node belongs to one message
//! at a time: a pointer per node is all that demultiplexing needs. Messages of different nodes
//! interleave freely.

use crate::deferred::Replies;
use crate::fault::Fault;
use crate::handler::{Action, Feed, RecvStream, Start, Task};
use crate::head::{STREAM, XOFF, XON, opening};
use crate::sender::PacketSender;
use crate::{Head, PerPeer, Rank};
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::Arc;

/// The receiver of the messages of one handler id.
pub(crate) enum Entry {
    /// A handler in Rust: runs inside `on_packet`.
    Handler(Start),
    /// Packets are copied and wait in the list of arrivals.
    Inbox,
}

/// A checked packet of a message whose handler can't run inside `on_packet`.
#[derive(Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The sending node, and the stream's number, which tells its messages apart.
    pub src: Rank,
    pub number: u16,
    /// The user handler's id.
    pub handler: u8,
    /// Begins its message.
    pub first: bool,
    /// Ends its message.
    pub last: bool,
    /// The announced upper bound of the message's length, bytes.
    pub bound: u64,
    pub bytes: Vec<u8>,
}

/// What is done with the rest of a message.
enum State {
    Run { task: Task, feed: Arc<Feed> },
    Queue,
    Discard,
}

/// The message that a node is sending us.
struct Incoming {
    number: u16,
    handler: u8,
    bound: u64,
    received: u64,
    state: State,
}

impl Incoming {
    /// A message that is discarded.
    fn discarded(number: u16) -> Incoming {
        Incoming { number, handler: 0, bound: 0, received: 0, state: State::Discard }
    }
}

/// A packet whose header has been checked.
#[derive(Clone, Copy)]
struct Part {
    src: Rank,
    number: u16,
    handler: u8,
    bound: u64,
    first: bool,
    last: bool,
}

/// Counts of what came.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Packets of Fast Messages.
    pub packets: u64,
    /// Their payload, bytes.
    pub bytes: u64,
    /// Messages that came to their end.
    pub messages: u64,
    /// Faults reported.
    pub faults: u64,
}

/// Bytes of packets from all nodes together that may wait for handlers which can't run inside `on_packet`. Each node has a
/// share. A node that has used up its share is told to send no more. Until it has been told, it may
/// send [`crate::MAX_UNPOLLED`] packets.
pub const QUEUED: u64 = 16 << 20;
/// The least share of a node, bytes.
const MIN_SHARE: u64 = 64 << 10;
/// What a packet that waits costs beside its bytes.
const ENTRY: u64 = 2 * size_of::<Arrival>() as u64 + 32;

/// The packets of one node that wait.
#[derive(Clone, Copy, Default)]
struct Waiting {
    bytes: u64,
    /// Too many bytes wait, so the node must not send more.
    off: bool,
    /// The node has to be told that it must not send, or that it may again.
    untold: bool,
}

/// All messages that are on their way to this node.
pub(crate) struct Demux {
    entries: Box<[Option<Entry>; 256]>,
    peers: PerPeer<Option<Box<Incoming>>>,
    size: u32,
    arrivals: VecDeque<Arrival>,
    waiting: PerPeer<Waiting>,
    /// Nodes that have to be told whether they may send, each once.
    untold: VecDeque<Rank>,
    share: u64,
    /// Buffers of arrivals that have been handled.
    spare: Vec<Vec<u8>>,
    feeds: Vec<Arc<Feed>>,
    replies: Replies,
    pub counts: Counts,
}

/// Feeds and buffers kept for later.
const SPARE: usize = 32;

impl Demux {
    pub fn new(size: u32, replies: Replies) -> Demux {
        Demux {
            entries: Box::new([const { None }; 256]),
            peers: PerPeer::default(),
            size,
            arrivals: VecDeque::new(),
            waiting: PerPeer::default(),
            untold: VecDeque::new(),
            share: (QUEUED / u64::from(size.max(1))).max(MIN_SHARE),
            spare: Vec::new(),
            feeds: Vec::new(),
            replies,
            counts: Counts::default(),
        }
    }

    /// Bytes that the tables take.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + self.peers.bytes() + self.waiting.bytes()
    }

    pub fn register(&mut self, id: u8, entry: Option<Entry>) {
        self.entries[usize::from(id)] = entry;
    }

    pub fn next_arrival(&mut self) -> Option<Arrival> {
        let arrival = self.arrivals.pop_front()?;
        let waiting = self.waiting.at(arrival.src);
        waiting.bytes -= arrival.bytes.len() as u64 + ENTRY;
        if waiting.off && waiting.bytes <= self.share / 2 {
            self.turn(arrival.src, false);
        }
        Some(arrival)
    }

    /// A packet waits.
    fn queue(&mut self, arrival: Arrival) {
        let src = arrival.src;
        let waiting = self.waiting.at(src);
        waiting.bytes += arrival.bytes.len() as u64 + ENTRY;
        let too_much = waiting.bytes > self.share && !waiting.off;
        self.arrivals.push_back(arrival);
        if too_much {
            self.turn(src, true);
        }
    }

    /// Notes that `src` has to be told whether it may send.
    fn turn(&mut self, src: Rank, off: bool) {
        let waiting = self.waiting.at(src);
        waiting.off = off;
        if !core::mem::replace(&mut waiting.untold, true) {
            self.untold.push_back(src);
        }
    }

    /// Whether `tell` has something to do.
    #[inline(always)]
    pub fn has_to_tell(&self) -> bool {
        !self.untold.is_empty()
    }

    /// Tells nodes whether they may send, as far as credits go.
    #[cold]
    pub fn tell<P: PacketSender + ?Sized>(&mut self, net: &mut P) {
        for _ in 0..self.untold.len() {
            let Some(src) = self.untold.pop_front() else { return };
            let waiting = self.waiting.at(src);
            let head = Head::single(if waiting.off { XOFF } else { XON }, 0);
            match net.send_packet(src, head, &[]) {
                Ok(()) => waiting.untold = false,
                Err(_) => self.untold.push_back(src),
            }
        }
    }

    pub fn has_arrivals(&self) -> bool {
        !self.arrivals.is_empty()
    }

    pub fn recycle(&mut self, mut bytes: Vec<u8>) {
        if self.spare.len() < SPARE {
            bytes.clear();
            self.spare.push(bytes);
        }
    }

    pub fn discard(&mut self, src: Rank, number: u16) {
        if let Some(Some(message)) = self.peers.get_mut(src)
            && message.number == number
        {
            message.state = State::Discard;
        }
    }

    /// Takes one packet. See [`crate::Fast::on_packet`].
    pub fn on_packet(&mut self, src: Rank, head: Head, payload: &[u8]) -> Result<Action, Fault> {
        self.counts.packets += 1;
        self.counts.bytes += payload.len() as u64;
        let result = self.deliver(src, head, payload);
        if result.is_err() {
            self.counts.faults += 1;
        }
        result
    }

    fn deliver(&mut self, src: Rank, head: Head, payload: &[u8]) -> Result<Action, Fault> {
        let nodes = self.size;
        if src >= nodes {
            return Err(corrupt(src, format!("expected one of {nodes} nodes")));
        }
        if head.handler != STREAM {
            let text = format!("engine handler {}, expected {STREAM}", head.handler);
            return Err(corrupt(src, text));
        }
        let last = head.flags & Head::LAST != 0;
        let (part, state) = if head.flags & Head::FIRST != 0 {
            self.open(src, head, payload.len() as u64)?
        } else {
            self.follow(src, head, payload.len() as u64)?
        };
        self.counts.messages += u64::from(last);
        // While the handler runs the message counts as discarded: should it panic, it stays so.
        let (state, action) = self.run(part, state, payload)?;
        if let Some(Some(message)) = self.peers.get_mut(src) {
            message.state = state;
        }
        Ok(action)
    }

    /// Checks a packet that begins a message.
    fn open(&mut self, src: Rank, head: Head, len: u64) -> Result<(Part, State), Fault> {
        let last = head.flags & Head::LAST != 0;
        let (handler, bound) = opening(head);
        let number = head.aux;
        let part = Part { src, number, handler, bound, first: true, last };
        let peer = self.peers.at(src);
        let before = peer.take().filter(|m| !matches!(m.state, State::Discard));
        if !last {
            let (received, state) = (len, State::Discard);
            *peer = Some(Box::new(Incoming { number, handler, bound, received, state }));
        }
        if let Some(before) = before {
            let text = format!("stream {number} begins before stream {} ended", before.number);
            return Err(corrupt(src, text));
        }
        if len > bound {
            return Err(too_long(src, len, bound));
        }
        let state = match &self.entries[usize::from(handler)] {
            None => return Err(Fault::UnknownHandler { src, handler }),
            Some(Entry::Inbox) => State::Queue,
            Some(Entry::Handler(start)) => {
                let feed = self.feeds.pop().unwrap_or_else(|| Arc::new(Feed::new()));
                let replies = self.replies.clone();
                let task = start(RecvStream { feed: feed.clone(), replies, src, bound });
                State::Run { task, feed }
            }
        };
        Ok((part, state))
    }

    /// Checks a packet that continues a message.
    fn follow(&mut self, src: Rank, head: Head, len: u64) -> Result<(Part, State), Fault> {
        let last = head.flags & Head::LAST != 0;
        let peer = self.peers.at(src);
        let Some(message) = peer else {
            let text = format!("stream {} goes on but never began", head.aux);
            if !last {
                *peer = Some(Box::new(Incoming::discarded(head.aux)));
            }
            return Err(corrupt(src, text));
        };
        let state = core::mem::replace(&mut message.state, State::Discard);
        let &mut Incoming { number, handler, bound, received, .. } = &mut **message;
        let part = Part { src, number, handler, bound, first: false, last };
        message.received = received.saturating_add(len);
        if last {
            *peer = None;
        }
        if matches!(state, State::Discard) {
            return Ok((part, state));
        }
        if number != head.aux || received != head.imm {
            let text = format!(
                "stream {} at byte {}, expected stream {number} at byte {received}",
                head.aux, head.imm
            );
            return Err(corrupt(src, text));
        }
        if len > bound - received {
            return Err(too_long(src, received.saturating_add(len), bound));
        }
        Ok((part, state))
    }

    /// Gives a checked packet to its receiver. Returns what is done with the rest of its message.
    fn run(&mut self, part: Part, state: State, payload: &[u8]) -> Result<(State, Action), Fault> {
        match state {
            State::Discard => Ok((State::Discard, Action::Continue)),
            State::Queue => {
                let mut bytes = self.spare.pop().unwrap_or_default();
                bytes.extend_from_slice(payload);
                let Part { src, number, handler, bound, first, last } = part;
                let arrival = Arrival { src, number, handler, first, last, bound, bytes };
                self.queue(arrival);
                Ok((State::Queue, Action::Continue))
            }
            State::Run { mut task, feed } => {
                let offer = feed.offer(payload, part.last);
                let polled = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                let left = offer.left();
                drop(offer);
                match polled {
                    Poll::Ready(action) => {
                        drop(task);
                        self.keep(feed);
                        Ok((State::Discard, action))
                    }
                    Poll::Pending if left == 0 && !part.last => {
                        Ok((State::Run { task, feed }, Action::Continue))
                    }
                    Poll::Pending => {
                        Err(Fault::HandlerStalled { src: part.src, handler: part.handler })
                    }
                }
            }
        }
    }

    /// Keeps a feed for another message, unless the handler has kept its stream.
    fn keep(&mut self, mut feed: Arc<Feed>) {
        if self.feeds.len() < SPARE && Arc::get_mut(&mut feed).is_some() {
            self.feeds.push(feed);
        }
    }
}

#[cold]
fn corrupt(src: Rank, text: String) -> Fault {
    Fault::Corrupt { src, text }
}

#[cold]
fn too_long(src: Rank, bytes: u64, bound: u64) -> Fault {
    corrupt(src, format!("{bytes} bytes in a message announced with at most {bound}"))
}
