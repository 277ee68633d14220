//! Pairing of messages and receives by envelope (MPI 5.0, sections 3.2.4 and 3.5).
//!
//! One table per context id holds the posted receives and the unexpected messages, each in the
//! order in which they came. A message takes the first posted receive that accepts it, a receive
//! the first unexpected message that it accepts: with in-order delivery per pair this is the
//! non-overtaking rule. The source in an envelope is the process, not a rank in a group, so an
//! arrival is matched without knowing the communicator.

use crate::engine::requests::ReqId;
use crate::status::ANY_TAG;
use hpvm_fm::Rank;
use std::collections::VecDeque;

/// Accepts every process.
pub const ANY_PROCESS: Rank = Rank::MAX;

/// Who and what a receive or probe accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// A process or `ANY_PROCESS`.
    pub src: Rank,
    /// A tag or `ANY_TAG`.
    pub tag: i32,
}

impl Pattern {
    #[inline(always)]
    pub fn accepts(&self, src: Rank, tag: i32) -> bool {
        (self.tag == tag || self.tag == ANY_TAG) && (self.src == src || self.src == ANY_PROCESS)
    }
}

/// A message that came before its receive.
#[derive(Debug)]
pub struct Unexpected {
    pub src: Rank,
    pub tag: i32,
    pub content: Content,
}

/// What came of an unexpected message.
#[derive(Debug)]
pub enum Content {
    /// All of it, packed.
    Eager(Box<[u8]>),
    /// A message in pieces, by its sender's number; [`crate::pt2pt::fragments`] has what came of it.
    Pieces { len: u64, number: u64 },
    /// The announcement of a rendezvous.
    Announced(Announcement),
}

/// A sender's offer of a message.
#[derive(Clone, Debug)]
pub struct Announcement {
    /// Packed bytes of the message.
    pub len: u64,
    /// Where they lie in one run in the sender's memory; 0 when they don't.
    pub address: u64,
    /// The sender's request, for the answer.
    pub request: u64,
    /// The bytes themselves, when they came along (small synchronous sends).
    pub data: Option<Box<[u8]>>,
    /// The bytes come in a stream that the sender has opened, with the request's number.
    pub streams: bool,
}

impl Unexpected {
    /// Packed bytes of the message.
    pub fn bytes(&self) -> u64 {
        match &self.content {
            Content::Eager(data) => data.len() as u64,
            Content::Pieces { len, .. } => *len,
            Content::Announced(a) => a.len,
        }
    }
}

#[derive(Debug)]
struct Posted {
    pattern: Pattern,
    request: ReqId,
}

/// The two queues of one context.
#[derive(Debug, Default)]
pub struct Table {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Unexpected>,
}

impl Table {
    /// The receive that takes a message from `src` with `tag`; it is posted no more.
    #[inline]
    pub fn arrive(&mut self, src: Rank, tag: i32) -> Option<ReqId> {
        if self.posted.front()?.pattern.accepts(src, tag) {
            return self.posted.pop_front().map(|p| p.request);
        }
        let place = self.posted.iter().position(|p| p.pattern.accepts(src, tag))?;
        self.posted.remove(place).map(|p| p.request)
    }

    /// Keeps a message for a receive to come.
    pub fn keep(&mut self, message: Unexpected) {
        self.unexpected.push_back(message);
    }

    /// The first unexpected message that `pattern` accepts; it stays in the queue.
    #[inline]
    pub fn peek(&self, pattern: Pattern) -> Option<&Unexpected> {
        self.unexpected.iter().find(|m| pattern.accepts(m.src, m.tag))
    }

    /// The first unexpected message that `pattern` accepts, out of the queue.
    #[inline]
    pub fn take(&mut self, pattern: Pattern) -> Option<Unexpected> {
        if self.unexpected.is_empty() {
            return None;
        }
        let place = self.unexpected.iter().position(|m| pattern.accepts(m.src, m.tag))?;
        self.unexpected.remove(place)
    }

    /// No message waits for a receive.
    #[inline(always)]
    pub fn nothing_unexpected(&self) -> bool {
        self.unexpected.is_empty()
    }

    /// No receive is posted.
    #[inline(always)]
    pub fn nothing_posted(&self) -> bool {
        self.posted.is_empty()
    }

    /// Posts a receive. The caller has looked for an unexpected message first.
    #[inline]
    pub fn post(&mut self, pattern: Pattern, request: ReqId) {
        self.posted.push_back(Posted { pattern, request });
    }

    /// Takes a posted receive back; false when it is not posted (any more).
    pub fn withdraw(&mut self, request: ReqId) -> bool {
        match self.posted.iter().position(|p| p.request == request) {
            Some(place) => self.posted.remove(place).is_some(),
            None => false,
        }
    }

    /// Messages that wait for a receive, in the order in which they came.
    pub fn unexpected(&self) -> impl Iterator<Item = &Unexpected> {
        self.unexpected.iter()
    }

    /// Receives posted and messages unexpected.
    pub fn lengths(&self) -> (usize, usize) {
        (self.posted.len(), self.unexpected.len())
    }
}
