//! Point-to-point communication (MPI 5.0, chapter 3).
//!
//! Every call here starts an operation and returns; none blocks. The caller has checked ranks and tags,
//! and has dealt with `MPI_PROC_NULL`.
//!
//! [`select`] chooses the method by which a message travels. Each method is one file with the same parts:
//! start, on packet, finish, and advance where one progress step is not enough. [`rendezvous`] is the
//! handshake that all methods for announced messages share. [`blocking`] is a receive that needs no request.

pub mod blocking;
pub(crate) mod cancel;
pub(crate) mod direct_read;
pub(crate) mod eager;
pub(crate) mod fragments;
pub(crate) mod fresh;
pub(crate) mod inline;
mod lost;
pub(crate) mod mapped;
pub(crate) mod packets;
pub mod protocol;
pub(crate) mod rdma_read;
pub(crate) mod rendezvous;
pub mod select;
pub(crate) mod split_copy;
pub(crate) mod stream;

use crate::comm::{Channel, Comm};
use crate::datatype::Datatype;
pub use crate::engine::buffer::{Incoming, Outgoing, packed_size};
pub(crate) use crate::engine::buffer::{pack_all, pack_part, unpack_all};
use crate::engine::dispatch::receive_arrived;
use crate::engine::matching::{Pattern, Unexpected};
use crate::engine::process::Process;
use crate::engine::progress::MAX_PACKETS;
use crate::engine::requests::{Operation, RecvOp, ReqId, SendOp};
use crate::status::Status;
use hpvm_fm::{Broken, Rank, Stall, Transport};
use hpvm_wire::counters::add;
use select::{SendFacts, SendMethod, select_send};
use std::sync::Arc;

/// Incoming messages that are under way, by method, and what is known of how they come best.
#[derive(Default)]
pub(crate) struct Arrivals {
    /// The blocking receive that a thread polls for right now, which has no request.
    pub blocking: blocking::BlockingReceive,
    /// Messages in fragments that are incomplete, or that no receive has matched yet.
    pub fragments: Vec<fragments::Incomplete>,
    /// Split copies: messages that this process and their senders copy together.
    pub split: split_copy::SplitCopies,
    /// Which peers' long messages are fresh, and to whom ours are.
    pub fresh: fresh::Fresh,
}

/// The four send modes (MPI 5.0, section 3.4). Ready sends are standard sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Standard,
    Synchronous,
    /// The library copies the message; space was reserved by the caller.
    Buffered,
}

/// What a call that starts an operation returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// The operation is complete already and has no request.
    Done,
    Pending(ReqId),
}

impl<T: Transport> Process<T> {
    /// The fast path of a standard send: sends `m` inline if it fits in a slot and can go out at once.
    /// False: nothing has happened, and the caller goes on with [`Process::send`]. Small enough to be
    /// compiled into the caller.
    ///
    /// # Safety
    /// `m.buf` is valid for reads of `m.count` elements.
    #[inline(always)]
    pub unsafe fn send_short(
        &mut self,
        m: Outgoing<'_>,
        dst: Rank,
        context: u32,
        tag: i32,
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe { inline::start(self, m, dst, context, tag) }
    }

    /// Starts a send to process `dst`. Never blocks. With a `parent` the send is a part of that request,
    /// which is told of its end.
    ///
    /// # Safety
    /// `m.buf` stays valid for reads of `m.count` elements until the operation is complete.
    #[inline]
    pub unsafe fn send(
        &mut self,
        m: Outgoing<'_>,
        dst: Rank,
        context: u32,
        tag: i32,
        mode: Mode,
        parent: Option<ReqId>,
    ) -> Started {
        let envelope = protocol::envelope(context, tag);
        // SAFETY: the caller's promises.
        unsafe {
            if self.backlog.needs_slow_path(dst) {
                return self.send_slow_path(m, dst, envelope, mode, parent);
            }
            if self.try_send(m, dst, envelope, mode) {
                return Started::Done;
            }
            self.send_with_request(m, dst, envelope, mode, parent)
        }
    }

