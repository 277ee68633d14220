//! Pairing of messages and receives by envelope (MPI 5.0, sections 3.2.4 and 3.5).
//!
//! One table per context id holds the posted receives and the unexpected messages, each in the
//! order in which they came. A message takes the first posted receive that accepts it, a receive
//! the first unexpected message that it accepts: with in-order delivery per pair this is the
//! non-overtaking rule. The source in an envelope is the process, not a rank in a group, so an
//! arrival is matched without knowing the communicator.
//!
//! Most queues have few entries, which are looked at one by one. A queue that becomes long gets a hash
//! ([`long`]), and loses it when it is short again.

mod long;

use crate::engine::requests::ReqId;
use crate::status::ANY_TAG;
use hpvm_fm::{Exposed, Rank};
use long::{LongPosted, LongUnexpected};
use std::collections::VecDeque;

/// Accepts every process.
pub const ANY_PROCESS: Rank = Rank::MAX;

/// The source and the tag that a receive or probe accepts.
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
        #[cfg(test)]
        tests::ASKED.with(|n| n.set(n.get() + 1));
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

/// The part of an unexpected message that has come.
#[derive(Debug)]
pub enum Content {
    /// The whole message, packed.
    Eager(Box<[u8]>),
    /// A message in fragments; [`crate::pt2pt::fragments`] keeps its bytes under the sender's `number`.
    Fragments { len: u64, number: u64 },
    /// An announcement; the bytes are fetched when a receive has matched.
    Announced(Announcement),
}

/// The announcement of a message: an RTS, or the opening of a stream.
#[derive(Clone, Debug)]
pub struct Announcement {
    /// Packed bytes of the message.
    pub len: u64,
    /// Address of these bytes in the sender's memory if they are one run there; 0 if not.
    pub address: u64,
    /// The sender's request, which the answer names.
    pub request: u64,
    /// What a card needs to read the bytes, if the sender has exposed them.
    pub exposed: Option<Exposed>,
    /// The bytes themselves, if they came with the RTS (short synchronous sends).
    pub data: Option<Box<[u8]>>,
    /// The bytes come in a stream that the sender has opened, with the request's number.
    pub stream_opened: bool,
}

impl Unexpected {
    /// Packed bytes of the message.
    pub fn bytes(&self) -> u64 {
        match &self.content {
            Content::Eager(data) => data.len() as u64,
            Content::Fragments { len, .. } => *len,
            Content::Announced(a) => a.len,
        }
    }

    /// Whether its bytes come in a stream that the sender has opened.
    pub(crate) fn is_streamed(&self) -> bool {
        matches!(&self.content, Content::Announced(a) if a.stream_opened)
    }
}

#[derive(Debug)]
struct Posted {
    pattern: Pattern,
    request: ReqId,
}

/// Most entries of a queue that are looked at one by one; for more entries a hash is faster.
const MAX_SCANNED: usize = 64;
/// A queue with a hash loses it when it has no more entries than this.
const MIN_HASHED: usize = 16;

/// The two queues of one context.
#[derive(Default)]
pub struct Table {
    /// Empty while `long_posted` has the receives.
    posted: VecDeque<Posted>,
    long_posted: Option<Box<LongPosted>>,
    /// Empty while `long_unexpected` has the messages.
    unexpected: VecDeque<Unexpected>,
    long_unexpected: Option<Box<LongUnexpected>>,
}

impl Table {
    /// Bytes of the queues, as far as these are short: long ones are rare.
    pub(crate) fn bytes(&self) -> usize {
        self.posted.capacity() * size_of::<Posted>()
            + self.unexpected.capacity() * size_of::<Unexpected>()
    }

    /// Matches a message from `src` with `tag`: takes the first posted receive that accepts it out of the queue.
    #[inline]
    pub fn arrive(&mut self, src: Rank, tag: i32) -> Option<ReqId> {
        let Some(front) = self.posted.front() else {
            return if self.long_posted.is_some() { self.arrive_long(src, tag) } else { None };
        };
        if front.pattern.accepts(src, tag) {
            return self.posted.pop_front().map(|p| p.request);
        }
        let index = self.posted.iter().position(|p| p.pattern.accepts(src, tag))?;
        self.posted.remove(index).map(|p| p.request)
    }

    #[cold]
    fn arrive_long(&mut self, src: Rank, tag: i32) -> Option<ReqId> {
        let long = self.long_posted.as_mut()?;
        let found = long.arrive(src, tag);
        self.shorten_posted();
        found
    }

