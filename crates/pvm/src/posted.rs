//! A receive that waits with memory of the program's (`pvm_precv`).
//!
//! While it polls, the next message that it accepts goes from the link straight to that memory, without a stop between, if
//! nothing that it would accept has come before.

use crate::buffers::{Head, Pattern};

pub struct Posted {
    pattern: Pattern,
    to: *mut u8,
    room: usize,
    /// The length of an element: a message that has a part of one is unpacked from memory of its own.
    element: usize,
    got: Option<(Head, usize)>,
    /// A message that it would have accepted lies in the queue: what comes behind is received after that one.
    passed: bool,
}

impl Posted {
    /// # Safety
    /// `room` bytes at `to` can be written as long as this lives, and nobody else refers to them meanwhile.
    pub unsafe fn new(pattern: Pattern, to: *mut u8, room: usize, element: usize) -> Posted {
        Posted { pattern, to, room, element, got: None, passed: false }
    }

    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The message that has come, and its length.
    pub fn got(&self) -> Option<(Head, usize)> {
        self.got
    }

    /// Whether a message goes here.
    pub(crate) fn accepts(&self, head: &Head, total: u64) -> bool {
        let fits = total <= self.room as u64 && total.is_multiple_of(self.element as u64);
        self.got.is_none() && !self.passed && fits && self.pattern.accepts(head)
    }

    /// A message goes to the queue: it was too long for this receive, or began to come before it.
    pub(crate) fn pass(&mut self, head: &Head) {
        self.passed |= self.pattern.accepts(head);
    }

    /// Bytes of the message, behind so many others.
    pub(crate) fn write(&mut self, at: usize, data: &[u8]) {
        let fits = at.checked_add(data.len()).is_some_and(|end| end <= self.room);
        assert!(fits, "a receive has room for what it accepts");
        if !data.is_empty() {
            // SAFETY: within the room (above), which can be written and is nobody else's (`new`).
            unsafe { self.to.add(at).copy_from_nonoverlapping(data.as_ptr(), data.len()) };
        }
    }

    /// The first `len` bytes, which were written.
    pub(crate) fn written(&self, len: usize) -> &[u8] {
        if len == 0 {
            return &[];
        }
        // SAFETY: within the room: `write` has checked that before it wrote them.
        unsafe { core::slice::from_raw_parts(self.to, len) }
    }

    pub(crate) fn complete(&mut self, head: Head, len: usize) {
        self.got = Some((head, len));
    }
}