    /// Starts a send that has to be counted, or has to queue behind earlier sends to `dst`.
    ///
    /// # Safety
    /// As for `send`.
    #[cold]
    #[inline(never)]
    unsafe fn send_slow_path(
        &mut self,
        m: Outgoing<'_>,
        dst: Rank,
        envelope: u64,
        mode: Mode,
        parent: Option<ReqId>,
    ) -> Started {
        let bytes = m.packed_size();
        let short = mode == Mode::Standard && bytes <= self.fm.limits().inline as u64;
        // SAFETY: the caller's promises.
        let started = unsafe {
            if short && inline::start_counted(self, m, bytes, dst, envelope) {
                return Started::Done;
            }
            match !self.backlog.has_queued(dst) && self.try_send(m, dst, envelope, mode) {
                true => Started::Done,
                false => self.send_with_request(m, dst, envelope, mode, parent),
            }
        };
        // Counted after the send, so that the receiver does not wait for the counting.
        self.count_sent(dst, 1, bytes);
        started
    }

    /// Sends the whole message at once, if its method is one without an announcement, and if there is a
    /// credit and a buffer for it. False: nothing has happened.
    ///
    /// # Safety
    /// `m.buf` is valid for reads of `m.count` elements.
    #[inline(always)]
    unsafe fn try_send(&mut self, m: Outgoing<'_>, dst: Rank, envelope: u64, mode: Mode) -> bool {
        let bytes = m.packed_size();
        let facts = self.send_facts(m, dst, mode);
        // SAFETY: the caller's promise.
        unsafe {
            match select_send(bytes, &facts, &self.thresholds) {
                SendMethod::Inline | SendMethod::Eager => {
                    eager::start(&mut self.fm, m, dst, envelope).is_ok()
                }
                SendMethod::Fragments => {
                    fragments::start(self, m, dst, envelope)
                        || (bytes <= facts.packet
                            && eager::start(&mut self.fm, m, dst, envelope).is_ok())
                }
                SendMethod::Stream | SendMethod::Announced { .. } => false,
            }
        }
    }

    /// The facts that the sender's choice depends on. For a short message only its length matters, so the
    /// facts that take time to find out keep their defaults.
    #[inline(always)]
    fn send_facts(&self, m: Outgoing<'_>, dst: Rank, mode: Mode) -> SendFacts {
        let limits = self.fm.limits();
        let known = SendFacts {
            mode,
            xoff: self.backlog.has_sent_xoff(dst),
            one_run: true,
            inline: limits.inline as u64,
            packet: limits.packet as u64,
            fragments: 0,
            stream: false,
            rdma: false,
            read: false,
        };
        let bytes = m.packed_size();
        if bytes < self.thresholds.min_choice {
            return known;
        }
        let transport = self.fm.transport();
        let fragments = transport.max_fragmented(dst);
        // Whether the receiver reads is looked up only where it changes the choice.
        let unasked = fragments != 0 && bytes <= self.thresholds.max_unasked;
        let stream = transport.can_open(dst, bytes);
        SendFacts {
            one_run: m.ty.as_run(m.count).is_some(),
            fragments,
            stream,
            rdma: stream && transport.has_rdma(dst),
            read: unasked && !self.inbox.arrivals.fresh.is_ours(dst) && self.receiver_reads(m, dst),
            ..known
        }
    }

    /// Whether the receiver would read `m` out of our memory if it were announced. Not for a message to
    /// ourselves: while we send, nobody could receive it, so it goes unannounced up to the full limit.
    #[cold]
    fn receiver_reads(&self, m: Outgoing<'_>, dst: Rank) -> bool {
        let own = dst == self.fm.transport().rank();
        !own && m.ty.as_run(m.count).is_some() && self.prefers_read(dst, m.packed_size())
    }

