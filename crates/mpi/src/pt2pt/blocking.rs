//! A blocking receive without a request.
//!
//! Most programs wait for a receive at once, and its message is the next one to come. Such a receive needs no
//! entry in the table of requests and none in the posted queue: it stands in one variable, where the packet
//! handler finds it and copies the message straight into the buffer. After some polls in vain the receive
//! becomes an ordinary one with a request. All that time it is the youngest receive of its communicator, so
//! the posted receives are matched first, and the order of matching is kept.
//!
//! [`Process::recv_polling`] is the fast path, [`Process::recv_after_polling`] what follows it.

use crate::comm::{Channel, Comm};
use crate::datatype::Datatype;
use crate::engine::buffer::{Incoming, packed_size, unpack_all};
use crate::engine::inbox::truncation;
use crate::engine::matching::{Content, Pattern, Unexpected};
use crate::engine::process::Process;
use crate::engine::requests::{RecvOp, ReqId};
use crate::error::Error;
use crate::pt2pt::protocol::{EAGER, open_envelope};
use crate::status::Status;
use hpvm_fm::{Broken, Rank, Transport};
use std::sync::Arc;

/// Stands for a number of packets: the transport is broken.
const BROKEN: usize = usize::MAX;

/// How a blocking receive without a request has ended.
#[derive(Debug)]
pub enum Received {
    /// The message is in the buffer.
    Done(Status),
    /// As `Done`, but the message was longer than the buffer.
    Truncated(Status, Error),
    /// The receive has become an ordinary one, with this request.
    Pending(ReqId),
}

/// The receive that a thread polls for, and the message that came for it.
#[derive(Debug)]
pub(crate) struct BlockingReceive {
    state: State,
    context: u32,
    pattern: Pattern,
    buf: *mut u8,
    count: i64,
    /// Where the elements begin if they lie in one run of memory, else null; and their packed bytes.
    run: *mut u8,
    capacity: u64,
    /// The communicator has no posted receive, which would have to be matched first.
    first: bool,
    /// The datatype. The polling call holds it for as long as it polls.
    ty: *const Datatype,
    /// The polling call's references to the datatype and to the communicator.
    owners: (*const Arc<Datatype>, *const Arc<Comm>),
    /// Envelope and packed bytes of the message that came.
    src: Rank,
    tag: i32,
    len: u64,
    announced: Option<Box<Unexpected>>,
    /// The request that the receive has become.
    request: Option<ReqId>,
    /// The failure of the transport that ended the polling.
    broken: Option<Broken>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Waiting,
    /// A whole message has come, fitted, and is in the buffer. No receive was posted before it.
    Plain,
    /// A whole message has come. As many of its `len` bytes as fit are in the buffer.
    Whole,
    /// A message has been announced and has to be fetched.
    Announced,
    /// The receive has become a request, because its message comes in fragments.
    Request,
}

impl Default for BlockingReceive {
    fn default() -> BlockingReceive {
        BlockingReceive {
            state: State::Idle,
            context: 0,
            pattern: Pattern { src: 0, tag: 0 },
            buf: core::ptr::null_mut(),
            count: 0,
            run: core::ptr::null_mut(),
            capacity: 0,
            first: false,
            ty: core::ptr::null(),
            owners: (core::ptr::null(), core::ptr::null()),
            src: 0,
            tag: 0,
            len: 0,
            announced: None,
            request: None,
            broken: None,
        }
    }
}

impl BlockingReceive {
    /// Whether a message matches the receive that a thread polls for. Only the first such message does.
    #[inline(always)]
    pub fn accepts(&self, context: u32, src: Rank, tag: i32) -> bool {
        self.state == State::Waiting && self.context == context && self.pattern.accepts(src, tag)
    }

