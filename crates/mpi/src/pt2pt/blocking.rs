//! A blocking receive without a request.
//!
//! Most receives are waited for at once, and their message is the next to come. Such a receive
//! needs no place in the table of requests and no entry in a queue: the arrival handler finds it
//! in one variable and copies the message straight into the buffer. After some polls in vain the
//! receive becomes an ordinary one. It is the youngest receive of its communicator all the time,
//! so posted ones are asked first and no order is broken.

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

/// In place of a number of packets: the network is broken.
const FAILED: usize = usize::MAX;

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

/// The receive that waits, and what came for it.
#[derive(Debug)]
pub(crate) struct BlockingReceive {
    state: State,
    context: u32,
    pattern: Pattern,
    buf: *mut u8,
    count: i64,
    /// Where the elements begin and how many bytes they are, if they lie in one run: else null.
    run: *mut u8,
    capacity: u64,
    /// No posted receive of the communicator has to be asked first.
    first: bool,
    /// The type in the hands of the waiting call, which outlives this.
    ty: *const Datatype,
    /// The same as the call holds it, and the communicator.
    owners: (*const Arc<Datatype>, *const Arc<Comm>),
    /// Envelope and packed bytes of the message that came.
    src: Rank,
    tag: i32,
    len: u64,
    announced: Option<Box<Unexpected>>,
    /// The request that it has become.
    request: Option<ReqId>,
    /// What ended the polling.
    broken: Option<Broken>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Waiting,
    /// A whole message came and is in the buffer, which was long enough.
    Plain,
    /// A whole message came; of its `len` bytes as many as fit are in the buffer.
    Whole,
    Announced,
    /// It has become a request, because its message comes in fragments.
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
    /// Whether a message is for the receive that waits. The first one is; a second is not.
    #[inline(always)]
    pub fn accepts(&self, context: u32, src: Rank, tag: i32) -> bool {
        self.state == State::Waiting && self.context == context && self.pattern.accepts(src, tag)
    }

    /// Takes a whole message if it is plainly for the receive that waits: nobody else has to be
    /// asked, and a copy is all. False: it goes the ordinary way.
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

    /// Copies a message to the buffer of the receive that waits.
    ///
    /// # Safety
    /// `accepts` has said yes, so the call that set the receive is still waiting.
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

    /// The receive that waits as an ordinary operation; `became` tells its request.
    ///
    /// # Safety
    /// As for `land`.
    pub unsafe fn as_op(&self) -> RecvOp {
        // SAFETY: the waiting call holds both.
        let (ty, comm) = unsafe { ((*self.owners.0).clone(), (*self.owners.1).clone()) };
        let (buf, count, context, pattern) = (self.buf, self.count, self.context, self.pattern);
        RecvOp { buf, count, ty, comm, context, pattern, transfer: None }
    }

    /// The receive that waits has become a request.
    pub fn became(&mut self, request: ReqId) {
        self.request = Some(request);
        self.state = State::Request;
    }

    /// The message of the receive that waits has to be fetched.
    pub fn announce(&mut self, message: Unexpected) {
        self.announced = Some(Box::new(message));
        self.state = State::Announced;
    }
}

impl<T: Transport> Process<T> {
    /// Waits for a message on `comm` that `pattern` accepts, polling up to `polls` times, if all goes
    /// plainly: it comes whole and fits, and lies in one run. Gives its status. Whatever else there is
    /// to be done is left to `recv_otherwise`, which has to be called with the same arguments when this
    /// gives none. To be used while no other thread can start an operation.
    ///
    /// # Safety
    /// `m.buf` is valid for writes of `m.count` elements.
    #[inline(always)]
    pub unsafe fn recv_plain(
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
        let d = &mut self.inbox.arrivals.blocking;
        let run = m.ty.as_run(m.count);
        d.run = run.map_or(core::ptr::null_mut(), |(at, _)| m.buf.wrapping_offset(at as isize));
        d.capacity = packed_size(m.ty, m.count);
        d.first = first;
        (d.context, d.pattern, d.buf, d.count, d.ty) =
            (context, pattern, m.buf, m.count, &raw const **m.ty);
        d.owners = (m.ty, comm);
        d.state = State::Waiting;
        for _ in 0..polls {
            let packets = self.extract_direct();
            let d = &mut self.inbox.arrivals.blocking;
            if d.state == State::Plain {
                d.state = State::Idle;
                let source = comm.rank_of(d.src);
                return Some(Status { source, tag: d.tag, bytes: d.len, cancelled: false });
            }
            if d.state != State::Waiting || packets == FAILED {
                break;
            }
            if packets == 0 && !self.inbox.onesided.do_posted(&mut self.fm) {
                core::hint::spin_loop();
            }
            // Functions of the program are run by the caller's ordinary wait.
            if (self.deferred() && !self.computes.is_empty()) || self.has_fast_arrivals() {
                break;
            }
        }
        None
    }

    /// What follows on `recv_plain` when that gave nothing.
    ///
    /// # Safety
    /// `m.buf` is valid for writes of `m.count` elements, and stays so until the request is
    /// complete if one is returned.
    #[inline(never)]
    pub unsafe fn recv_otherwise(
        &mut self,
        m: Incoming<'_>,
        comm: &Arc<Comm>,
        pattern: Pattern,
    ) -> Result<Received, Broken> {
        let d = &mut self.inbox.arrivals.blocking;
        let state = core::mem::replace(&mut d.state, State::Idle);
        // First of all: it may have come with the message, and is told once only.
        if let Some(broken) = d.broken.take() {
            return Err(broken);
        }
        if state == State::Whole {
            return Ok(finish(comm, d.src, d.tag, d.len, packed_size(m.ty, m.count)));
        }
        if let Some(id) = d.request.take() {
            return Ok(Received::Pending(id));
        }
        if let Some(message) = d.announced.take() {
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

    /// As `extract`, with an eye on the message that is waited for; little at a time, but all that
    /// has come of a message in fragments. `FAILED` when the network is broken, which `recv_otherwise`
    /// tells.
    #[inline(always)]
    fn extract_direct(&mut self) -> usize {
        let inbox = &mut self.inbox;
        let packets = self.fm.extract(1, |src, head, data| {
            if head.handler == EAGER && inbox.arrivals.blocking.takes(src, head.imm, data) {
                inbox.completions += 1;
            } else {
                inbox.packet(src, head, data);
            }
        });
        match packets {
            Ok(0) => 0,
            Ok(packets) => match self.extracted() {
                Ok(()) => packets,
                Err(broken) => self.failed(broken),
            },
            Err(broken) => self.failed(broken),
        }
    }

    #[cold]
    fn failed(&mut self, broken: Broken) -> usize {
        let d = &mut self.inbox.arrivals.blocking;
        d.broken = Some(broken);
        if d.state == State::Plain {
            // Not for `recv_plain` to end.
            d.state = State::Whole;
        }
        FAILED
    }

    /// Receives a message that was kept.
    ///
    /// # Safety
    /// As for `recv_otherwise`.
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