    /// Makes a request for a send that can't be completed by this call, and starts it if nothing is queued
    /// before it.
    ///
    /// # Safety
    /// As for `send`.
    #[cold]
    unsafe fn send_with_request(
        &mut self,
        m: Outgoing<'_>,
        dst: Rank,
        envelope: u64,
        mode: Mode,
        parent: Option<ReqId>,
    ) -> Started {
        // SAFETY: the caller's promise.
        let op = unsafe { self.send_op(m, dst, envelope, mode) };
        let id = self.inbox.requests.insert(Operation::Send(op), parent);
        if self.backlog.has_queued(dst) || start_queued_send(self, id).is_err() {
            self.backlog.add_send(dst, id);
        }
        match self.inbox.requests.get(id) {
            // Complete after all: an eager send that found a credit at this second try.
            Some(r) if r.done && parent.is_none() => {
                self.inbox.requests.remove(id);
                Started::Done
            }
            Some(_) => Started::Pending(id),
            None => Started::Done,
        }
    }

    /// The record of a send that has to wait. A buffered send gets its copy of the message here.
    ///
    /// # Safety
    /// `m.buf` is valid for reads of `m.count` elements.
    pub(crate) unsafe fn send_op(
        &self,
        m: Outgoing<'_>,
        dst: Rank,
        envelope: u64,
        mode: Mode,
    ) -> SendOp {
        let synchronous = mode == Mode::Synchronous;
        let mut op = SendOp {
            buf: m.buf,
            count: m.count,
            ty: m.ty.clone(),
            dst,
            envelope,
            synchronous,
            streaming: false,
            asked: false,
            offered: false,
            exposed: false,
            cancelling: cancel::Cancelling::Not,
            copy: None,
        };
        if mode == Mode::Buffered {
            let mut copy = vec![0; m.packed_size() as usize].into_boxed_slice();
            // SAFETY: the caller's promise; `copy` has the packed size.
            unsafe { pack_all(m, &mut copy) };
            op.buf = copy.as_ptr();
            op.count = copy.len() as i64;
            op.ty = Datatype::byte().clone();
            op.copy = Some(copy);
        }
        op
    }

    /// Starts a receive of a message on `comm` that `pattern` accepts: takes an unexpected message, or posts
    /// the receive. Never blocks.
    ///
    /// # Safety
    /// `m.buf` stays valid for writes of `m.count` elements until the operation is complete.
    #[inline]
    pub unsafe fn recv(
        &mut self,
        m: Incoming<'_>,
        comm: &Arc<Comm>,
        channel: Channel,
        pattern: Pattern,
        parent: Option<ReqId>,
    ) -> ReqId {
        let context = comm.context(channel);
        let (comm, ty) = self.inbox.requests.hold(comm, m.ty);
        let op = RecvOp { buf: m.buf, count: m.count, ty, comm, context, pattern, transfer: None };
        let id = self.inbox.requests.insert(Operation::Recv(op), parent);
        match self.inbox.table(context).take(pattern) {
            None => self.inbox.post(context, pattern, id),
            Some(message) => self.receive_unexpected(id, message),
        }
        id
    }

    /// Receives a message that a matched probe has taken out of the unexpected queue.
    ///
    /// # Safety
    /// As for `recv`.
    pub unsafe fn recv_matched(
        &mut self,
        m: Incoming<'_>,
        comm: &Arc<Comm>,
        message: Unexpected,
    ) -> ReqId {
        self.release(&message);
        // SAFETY: the caller's promise.
        unsafe { self.recv_arrived(m, comm, message) }
    }

    /// Receives a message that is not in the unexpected queue: it has just come, or was taken out.
    ///
    /// # Safety
    /// As for `recv`.
    pub(crate) unsafe fn recv_arrived(
        &mut self,
        m: Incoming<'_>,
        comm: &Arc<Comm>,
        message: Unexpected,
    ) -> ReqId {
        let context = comm.context(Channel::User);
        let pattern = Pattern { src: message.src, tag: message.tag };
        let op = RecvOp {
            buf: m.buf,
            count: m.count,
            ty: m.ty.clone(),
            comm: comm.clone(),
            context,
            pattern,
            transfer: None,
        };
        let id = self.inbox.requests.insert(Operation::Recv(op), None);
        receive_arrived(self, id, message);
        id
    }

