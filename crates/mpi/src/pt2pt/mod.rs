//! Point-to-point communication (MPI 5.0, chapter 3).
//!
//! Every call here starts something and returns. Ranks and tags have been checked by the caller;
//! `MPI_PROC_NULL` never gets here.
//!
//! [`select`] chooses how a message travels. Each way is a file with the same parts: start, on packet,
//! finish, and advance where one progress step is not enough. [`rendezvous`] is the handshake that the ways
//! of announced messages share. [`blocking`] is a receive that needs no request.

pub mod blocking;
pub(crate) mod cancel;
pub(crate) mod direct_read;
pub(crate) mod eager;
pub(crate) mod fragments;
pub(crate) mod inline;
mod lost;
pub(crate) mod mapped;
pub(crate) mod packets;
pub mod protocol;
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

/// What is under way of messages that come.
#[derive(Default)]
pub(crate) struct Arrivals {
    /// The receive that a thread waits for right now, if it has no request.
    pub blocking: blocking::BlockingReceive,
    /// Messages in fragments of which some are missing, or nobody has received them.
    pub fragments: Vec<fragments::Incomplete>,
    /// Messages that are copied together with their senders.
    pub split: split_copy::SplitCopies,
}

/// The four send modes (MPI 5.0, section 3.4). Ready sends are standard sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Standard,
    Synchronous,
    /// The library copies the message; space was reserved by the caller.
    Buffered,
}

/// A started operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It is complete already and has no request.
    Done,
    Pending(ReqId),
}

impl<T: Transport> Process<T> {
    /// Sends a message that fits in a slot, in standard mode, if that can be done at once: what
    /// `send` would do, and little enough to become part of its caller.
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

    /// Starts a send to process `dst`.
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
            if self.backlog.holds(dst) {
                return self.send_held(m, dst, envelope, mode, parent);
            }
            if self.send_now(m, dst, envelope, mode) {
                return Started::Done;
            }
            self.send_later(m, dst, envelope, mode, parent)
        }
    }

    /// Starts a send that is to be counted, or to queue behind others.
    ///
    /// # Safety
    /// As for `send`.
    #[cold]
    #[inline(never)]
    unsafe fn send_held(
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
            if short && inline::counted(self, m, bytes, dst, envelope) {
                return Started::Done;
            }
            match !self.backlog.queues(dst) && self.send_now(m, dst, envelope, mode) {
                true => Started::Done,
                false => self.send_later(m, dst, envelope, mode, parent),
            }
        };
        // Afterwards: the receiver need not wait for it.
        self.count_sent(dst, 1, bytes);
        started
    }

    /// Sends a message that need not be announced, if there is room and a credit for it.
    ///
    /// # Safety
    /// `m.buf` is valid for reads of `m.count` elements.
    #[inline(always)]
    unsafe fn send_now(&mut self, m: Outgoing<'_>, dst: Rank, envelope: u64, mode: Mode) -> bool {
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

    /// What the choice of a way depends on. Of a short message nobody asks for all of it.
    #[inline(always)]
    fn send_facts(&self, m: Outgoing<'_>, dst: Rank, mode: Mode) -> SendFacts {
        let limits = self.fm.limits();
        let known = SendFacts {
            mode,
            xoff: self.backlog.is_off(dst),
            one_run: true,
            inline: limits.inline as u64,
            packet: limits.packet as u64,
            fragments: 0,
            stream: false,
            read: false,
        };
        let bytes = m.packed_size();
        if bytes < self.thresholds.min_choice {
            return known;
        }
        let transport = self.fm.transport();
        let fragments = transport.max_fragmented(dst);
        // Only then does it matter.
        let unasked = fragments != 0 && bytes <= self.thresholds.max_unasked;
        SendFacts {
            one_run: m.ty.as_run(m.count).is_some(),
            fragments,
            stream: transport.can_open(dst, bytes),
            read: unasked && self.is_read(m, dst),
            ..known
        }
    }

    /// Whether the receiver of `m` reads it out of our memory when it is announced. A message to
    /// ourselves goes without being asked for as long as it may: nobody could receive meanwhile.
    #[cold]
    fn is_read(&self, m: Outgoing<'_>, dst: Rank) -> bool {
        let own = dst == self.fm.transport().rank();
        !own && m.ty.as_run(m.count).is_some() && self.reads(dst, m.packed_size())
    }

    /// Makes a request for a send that has to wait for something.
    ///
    /// # Safety
    /// As for `send`.
    #[cold]
    unsafe fn send_later(
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
        if self.backlog.queues(dst) || launch(self, id).is_err() {
            self.backlog.add_send(dst, id);
        }
        match self.inbox.requests.get(id) {
            // Done already: only an eager send that found its credit at the second try.
            Some(r) if r.done && parent.is_none() => {
                self.inbox.requests.remove(id);
                Started::Done
            }
            Some(_) => Started::Pending(id),
            None => Started::Done,
        }
    }

    /// What is kept of a send that has to wait.
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

    /// Starts a receive of a message on `comm` that `pattern` accepts.
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

    /// Receives a message that was kept and has been taken out of the queue, as by a matched probe.
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

    /// Receives a message that has just come and was never kept, or is no more.
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

    /// What `MPI_Iprobe` sees now; calls for `progress` first are the caller's.
    pub fn probe(&mut self, comm: &Comm, pattern: Pattern) -> Option<Status> {
        let message = self.inbox.table(comm.context(Channel::User)).peek(pattern)?;
        Some(Status {
            source: comm.rank_of(message.src),
            tag: message.tag,
            bytes: message.bytes(),
            cancelled: false,
        })
    }

    /// Messages that came before their receive, so far: a probe that finds nothing sees whether another one
    /// may find something.
    #[inline(always)]
    pub fn arrived_unexpected(&self) -> u64 {
        self.inbox.unexpected_total()
    }

    /// Takes packets until a message has come that `pattern` accepts, or nothing more comes, or as many
    /// packets as one progress step takes have come. To be called when others have just come: a program
    /// that probes for one message would else see a packet a call.
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

    /// Cancels a receive that has not matched, or a send that is not complete (`MPI_Cancel`). True: it has
    /// ended. A send may end as cancelled later, when its receiver has answered.
    pub fn cancel(&mut self, id: ReqId) -> bool {
        self.inbox.withdraw(id) || cancel::start(self, id)
    }

    /// Whether the cancelling of a send waits for this very process, which progress steps end.
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

/// Sends the first packet of send `id`, or opens its stream; completes it if that is all.
pub(crate) fn launch<T: Transport>(p: &mut Process<T>, id: ReqId) -> Result<(), Stall> {
    let Some(Operation::Send(op)) = p.inbox.requests.get(id).map(|r| &r.op) else {
        return Ok(());
    };
    let m = Outgoing { buf: op.buf, count: op.count, ty: &op.ty };
    let mode = if op.synchronous { Mode::Synchronous } else { Mode::Standard };
    // What had to wait goes in packets: it is late already, and its receiver has enough to do.
    let facts = SendFacts { fragments: 0, ..p.send_facts(m, op.dst, mode) };
    match select_send(m.packed_size(), &facts, &p.thresholds) {
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
