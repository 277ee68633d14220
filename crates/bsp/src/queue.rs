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
    /// What is left of the record that the first message is in: how many, from one to the next, and the first.
    left: usize,
    stride: usize,
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

    /// Forgets all messages.
    pub fn clear(&mut self) {
        if self.messages > 0 {
            *self = Queue::default();
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
        if self.left == 0 && self.messages > 0 {
            self.next_record(inbox);
        }
        self.front
    }

    /// Takes the first message away, whose memory stays.
    #[inline(always)]
    pub fn remove(&mut self) {
        let Some(front) = &mut self.front else { return };
        self.messages -= 1;
        self.payload -= front.len;
        self.left -= 1;
        if self.left == 0 {
            self.front = None;
            return;
        }
        // SAFETY: the record was checked: it has so many messages of this stride.
        unsafe {
            front.tag = front.tag.add(self.stride);
            front.payload = front.payload.add(self.stride);
        }
    }

    /// Goes to the next record with messages. A large message is alone in its record.
    #[cold]
    #[inline(never)]
    fn next_record(&mut self, inbox: &[Buffer]) {
        while let Some(buffer) = self.source.checked_sub(1).and_then(|source| inbox.get(source)) {
            let mut records = Records::resume(buffer.as_slice(), self.tag, self.at);
            while let Some(Ok(record)) = records.next() {
                self.at = records.position();
                let shape = Shape::of(self.tag, record.len());
                // SAFETY: the record was checked: its body is a tag and, if it is not large, a payload, and so on.
                let tag = unsafe { buffer.as_ptr().add(record.body) };
                let (payload, left) = match record.header.kind {
                    // SAFETY: as above.
                    Kind::Messages => (Some(unsafe { tag.add(shape.tag) }), record.count()),
                    Kind::LargeMessage => (self.large.next(), 1),
                    _ => (None, 0),
                };
                if let (Some(payload), 1..) = (payload, left) {
                    (self.left, self.stride) = (left, shape.stride);
                    self.front = Some(Front { tag, payload, len: record.len() });
                    return;
                }
            }
            (self.source, self.at) = (self.source - 1, 0);
        }
    }
}
