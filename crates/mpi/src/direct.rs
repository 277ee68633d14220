//! A blocking receive without a request.
//!
//! Most receives are waited for at once, and their message is the next to come. Such a receive
//! needs no place in the table of requests and no entry in a queue: the arrival handler finds it
//! in one variable and copies the message straight into the buffer. After some polls in vain the
//! receive becomes an ordinary one. It is the youngest receive of its communicator all the time,
//! so posted ones are asked first and no order is broken.

use crate::comm::{Channel, Comm};
use crate::error::{Class, Error};
use crate::matching::{Content, Pattern, Unexpected};
use crate::process::Process;
use crate::pt2pt::{Incoming, packed_size, unpack_all};
use crate::request::ReqId;
use crate::status::Status;
use hpvm_fm::{Broken, Rank, Transport};
use std::sync::Arc;

/// How a direct receive ended.
#[derive(Debug)]
pub enum Received {
    /// The message is in the buffer.
    Done(Status),
    /// As `Done`, but it was longer than the buffer.
    Truncated(Status, Error),
    /// It takes longer: an ordinary request.
    Pending(ReqId),
}

/// The receive that waits.
#[derive(Debug, Default)]
pub(crate) struct Direct {
    waiting: Option<Waiting>,
    landed: Option<Landed>,
}

#[derive(Debug)]
struct Waiting {
    context: u32,
    pattern: Pattern,
    buf: *mut u8,
    count: i64,
    /// The type in the hands of the waiting call, which outlives this.
    ty: *const crate::datatype::Datatype,
}

#[derive(Debug)]
enum Landed {
    /// A whole message of `len` bytes, of which as many are in the buffer as fit.
    Whole {
        src: Rank,
        tag: i32,
        len: u64,
    },
    Announced(Unexpected),
}

impl Direct {
    /// Whether a message is for the receive that waits. The first one is; a second is not.
    #[inline(always)]
    pub fn accepts(&self, context: u32, src: Rank, tag: i32) -> bool {
        match &self.waiting {
            Some(w) => w.context == context && w.pattern.accepts(src, tag),
            None => false,
        }
    }

    /// Copies a message to the buffer of the receive that waits.
    ///
    /// # Safety
    /// The call that set the receive is still waiting.
    #[inline(always)]
    pub unsafe fn land(&mut self, src: Rank, tag: i32, data: &[u8]) {
        let Some(w) = self.waiting.take() else { return };
        // SAFETY: the waiting call holds the type and the buffer of `count` elements.
        unsafe {
            let ty = &*w.ty;
            let fits = (data.len() as u64).min(packed_size(ty, w.count)) as usize;
            unpack_all(w.buf, w.count, ty, &data[..fits]);
        }
        self.landed = Some(Landed::Whole { src, tag, len: data.len() as u64 });
    }

    /// The message of the receive that waits has to be fetched.
    pub fn announce(&mut self, message: Unexpected) {
        self.waiting = None;
        self.landed = Some(Landed::Announced(message));
    }
}

impl<T: Transport> Process<T> {
    /// Receives a message on `comm` that `pattern` accepts, polling up to `polls` times for it.
    /// To be used while no other thread can start an operation.
    ///
    /// # Safety
    /// `m.buf` is valid for writes of `m.count` elements, and stays so until the request is
    /// complete if one is returned.
    #[inline]
    pub unsafe fn recv_direct(
        &mut self,
        m: Incoming<'_>,
        comm: &Arc<Comm>,
        pattern: Pattern,
        polls: u32,
    ) -> Result<Received, Broken> {
        let context = comm.context(Channel::User);
        if let Some(message) = self.inbox.table(context).take(pattern) {
            // SAFETY: the caller's promise.
            return Ok(unsafe { self.recv_taken(m, comm, message) });
        }
        let ty: *const _ = &**m.ty;
        let waiting = Waiting { context, pattern, buf: m.buf, count: m.count, ty };
        self.inbox.direct = Direct { waiting: Some(waiting), landed: None };
        let landed = self.poll_direct(polls);
        self.inbox.direct.waiting = None;
        match landed? {
            Some(Landed::Whole { src, tag, len }) => {
                Ok(finish(comm.rank_of(src), tag, len, packed_size(m.ty, m.count)))
            }
            // SAFETY: the caller's promise.
            Some(Landed::Announced(message)) => Ok(unsafe { self.recv_taken(m, comm, message) }),
            None => {
                // SAFETY: the caller's promise.
                Ok(Received::Pending(unsafe { self.recv(m, comm, Channel::User, pattern, None) }))
            }
        }
    }

    #[inline(always)]
    fn poll_direct(&mut self, polls: u32) -> Result<Option<Landed>, Broken> {
        for _ in 0..polls {
            let packets = self.extract()?;
            if let Some(landed) = self.inbox.direct.landed.take() {
                return Ok(Some(landed));
            }
            if packets == 0 {
                core::hint::spin_loop();
            }
            // Functions of the program are run by the caller's ordinary wait.
            if (self.deferred() && !self.computes.is_empty()) || self.has_fast_arrivals() {
                break;
            }
        }
        Ok(None)
    }

    /// Receives a message that has come or has been announced.
    ///
    /// # Safety
    /// As for `recv_direct`.
    unsafe fn recv_taken(
        &mut self,
        m: Incoming<'_>,
        comm: &Arc<Comm>,
        message: Unexpected,
    ) -> Received {
        let capacity = packed_size(m.ty, m.count);
        match message.content {
            Content::Eager(data) => {
                let fits = (data.len() as u64).min(capacity) as usize;
                // SAFETY: the caller's promise; `fits` is at most the buffer's packed size.
                unsafe { unpack_all(m.buf, m.count, m.ty, &data[..fits]) };
                finish(comm.rank_of(message.src), message.tag, data.len() as u64, capacity)
            }
            content => {
                let message = Unexpected { content, ..message };
                // SAFETY: the caller's promise.
                Received::Pending(unsafe { self.recv_matched(m, comm, message) })
            }
        }
    }
}

/// The result of a message of `len` bytes in a buffer for `capacity`.
#[inline(always)]
fn finish(source: i32, tag: i32, len: u64, capacity: u64) -> Received {
    let status = Status { source, tag, bytes: len.min(capacity), cancelled: false };
    if len <= capacity { Received::Done(status) } else { truncated(status, len, capacity) }
}

#[cold]
fn truncated(status: Status, len: u64, capacity: u64) -> Received {
    Received::Truncated(status, truncation(&status, len, capacity))
}

/// The error of a message that is longer than its receive.
pub(crate) fn truncation(status: &Status, len: u64, capacity: u64) -> Error {
    let text = format!(
        "a message of {len} bytes from rank {} with tag {} came for a receive of at most \
         {capacity} bytes",
        status.source, status.tag
    );
    Error::new(Class::Truncate, text)
}
