//! What handlers send: a bounded list that is drained once the handler has returned.
//!
//! A handler runs inside extract, so a send that waited for credit there could wait for itself.
//! It writes its message into memory of this process instead; [`crate::Fast::drain`] sends it.
//! Bound: `MESSAGES` messages and `BYTES` bytes per process, reserved when a message begins.

use crate::Rank;
use crate::fault::SendError;
use crate::head::MAX_BOUND;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most messages that handlers of one process have written and that are not sent yet.
pub const MESSAGES: usize = 256;
/// Most bytes of those messages together, by their announced bounds.
pub const BYTES: usize = 1 << 20;

/// A message that waits for its turn.
pub(crate) struct Message {
    pub dst: Rank,
    pub handler: u8,
    pub bytes: Vec<u8>,
    /// What `bytes` reserved of the list's room.
    reserved: usize,
    /// Bytes in packets that have left.
    pub sent: usize,
    /// The stream's number, once its first packet has left.
    pub number: Option<u16>,
}

/// The list. Messages to one node leave in the order in which they were ended.
#[derive(Default)]
pub(crate) struct Queue {
    pub messages: VecDeque<Message>,
    reserved_messages: usize,
    reserved_bytes: usize,
    spare: Vec<Vec<u8>>,
}

impl Queue {
    /// Gives back what message `i` took; it has been sent.
    pub fn remove(&mut self, i: usize) {
        if let Some(message) = self.messages.remove(i) {
            self.release(message.reserved, message.bytes);
        }
    }

    fn release(&mut self, reserved: usize, mut bytes: Vec<u8>) {
        self.reserved_messages -= 1;
        self.reserved_bytes -= reserved;
        if self.spare.len() < 8 && bytes.capacity() <= 1 << 14 {
            bytes.clear();
            self.spare.push(bytes);
        }
    }
}

/// Where handlers put what they send. Clones are the same list.
#[derive(Clone)]
pub struct Replies {
    shared: Arc<Shared>,
    size: u32,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Messages in the queue, readable without the lock.
    pending: AtomicUsize,
}

impl Replies {
    pub(crate) fn new(size: u32) -> Replies {
        Replies { shared: Arc::default(), size }
    }

    /// Whether ended messages wait to be sent.
    #[inline]
    pub fn pending(&self) -> bool {
        // Relaxed: only the thread that drains acts on it, and it takes the lock to do so.
        self.shared.pending.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn pending_to(&self, dst: Rank) -> bool {
        self.pending() && self.lock().messages.iter().any(|m| m.dst == dst)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called after each change of the queue, with its lock held.
    pub(crate) fn publish(&self, queue: &Queue) {
        // Relaxed: see `pending`.
        self.shared.pending.store(queue.messages.len(), Ordering::Relaxed);
    }

    /// Begins a message of at most `bound` bytes from inside a handler. Never blocks.
    ///
    /// # Errors
    /// `Busy` when the list has no room now; do not retry inside the handler. `TooLong` when it
    /// never has. `NoSuchNode`.
    pub fn begin_message(&self, dst: Rank, bound: usize, handler: u8) -> Result<Reply, SendError> {
        if dst >= self.size {
            return Err(SendError::NoSuchNode { dst, size: self.size });
        }
        if bound > BYTES {
            return Err(SendError::TooLong { asked: bound as u64, most: BYTES as u64 });
        }
        let mut queue = self.lock();
        if queue.reserved_messages == MESSAGES || BYTES - queue.reserved_bytes < bound {
            return Err(SendError::Busy);
        }
        queue.reserved_messages += 1;
        queue.reserved_bytes += bound;
        let bytes = queue.spare.pop().unwrap_or_default();
        drop(queue);
        Ok(Reply { list: self.clone(), dst, handler, bound, bytes, ended: false })
    }

    /// Defers one whole message.
    ///
    /// # Errors
    /// As [`Replies::begin_message`].
    pub fn send(&self, dst: Rank, handler: u8, bytes: &[u8]) -> Result<(), SendError> {
        let mut reply = self.begin_message(dst, bytes.len(), handler)?;
        reply.send_piece(bytes)?;
        reply.end_message();
        Ok(())
    }
}

/// A message that a handler is writing. Dropped without [`Reply::end_message`], it is not sent.
pub struct Reply {
    list: Replies,
    dst: Rank,
    handler: u8,
    bound: usize,
    bytes: Vec<u8>,
    ended: bool,
}

impl Reply {
    /// Appends a piece; its bytes are copied before this returns. Never blocks.
    ///
    /// # Errors
    /// `TooLong` when the message would pass its announced bound; nothing is appended then.
    pub fn send_piece(&mut self, piece: &[u8]) -> Result<(), SendError> {
        if piece.len() > self.bound - self.bytes.len() {
            let asked = self.bytes.len() as u64 + piece.len() as u64;
            return Err(SendError::TooLong { asked, most: self.bound as u64 });
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// Hands the message over to be sent after the handler has returned.
    pub fn end_message(mut self) {
        self.ended = true;
        let bytes = core::mem::take(&mut self.bytes);
        let mut queue = self.list.lock();
        // The rest of the announced room is free again.
        queue.reserved_bytes -= self.bound - bytes.len();
        let (dst, handler, reserved) = (self.dst, self.handler, bytes.len());
        queue.messages.push_back(Message { dst, handler, bytes, reserved, sent: 0, number: None });
        self.list.publish(&queue);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.ended {
            let bytes = core::mem::take(&mut self.bytes);
            self.list.lock().release(self.bound, bytes);
        }
    }
}

const _: () = assert!(BYTES as u64 <= MAX_BOUND);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_bounded_and_comes_back() {
        let list = Replies::new(2);
        assert!(matches!(list.begin_message(2, 0, 0), Err(SendError::NoSuchNode { .. })));
        assert!(matches!(list.begin_message(0, BYTES + 1, 0), Err(SendError::TooLong { .. })));
        let whole = list.begin_message(1, BYTES, 0).ok();
        assert!(whole.is_some());
        assert!(matches!(list.begin_message(1, 1, 0), Err(SendError::Busy)));
        drop(whole);
        let mut all: Vec<_> = (0..MESSAGES).map(|_| list.begin_message(1, 1, 0).unwrap()).collect();
        assert!(matches!(list.begin_message(1, 0, 0), Err(SendError::Busy)));
        assert!(!list.pending());
        let mut one = all.pop().unwrap();
        assert!(matches!(one.send_piece(&[1, 2]), Err(SendError::TooLong { asked: 2, most: 1 })));
        one.end_message();
        assert!(list.pending() && list.pending_to(1) && !list.pending_to(0));
        drop(all);
        let mut queue = list.lock();
        // An empty message takes up an entry but no bytes.
        assert_eq!((queue.reserved_messages, queue.reserved_bytes), (1, 0));
        queue.remove(0);
        assert_eq!(queue.reserved_messages, 0);
    }
}