    /// The fast path of an arrival: copies a whole message into the buffer if it matches, if no posted receive
    /// goes first, and if the buffer is one run of memory and long enough. False: nothing has happened.
    #[inline(always)]
    fn takes(&mut self, src: Rank, imm: u64, data: &[u8]) -> bool {
        let (context, tag) = open_envelope(imm);
        let plain = self.first && !self.run.is_null() && data.len() as u64 <= self.capacity;
        if !(plain && self.accepts(context, src, tag)) {
            return false;
        }
        // SAFETY: the waiting call holds the buffer of `capacity` bytes.
        unsafe { hpvm_copy::short(data.as_ptr(), self.run, data.len()) };
        (self.src, self.tag, self.len) = (src, tag, data.len() as u64);
        self.state = State::Plain;
        true
    }

    /// Copies a message that `accepts` has accepted into the buffer, as far as it fits.
    ///
    /// # Safety
    /// `accepts` has said yes, so the call that set the receive is still polling.
    #[inline(always)]
    pub unsafe fn land(&mut self, src: Rank, tag: i32, data: &[u8]) {
        // SAFETY: the waiting call holds the type and the buffer of `count` elements.
        unsafe {
            let ty = &*self.ty;
            let fits = (data.len() as u64).min(packed_size(ty, self.count)) as usize;
            unpack_all(self.buf, self.count, ty, &data[..fits]);
        }
        (self.src, self.tag, self.len) = (src, tag, data.len() as u64);
        self.state = State::Whole;
    }

    /// The receive as an ordinary operation, for which the caller makes a request and calls `promote`.
    ///
    /// # Safety
    /// As for `land`.
    pub unsafe fn as_op(&self) -> RecvOp {
        // SAFETY: the waiting call holds both.
        let (ty, comm) = unsafe { ((*self.owners.0).clone(), (*self.owners.1).clone()) };
        let (buf, count, context, pattern) = (self.buf, self.count, self.context, self.pattern);
        RecvOp { buf, count, ty, comm, context, pattern, transfer: None }
    }

    /// The receive has become `request`.
    pub fn promote(&mut self, request: ReqId) {
        self.request = Some(request);
        self.state = State::Request;
    }

    /// A message that matches has been announced; `recv_after_polling` fetches it.
    pub fn announce(&mut self, message: Unexpected) {
        self.announced = Some(Box::new(message));
        self.state = State::Announced;
    }
}

impl<T: Transport> Process<T> {
    /// Polls up to `polls` times for a message on `comm` that `pattern` accepts. Returns its status in the
    /// simple case: the message came whole, no posted receive went first, and the buffer is one run of memory
    /// and long enough. In every other case it returns nothing, and the caller has to call
    /// `recv_after_polling` with the same arguments. Only while no other thread can start an operation.
    ///
    /// # Safety
    /// `m.buf` is valid for writes of `m.count` elements.
    #[inline(always)]
    pub unsafe fn recv_polling(
        &mut self,
        m: Incoming<'_>,
        comm: &Arc<Comm>,
        pattern: Pattern,
        polls: u32,
    ) -> Option<Status> {
        let context = comm.context(Channel::User);
        let table = self.inbox.table(context);
        if !table.nothing_unexpected() {
            return None;
        }
        let first = table.nothing_posted();
        let receive = &mut self.inbox.arrivals.blocking;
        let run = m.ty.as_run(m.count);
        receive.run =
            run.map_or(core::ptr::null_mut(), |(at, _)| m.buf.wrapping_offset(at as isize));
        receive.capacity = packed_size(m.ty, m.count);
        receive.first = first;
        (receive.context, receive.pattern, receive.buf, receive.count, receive.ty) =
            (context, pattern, m.buf, m.count, &raw const **m.ty);
        receive.owners = (m.ty, comm);
        receive.state = State::Waiting;
        for _ in 0..polls {
            let packets = self.extract_for_blocking();
            let receive = &mut self.inbox.arrivals.blocking;
            if receive.state == State::Plain {
                receive.state = State::Idle;
                let source = comm.rank_of(receive.src);
                return Some(Status {
                    source,
                    tag: receive.tag,
                    bytes: receive.len,
                    cancelled: false,
                });
            }
            if receive.state != State::Waiting || packets == BROKEN {
                break;
            }
            if packets == 0 && !self.inbox.onesided.do_posted(&mut self.fm) {
                core::hint::spin_loop();
            }
            // The program's own functions (reductions, handlers) are run by the caller's ordinary wait.
            if (self.do_deferred() && !self.computes.is_empty()) || self.has_fast_arrivals() {
                break;
            }
        }
        None
    }

