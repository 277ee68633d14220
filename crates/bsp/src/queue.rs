//! The messages that a process has received, in the buffers in which they came.

use crate::buffer::Buffer;
use crate::record::{Kind, RECORD_ALIGN, Records, Shape};

/// The first message of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Front {
    pub tag: *const u8,
    pub payload: *const u8,
    pub len: usize,
}

/// What is left of the record that the first message is in. Programs know it, too (`struct hpvm_bsp_queue` of
/// hpvm_bsp_inline.h). One number moves from message to message: what a call writes, the next one waits for.
#[derive(Debug)]
#[repr(C)]
pub struct Taking {
    /// The first payload, and the place of the one behind the last; the same: there is none.
    payload: *const u8,
    end: *const u8,
    stride: usize,
    /// From a tag to its payload.
    distance: usize,
    len: usize,
}

impl Default for Taking {
    fn default() -> Taking {
        let nowhere = std::ptr::null();
        Taking { payload: nowhere, end: nowhere, stride: RECORD_ALIGN, distance: 0, len: 0 }
    }
}

impl Taking {
    fn left(&self) -> usize {
        (self.end.addr() - self.payload.addr()) / self.stride
    }

    #[inline(always)]
    fn first(&self) -> Option<Front> {
        if self.payload == self.end {
            return None;
        }
        let tag = self.payload.wrapping_sub(self.distance);
        Some(Front { tag, payload: self.payload, len: self.len })
    }
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
    /// The first message, if it is a large one. Then nothing is left in `taking`.
    alone: Option<Front>,
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
        let (left, alone) = (self.taking.left(), self.alone.map(|front| front.len));
        let messages = self.messages + left + usize::from(alone.is_some());
        (messages, self.payload + left * self.taking.len + alone.unwrap_or(0))
    }

    /// The first message. `inbox` has the packed messages of all processes.
    #[inline(always)]
    pub fn front(&mut self, inbox: &[Buffer]) -> Option<Front> {
        self.taking.first().or_else(|| self.front_of_records(inbox))
    }

    #[cold]
    fn front_of_records(&mut self, inbox: &[Buffer]) -> Option<Front> {
        if self.alone.is_none() {
            self.next_record(inbox);
        }
        self.alone.or_else(|| self.taking.first())
    }

    /// Removes the first message, whose memory stays.
    #[inline(always)]
    pub fn take(&mut self, inbox: &[Buffer]) -> Option<Front> {
        self.front(inbox)?;
        self.alone.take().or_else(|| self.take_again())
    }

    /// `take` behind another message of its record; finds nothing else.
    #[inline(always)]
    pub fn take_again(&mut self) -> Option<Front> {
        let first = self.taking.first()?;
        // Behind the last one lies none, and none is read.
        self.taking.payload = first.payload.wrapping_add(self.taking.stride);
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
                let (len, left) = (record.len(), record.count());
                match record.header.kind {
                    Kind::Messages if left > 0 => {
                        // SAFETY: as above.
                        let payload = unsafe { tag.add(shape.tag) };
                        let (stride, distance) = (shape.stride, shape.tag);
                        let end = payload.wrapping_add(left * stride);
                        self.taking = Taking { payload, end, stride, distance, len };
                        self.leave_out(left, len);
                        return;
                    }
                    Kind::LargeMessage => {
                        let Some(payload) = self.large.next() else { continue };
                        self.alone = Some(Front { tag, payload, len });
                        self.leave_out(1, len);
                        return;
                    }
                    _ => {}
                }
            }
            (self.source, self.at) = (self.source - 1, 0);
        }
    }

    /// Messages that are no longer behind the first one's record.
    fn leave_out(&mut self, messages: usize, len: usize) {
        self.messages = self.messages.saturating_sub(messages);
        self.payload = self.payload.saturating_sub(messages * len);
    }
}
