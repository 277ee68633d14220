//! What a handler is, and the stream it reads.

use crate::Rank;
use crate::deferred::{Replies, Reply};
use crate::fault::SendError;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a handler wants extract to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Go on extracting.
    Continue,
    /// Stop this extract, whatever is left of its budget.
    Quit,
}

/// A handler at work on one message.
pub(crate) type Task = Pin<Box<dyn Future<Output = Action> + Send>>;
/// Makes the task for a message that has begun to arrive.
pub(crate) type Start = Box<dyn Fn(RecvStream) -> Task + Send>;

/// The bytes that have come and that the handler has not taken yet.
struct Chunk {
    /// Inside the payload that `on_packet` was given; not null only while the task is polled.
    at: *const u8,
    len: usize,
    /// Nothing follows the chunk.
    last: bool,
}

// SAFETY: `at` is read only under the mutex of `Feed`, and only while `Feed::offer`'s guard lives,
// which clears it, under the same mutex, before the payload is given back.
unsafe impl Send for Chunk {}

/// What extract and a handler's stream share.
pub(crate) struct Feed {
    chunk: Mutex<Chunk>,
}

impl Feed {
    pub fn new() -> Feed {
        Feed { chunk: Mutex::new(Chunk { at: core::ptr::null(), len: 0, last: false }) }
    }

    fn lock(&self) -> MutexGuard<'_, Chunk> {
        self.chunk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the stream read `payload` until the returned guard is dropped.
    pub fn offer<'a>(self: &'a Arc<Feed>, payload: &'a [u8], last: bool) -> Offer<'a> {
        *self.lock() = Chunk { at: payload.as_ptr(), len: payload.len(), last };
        Offer { feed: self, _payload: payload }
    }

    /// Copies what is there into `to`: how much, and whether nothing more will come.
    fn take(&self, to: &mut [u8]) -> (usize, bool) {
        let mut chunk = self.lock();
        let n = chunk.len.min(to.len());
        if n > 0 {
            // SAFETY: `at` points to `len` readable bytes while `len` is not zero (see `Offer`),
            // and the lock keeps the offer from ending meanwhile.
            unsafe {
                core::ptr::copy_nonoverlapping(chunk.at, to.as_mut_ptr(), n);
                chunk.at = chunk.at.add(n);
            }
            chunk.len -= n;
        }
        (n, chunk.last && chunk.len == 0)
    }
}

/// A payload on loan to a stream. Ends the loan when dropped, also when a handler panics.
pub(crate) struct Offer<'a> {
    feed: &'a Feed,
    _payload: &'a [u8],
}

impl Offer<'_> {
    /// Bytes that the handler has not taken.
    pub fn left(&self) -> usize {
        self.feed.lock().len
    }
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        let mut chunk = self.feed.lock();
        (chunk.at, chunk.len) = (core::ptr::null(), 0);
    }
}

/// A message as its handler sees it: bytes, in order, when they come.
///
/// What the handler has not received when it returns is discarded.
pub struct RecvStream {
    pub(crate) feed: Arc<Feed>,
    pub(crate) replies: Replies,
    pub(crate) src: Rank,
    pub(crate) bound: u64,
}

impl RecvStream {
    /// The sending node.
    pub fn src(&self) -> Rank {
        self.src
    }

    /// The length that the sender announced, bytes: an upper bound, and an allegation. Do not
    /// allocate it unseen.
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// Waits for the next `to.len()` bytes of the message. Gives fewer only at its end.
    ///
    /// Other handlers run meanwhile. A handler may await nothing but this: extract is what wakes
    /// it, and it does so when bytes have come.
    pub fn receive<'a>(&'a mut self, to: &'a mut [u8]) -> Receive<'a> {
        Receive { stream: self, to, filled: 0 }
    }

    /// Begins a message that is sent after this handler has returned. See
    /// [`Replies::begin_message`].
    ///
    /// # Errors
    /// `Busy` when too much is deferred already: do not retry inside the handler.
    pub fn begin_message(&self, dst: Rank, bound: usize, handler: u8) -> Result<Reply, SendError> {
        self.replies.begin_message(dst, bound, handler)
    }

    /// Defers one whole message. See [`Replies::send`].
    ///
    /// # Errors
    /// As [`RecvStream::begin_message`].
    pub fn send(&self, dst: Rank, handler: u8, bytes: &[u8]) -> Result<(), SendError> {
        self.replies.send(dst, handler, bytes)
    }
}

/// The future of [`RecvStream::receive`]: how many bytes were received.
#[must_use = "nothing is received until this is awaited"]
pub struct Receive<'a> {
    stream: &'a mut RecvStream,
    to: &'a mut [u8],
    filled: usize,
}

impl Future for Receive<'_> {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<usize> {
        let this = self.get_mut();
        let (n, ended) = this.stream.feed.take(&mut this.to[this.filled..]);
        this.filled += n;
        if this.filled == this.to.len() || ended { Poll::Ready(this.filled) } else { Poll::Pending }
    }
}