    /// Ends a receive for which `recv_polling` has returned nothing: takes what came, or makes the receive an
    /// ordinary one.
    ///
    /// # Safety
    /// `m.buf` is valid for writes of `m.count` elements, and stays so until the request is
    /// complete if one is returned.
    #[inline(never)]
    pub unsafe fn recv_after_polling(
        &mut self,
        m: Incoming<'_>,
        comm: &Arc<Comm>,
        pattern: Pattern,
    ) -> Result<Received, Broken> {
        let receive = &mut self.inbox.arrivals.blocking;
        let state = core::mem::replace(&mut receive.state, State::Idle);
        // Before anything else: the transport reports a failure only once, maybe together with the message.
        if let Some(broken) = receive.broken.take() {
            return Err(broken);
        }
        if state == State::Whole {
            return Ok(finish(
                comm,
                receive.src,
                receive.tag,
                receive.len,
                packed_size(m.ty, m.count),
            ));
        }
        if let Some(id) = receive.request.take() {
            return Ok(Received::Pending(id));
        }
        if let Some(message) = receive.announced.take() {
            // SAFETY: the caller's promise.
            return Ok(Received::Pending(unsafe { self.recv_arrived(m, comm, *message) }));
        }
        let context = comm.context(Channel::User);
        // SAFETY: the caller's promise.
        Ok(unsafe {
            match self.inbox.table(context).take(pattern) {
                Some(message) => self.recv_taken(m, comm, message),
                None => Received::Pending(self.recv(m, comm, Channel::User, pattern, None)),
            }
        })
    }

    /// Takes one packet, or all fragments that have come of one message, and tries the fast path of an arrival
    /// first. Returns the number of packets, or `BROKEN`; `recv_after_polling` then reports the failure.
    #[inline(always)]
    fn extract_for_blocking(&mut self) -> usize {
        let inbox = &mut self.inbox;
        let packets = self.fm.extract(1, |src, head, data| {
            if head.handler == EAGER && inbox.arrivals.blocking.takes(src, head.imm, data) {
                inbox.completions += 1;
            } else {
                inbox.on_packet(src, head, data);
            }
        });
        match packets {
            Ok(0) => 0,
            Ok(packets) => match self.after_extract() {
                Ok(()) => packets,
                Err(broken) => self.failed(broken),
            },
            Err(broken) => self.failed(broken),
        }
    }

    #[cold]
    fn failed(&mut self, broken: Broken) -> usize {
        let receive = &mut self.inbox.arrivals.blocking;
        receive.broken = Some(broken);
        if receive.state == State::Plain {
            // So that `recv_polling` does not return the status and hide the failure.
            receive.state = State::Whole;
        }
        BROKEN
    }

    /// Receives an unexpected message that has been taken out of the queue.
    ///
    /// # Safety
    /// As for `recv_after_polling`.
    unsafe fn recv_taken(
        &mut self,
        m: Incoming<'_>,
        comm: &Arc<Comm>,
        message: Unexpected,
    ) -> Received {
        let capacity = packed_size(m.ty, m.count);
        if matches!(message.content, Content::Eager(_)) {
            self.release(&message);
        }
        match message.content {
            Content::Eager(data) => {
                let fits = (data.len() as u64).min(capacity) as usize;
                // SAFETY: the caller's promise; `fits` is at most the buffer's packed size.
                unsafe { unpack_all(m.buf, m.count, m.ty, &data[..fits]) };
                finish(comm, message.src, message.tag, data.len() as u64, capacity)
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
fn finish(comm: &Comm, src: Rank, tag: i32, len: u64, capacity: u64) -> Received {
    let source = comm.rank_of(src);
    let status = Status { source, tag, bytes: len.min(capacity), cancelled: false };
    if len <= capacity { Received::Done(status) } else { truncated(comm, status, len, capacity) }
}

#[cold]
fn truncated(comm: &Comm, status: Status, len: u64, capacity: u64) -> Received {
    Received::Truncated(status, truncation(comm, &status, len, capacity))
}