    fn shorten_posted(&mut self) {
        if let Some(long) = self.long_posted.take_if(|long| long.len() <= MIN_HASHED) {
            self.posted = long.into_short();
        }
    }

    /// Keeps a message for a receive to come.
    pub fn keep(&mut self, message: Unexpected) {
        if let Some(long) = &mut self.long_unexpected {
            return long.keep(message);
        }
        self.unexpected.push_back(message);
        if self.unexpected.len() > MAX_SCANNED {
            let long = self.long_unexpected.insert(Box::default());
            self.unexpected.drain(..).for_each(|message| long.keep(message));
        }
    }

    /// The first unexpected message that `pattern` accepts; it stays in the queue.
    #[inline]
    pub fn peek(&mut self, pattern: Pattern) -> Option<&Unexpected> {
        if self.unexpected.is_empty() {
            return self.long_unexpected.as_mut()?.peek(pattern);
        }
        self.unexpected.iter().find(|m| pattern.accepts(m.src, m.tag))
    }

    /// The first unexpected message that `pattern` accepts, out of the queue.
    #[inline]
    pub fn take(&mut self, pattern: Pattern) -> Option<Unexpected> {
        if self.unexpected.is_empty() {
            return if self.long_unexpected.is_some() { self.take_long(pattern) } else { None };
        }
        let index = self.unexpected.iter().position(|m| pattern.accepts(m.src, m.tag))?;
        self.unexpected.remove(index)
    }

    /// The unexpected message that `src` has announced for its request `number`, out of the queue.
    #[cold]
    pub fn take_announced(&mut self, src: Rank, number: u64) -> Option<Unexpected> {
        let wanted = |m: &Unexpected| {
            m.src == src && matches!(&m.content, Content::Announced(a) if a.request == number)
        };
        if let Some(long) = &mut self.long_unexpected {
            let found = long.take_where(wanted);
            self.shorten_unexpected();
            return found;
        }
        let index = self.unexpected.iter().position(wanted)?;
        self.unexpected.remove(index)
    }

    #[cold]
    fn take_long(&mut self, pattern: Pattern) -> Option<Unexpected> {
        let found = self.long_unexpected.as_mut()?.take(pattern);
        self.shorten_unexpected();
        found
    }

    fn shorten_unexpected(&mut self) {
        if let Some(long) = self.long_unexpected.take_if(|long| long.len() <= MIN_HASHED) {
            self.unexpected = long.into_short();
        }
    }

    /// No message waits for a receive.
    #[inline(always)]
    pub fn nothing_unexpected(&self) -> bool {
        self.unexpected.is_empty() && self.long_unexpected.is_none()
    }

    /// No receive is posted.
    #[inline(always)]
    pub fn nothing_posted(&self) -> bool {
        self.posted.is_empty() && self.long_posted.is_none()
    }

    /// Posts a receive. The caller has looked for an unexpected message first.
    #[inline]
    pub fn post(&mut self, pattern: Pattern, request: ReqId) {
        self.posted.push_back(Posted { pattern, request });
        if self.posted.len() > MAX_SCANNED || self.long_posted.is_some() {
            self.post_long();
        }
    }

    /// Gives the receives that are in the short queue to the long one.
    #[cold]
    fn post_long(&mut self) {
        let long = self.long_posted.get_or_insert_default();
        self.posted.drain(..).for_each(|p| long.post(p.pattern, p.request));
    }

    /// Takes back a receive that was posted with `pattern`; false when it is not posted (any more).
    pub fn withdraw(&mut self, pattern: Pattern, request: ReqId) -> bool {
        if let Some(long) = &mut self.long_posted {
            let found = long.withdraw(pattern, request);
            self.shorten_posted();
            return found;
        }
        match self.posted.iter().position(|p| p.request == request) {
            Some(index) => self.posted.remove(index).is_some(),
            None => false,
        }
    }

    /// Messages that wait for a receive, in the order in which they came.
    pub fn unexpected(&self) -> impl Iterator<Item = &Unexpected> {
        let long = self.long_unexpected.iter().flat_map(|long| long.iter());
        self.unexpected.iter().chain(long)
    }

    /// Receives posted and messages unexpected.
    pub fn lengths(&self) -> (usize, usize) {
        let posted = self.long_posted.as_ref().map_or(self.posted.len(), |long| long.len());
        let unexpected =
            self.long_unexpected.as_ref().map_or(self.unexpected.len(), |long| long.len());
        (posted, unexpected)
    }
}

#[cfg(test)]
mod tests;