    fn receive_unexpected(&mut self, id: ReqId, message: Unexpected) {
        self.release(&message);
        receive_arrived(self, id, message);
    }

    /// The message that `MPI_Iprobe` finds in the unexpected queue. The caller makes progress first.
    pub fn probe(&mut self, comm: &Comm, pattern: Pattern) -> Option<Status> {
        let message = self.inbox.table(comm.context(Channel::User)).peek(pattern)?;
        Some(Status {
            source: comm.rank_of(message.src),
            tag: message.tag,
            bytes: message.bytes(),
            cancelled: false,
        })
    }

    /// Number of messages so far that came before their receive. If it has not changed since a probe in
    /// vain, another probe is in vain, too.
    #[inline(always)]
    pub fn arrived_unexpected(&self) -> u64 {
        self.inbox.unexpected_total()
    }

    /// Takes packets until a message has come that `pattern` accepts, or no more packets come, or as many
    /// have come as one progress step takes. To be called when a probe has found other messages: otherwise
    /// a program that probes for one message would get only one packet further with each call.
    #[cold]
    pub fn probe_further(
        &mut self,
        comm: &Comm,
        pattern: Pattern,
    ) -> Result<Option<Status>, Broken> {
        for _ in 0..MAX_PACKETS {
            let moved = self.progress()?;
            let found = self.probe(comm, pattern);
            if found.is_some() || !moved {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// What `MPI_Improbe` takes now.
    pub fn take_probed(&mut self, comm: &Comm, pattern: Pattern) -> Option<Unexpected> {
        self.inbox.table(comm.context(Channel::User)).take(pattern)
    }

    /// Cancels a receive that has not matched, or a send that is not complete (`MPI_Cancel`). True: the
    /// operation has ended. A send may still end as cancelled later, when its receiver has answered.
    pub fn cancel(&mut self, id: ReqId) -> bool {
        self.inbox.withdraw(id) || cancel::start(self, id)
    }

    /// Whether a cancelled send is one to this very process, so that our own progress steps end it.
    pub fn cancels_own_send(&self, id: ReqId) -> bool {
        cancel::asks_itself(self, id)
    }

    /// Publishes counters that the engine keeps for itself.
    pub fn publish_counters(&mut self) {
        if let Some(c) = self.fm.counters() {
            let known = c.unexpected.load(core::sync::atomic::Ordering::Relaxed); // a statistic
            add(&c.unexpected, self.inbox.unexpected_total().wrapping_sub(known));
        }
    }
}

/// Starts a send that has a request: sends its first packet or opens its stream, and completes the request
/// if nothing is left to be done.
pub(crate) fn start_queued_send<T: Transport>(p: &mut Process<T>, id: ReqId) -> Result<(), Stall> {
    let Some(Operation::Send(op)) = p.inbox.requests.get(id).map(|r| &r.op) else {
        return Ok(());
    };
    let m = Outgoing { buf: op.buf, count: op.count, ty: &op.ty };
    let mode = if op.synchronous { Mode::Synchronous } else { Mode::Standard };
    // Without fragments: the message is late already, and its receiver is busy, so the two copies would
    // not overlap.
    let facts = SendFacts { fragments: 0, ..p.send_facts(m, op.dst, mode) };
    let method = select_send(m.packed_size(), &facts, &p.thresholds);
    if op.exposed && !matches!(method, SendMethod::Announced { .. }) {
        // An announcement found no credit, and by now there is another way.
        p.inbox.withdraw_offer(id);
        return start_queued_send(p, id);
    }
    match method {
        SendMethod::Inline | SendMethod::Eager | SendMethod::Fragments => {
            // SAFETY: the program keeps its buffer until the request completes.
            unsafe { eager::start(&mut p.fm, m, op.dst, op.envelope)? };
            p.inbox.complete(id);
        }
        SendMethod::Stream => stream::start(p, id),
        SendMethod::Announced { with_data } => rendezvous::start(p, id, with_data)?,
    }
    Ok(())
}
