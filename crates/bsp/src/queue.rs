//! The messages that a process has received, in the buffers in which they came.

use crate::buffer::Buffer;
use crate::record::{Kind, Records, Shape};

/// The first message of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Front {
    pub tag: *const u8,
    pub payload: *const u8,
    pub len: usize,
}

/// What is left of the record that the first message is in.
#[derive(Clone, Copy)]
struct Rest {
    /// Where its next message begins, and how many there are.
    at: usize,
    left: usize,
    len: usize,
    shape: Shape,
}

/// Messages by number of their sender, the highest first, and of one sender in the order of its calls. (Any order would
/// be right; programs exist that were tested with BSPonMPI only, which has this one.)
#[derive(Default)]
pub struct Queue {
    /// Size of the tags.
    tag: usize,
    messages: usize,
    payload: usize,
    /// Payloads that came by themselves.
    large: std::vec::IntoIter<*const u8>,
    /// Senders from here on, upwards, are done; the one below is at `at`.
    source: usize,
    /// Where the next record of the source begins.
    at: usize,
    rest: Option<Rest>,
    front: Option<Front>,
}

impl Queue {
    /// A queue of what lies in the buffers of so many `sources`. Large payloads are in the order of the queue.
    pub fn new(
        tag: usize,
        sources: usize,
        messages: usize,
        payload: usize,
        large: Vec<*const u8>,
    ) -> Queue {
        Queue {
            tag,
            messages,
            payload,
            large: large.into_iter(),
            source: sources,
            ..Queue::default()
        }
    }

    pub fn tag_size(&self) -> usize {
        self.tag
    }

    /// How many messages there are, and how many bytes their payloads have.
    pub fn size(&self) -> (usize, usize) {
        (self.messages, self.payload)
    }

    /// The first message. `inbox` has the packed messages of all processes.
    #[inline(always)]
    pub fn front(&mut self, inbox: &[Buffer]) -> Option<Front> {
        if self.messages > 0 && self.front.is_none() {
            self.front = self.find(inbox);
        }
        self.front
    }

    /// Takes the first message away, whose memory stays.
    #[inline(always)]
    pub fn remove(&mut self) {
        if let Some(front) = self.front.take() {
            self.messages -= 1;
            self.payload -= front.len;
        }
    }

    #[inline(always)]
    fn find(&mut self, inbox: &[Buffer]) -> Option<Front> {
        if self.rest.is_none_or(|rest| rest.left == 0) {
            if let Some(front) = self.next_record(inbox) {
                return Some(front);
            }
        }
        let rest = self.rest.as_mut()?;
        let start = inbox.get(self.source.checked_sub(1)?)?.as_ptr();
        // SAFETY: the record was checked: it has so many messages of this shape.
        let (tag, payload) = unsafe { (start.add(rest.at), start.add(rest.at + rest.shape.tag)) };
        rest.at += rest.shape.stride;
        rest.left -= 1;
        Some(Front { tag, payload, len: rest.len })
    }

    /// Goes to the next record with messages. A large message is alone in its record, and returned.
    fn next_record(&mut self, inbox: &[Buffer]) -> Option<Front> {
        self.rest = None;
        while let Some(buffer) = self.source.checked_sub(1).and_then(|source| inbox.get(source)) {
            let mut records = Records::resume(buffer.as_slice(), self.tag, self.at);
            while let Some(Ok(record)) = records.next() {
                self.at = records.position();
                let shape = Shape::of(self.tag, record.len());
                match record.header.kind {
                    Kind::Messages if record.count() > 0 => {
                        let (at, left, len) = (record.body, record.count(), record.len());
                        self.rest = Some(Rest { at, left, len, shape });
                        return None;
                    }
                    Kind::LargeMessage => {
                        // SAFETY: the record was checked.
                        let tag = unsafe { buffer.as_ptr().add(record.body) };
                        let payload = self.large.next()?;
                        return Some(Front { tag, payload, len: record.len() });
                    }
                    _ => {}
                }
            }
            (self.source, self.at) = (self.source - 1, 0);
        }
        None
    }
}
