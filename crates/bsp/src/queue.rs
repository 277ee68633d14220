//! The messages that a process has received, in the buffers in which they came.

use crate::buffer::Buffer;
use crate::record::{Kind, Records, Shape};

/// The first message of the queue.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Front {
    pub tag: *const u8,
    pub payload: *const u8,
    pub len: usize,
}

impl Default for Front {
    fn default() -> Front {
        Front { tag: std::ptr::null(), payload: std::ptr::null(), len: 0 }
    }
}

/// What is left of the record that the first message is in: how many, from one to the next, and the first. Programs know it,
/// too (`struct hpvm_bsp_queue` of hpvm_bsp_inline.h).
#[derive(Debug, Default)]
#[repr(C)]
pub struct Taking {
    left: usize,
    stride: usize,
    first: Front,
}

/// Messages by number of their sender, the highest first, and of one sender in the order of its calls. (Any order would
/// be right; programs exist that were tested with BSPonMPI only, which has this one.)
#[derive(Default)]
pub struct Queue {
    /// Size of the tags.
    tag: usize,
    /// Messages, and bytes of their payloads, in the records behind the one that the first message is in.
    messages: usize,
    payload: usize,
    taking: Taking,
    /// Payloads that came by themselves.
    large: std::vec::IntoIter<*const u8>,
    /// Senders from here on, upwards, are done; the one below is at `at`.
    source: usize,
    /// Where the next record of the source begins.
    at: usize,
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
        if self.size().0 > 0 {
            *self = Queue::default();
        }
    }

    /// What `take_again` looks at, which stays where it is as long as the queue does.
    pub fn taking(&mut self) -> *mut Taking {
        &raw mut self.taking
    }

    pub fn tag_size(&self) -> usize {
        self.tag
    }

    /// How many messages there are, and how many bytes their payloads have.
    pub fn size(&self) -> (usize, usize) {
        (self.messages + self.taking.left, self.payload + self.taking.left * self.taking.first.len)
    }

    /// The first message. `inbox` has the packed messages of all processes.
    #[inline(always)]
    pub fn front(&mut self, inbox: &[Buffer]) -> Option<Front> {
        if self.taking.left == 0 {
            self.next_record(inbox);
        }
        (self.taking.left > 0).then_some(self.taking.first)
    }

    /// Removes the first message, whose memory stays.
    #[inline(always)]
    pub fn take(&mut self, inbox: &[Buffer]) -> Option<Front> {
        self.front(inbox)?;
        self.take_again()
    }

    /// `take` behind another message of its record; finds nothing else.
    #[inline(always)]
    pub fn take_again(&mut self) -> Option<Front> {
        self.taking.left = self.taking.left.checked_sub(1)?;
        let first = self.taking.first;
        // Behind the last one lies none, and none is read.
        self.taking.first.tag = first.tag.wrapping_add(self.taking.stride);
        self.taking.first.payload = first.payload.wrapping_add(self.taking.stride);
        Some(first)
    }

    /// Goes to the next record with messages, if there is one. A large message is alone in its record.
    #[cold]
    #[inline(never)]
    fn next_record(&mut self, inbox: &[Buffer]) {
        if self.messages == 0 {
            return;
        }
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
                    self.taking.first = Front { tag, payload, len: record.len() };
                    (self.taking.left, self.taking.stride) = (left, shape.stride);
                    self.messages = self.messages.saturating_sub(left);
                    self.payload = self.payload.saturating_sub(left * record.len());
                    return;
                }
            }
            (self.source, self.at) = (self.source - 1, 0);
        }
    }
}
