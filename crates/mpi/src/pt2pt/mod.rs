//! Point-to-point communication (MPI 5.0, chapter 3).
//!
//! Every call here starts something and returns. Ranks and tags have been checked by the caller;
//! `MPI_PROC_NULL` never gets here.

pub mod blocking;
pub(crate) mod fragments;
mod mapped;
pub mod protocol;
pub(crate) mod rendezvous;
pub(crate) mod split_copy;
mod stream;

use crate::comm::{Channel, Comm};
use crate::datatype::Datatype;
use crate::engine::matching::{Content, Pattern, Unexpected};
use crate::engine::process::Process;
use crate::engine::requests::{Operation, RecvOp, ReqId, SendOp};
use crate::pt2pt::protocol::{EAGER, MOST_EAGER, MOST_EAGER_BESIDE_READS, RTS, Rts, WITH_DATA};
use crate::status::Status;
use hpvm_copy as copy;
use hpvm_copy::non_temporal;
use hpvm_fm::{Head, Rank, Stall, Transport};
use hpvm_wire::counters::add;
use std::sync::Arc;

/// The four send modes (MPI 5.0, section 3.4). Ready sends are standard sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Standard,
    Synchronous,
    /// The library copies the message; space was reserved by the caller.
    Buffered,
}

/// Messages up to this many bytes are nowhere worth a stream, nor up to that many pieces.
const SHORT: u64 = 4096;
const UNCUT: u64 = 8192;

/// What to send.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    pub buf: *const u8,
    pub count: i64,
    pub ty: &'a Arc<Datatype>,
}

/// Where to receive.
#[derive(Clone, Copy)]
pub struct Incoming<'a> {
    pub buf: *mut u8,
    pub count: i64,
    pub ty: &'a Arc<Datatype>,
}

impl Outgoing<'_> {
    #[inline(always)]
    pub fn packed_size(&self) -> u64 {
        packed_size(self.ty, self.count)
    }
}

/// Packed bytes of `count` elements. Counts and overflow were checked by the caller of the start.
#[inline(always)]
pub fn packed_size(ty: &Datatype, count: i64) -> u64 {
    (ty.size() as u64).wrapping_mul(count as u64)
}

/// A started operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It is complete already and has no request.
    Done,
    Pending(ReqId),
}

/// Writes the packed form of `m` to `out`, which has exactly its size.
///
/// # Safety
/// `m.buf` is valid for reads of `m.count` elements.
#[inline(always)]
pub(crate) unsafe fn pack_all(m: Outgoing<'_>, out: &mut [u8]) {
    match m.ty.as_run(m.count) {
        Some((first, _)) => {
            let from = m.buf.wrapping_offset(first as isize);
            // SAFETY: the elements form one run of `out.len()` bytes from `first` on.
            unsafe { copy::wide(from, out.as_mut_ptr(), out.len()) };
        }
        None => {
            // SAFETY: the caller's promise.
            unsafe { m.ty.pack(m.buf, m.count, 0, out) };
        }
    }
}

/// Writes bytes `at..` of the packed form of `m` to `out`, which they fill: a part of a message
/// that is streamed. `bypass`: with stores that bypass the cache.
///
/// # Safety
/// `m.buf` is valid for reads of `m.count` elements, of which `at + out.len()` bytes exist.
#[inline(always)]
pub(crate) unsafe fn pack_part(m: Outgoing<'_>, at: u64, out: &mut [u8], bypass: bool) {
    match m.ty.as_run(m.count) {
        Some((first, _)) => {
            let from = m.buf.wrapping_offset(first as isize).wrapping_add(at as usize);
            // SAFETY: the elements form one run from `first` on.
            unsafe {
                match bypass {
                    true => non_temporal::copy(from, out.as_mut_ptr(), out.len()),
                    false => copy::wide(from, out.as_mut_ptr(), out.len()),
                }
            }
        }
        None => {
            // SAFETY: the caller's promise.
            unsafe { m.ty.pack(m.buf, m.count, at, out) };
        }
    }
}

/// Writes packed `data` into `count` elements at `buf`.
///
/// # Safety
/// `buf` is valid for writes of `count` elements, and `data` is at most their packed size.
#[inline(always)]
pub(crate) unsafe fn unpack_all(buf: *mut u8, count: i64, ty: &Datatype, data: &[u8]) {
    match ty.as_run(count) {
        Some((first, _)) => {
            let to = buf.wrapping_offset(first as isize);
            // SAFETY: the elements form one run from `first` on, at least as long as `data`.
            unsafe { copy::wide(data.as_ptr(), to, data.len()) };
        }
        None => {
            // SAFETY: the caller's promise.
            unsafe { ty.unpack(buf, count, 0, data) };
        }
    }
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
        let bytes = m.packed_size();
        if bytes > self.fm.limits().inline as u64 || self.backlog.blocks(dst) {
            return false;
        }
        let Some((first, _)) = m.ty.as_run(m.count) else { return false };
        let from = m.buf.wrapping_offset(first as isize);
        let head = Head::single(EAGER, protocol::envelope(context, tag));
        // SAFETY: the elements form one run of `out.len()` bytes from `first` on.
        let fill = |out: &mut [u8]| unsafe { copy::short(from, out.as_mut_ptr(), out.len()) };
        self.fm.send(dst, head, bytes as usize, fill).is_ok()
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
        let bytes = m.packed_size();
        let eager = mode != Mode::Synchronous && !self.backlog.blocks(dst);
        if eager && bytes > SHORT && bytes <= MOST_EAGER {
            if self.fm.transport().can_open(dst, bytes) {
                // SAFETY: the caller's promise.
                return unsafe { self.send_later(m, dst, envelope, mode, parent) };
            }
            let cut = bytes > UNCUT
                && bytes <= self.fm.transport().pieces(dst)
                && !(bytes > MOST_EAGER_BESIDE_READS && self.is_read(m, dst));
            // SAFETY: the caller's promise.
            if cut && unsafe { self.send_pieces(m, dst, envelope) } {
                return Started::Done;
            }
        }
        if eager && bytes <= self.fm.limits().packet as u64 {
            let head = Head::single(EAGER, envelope);
            // SAFETY: the caller's promise; `out` has the packed size of the message.
            let sent = self.fm.send(dst, head, bytes as usize, |out| unsafe { pack_all(m, out) });
            if sent.is_ok() {
                return Started::Done;
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.send_later(m, dst, envelope, mode, parent) }
    }

    /// Whether the receiver of `m` reads it out of our memory when it is announced. A message to
    /// ourselves goes without being asked for as long as it may: nobody could receive meanwhile.
    #[cold]
    fn is_read(&self, m: Outgoing<'_>, dst: Rank) -> bool {
        let own = dst == self.fm.transport().rank();
        !own && m.ty.as_run(m.count).is_some() && self.pulls(dst, m.packed_size())
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
        if self.backlog.queues(dst) || self.launch(id).is_err() {
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

    /// Sends the first packet of send `id`. Completes it if that is all.
    pub(crate) fn launch(&mut self, id: ReqId) -> Result<(), Stall> {
        let Some(Operation::Send(op)) = self.inbox.requests.get(id).map(|r| &r.op) else {
            return Ok(());
        };
        let m = Outgoing { buf: op.buf, count: op.count, ty: &op.ty };
        let bytes = op.packed_size();
        if self.fm.transport().can_open(op.dst, bytes) {
            self.stream_open(id);
            return Ok(());
        }
        let most = self.fm.limits().packet as u64;
        let unasked = bytes <= most && !self.backlog.announces(op.dst);
        if unasked && !op.synchronous {
            let head = Head::single(EAGER, op.envelope);
            // SAFETY: the program keeps its buffer until the request completes.
            self.fm.send(op.dst, head, bytes as usize, |out| unsafe { pack_all(m, out) })?;
            self.inbox.complete(id);
            return Ok(());
        }
        let address =
            op.ty.as_run(op.count).map_or(0, |(first, _)| op.buf.addr() as u64 + first as u64);
        let rts = Rts { address, len: bytes, request: id.number() };
        let mut head = Head::single(RTS, op.envelope);
        let fixed = Rts::BYTES;
        let with_data = unasked && bytes + fixed as u64 <= most;
        let len = if with_data { fixed + bytes as usize } else { fixed };
        head.aux = u16::from(with_data) * WITH_DATA;
        self.fm.send(op.dst, head, len, |out| {
            rts.write(out);
            if with_data {
                // SAFETY: as above.
                unsafe { pack_all(m, &mut out[fixed..]) };
            }
        })?;
        if !with_data && address != 0 {
            self.inbox.offer(id);
        }
        Ok(())
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
        self.receive_arrived(id, message);
        id
    }

    fn receive_unexpected(&mut self, id: ReqId, message: Unexpected) {
        self.release(&message);
        self.receive_arrived(id, message);
    }

    fn receive_arrived(&mut self, id: ReqId, message: Unexpected) {
        let Unexpected { src, tag, content } = message;
        match content {
            Content::Eager(data) => self.inbox.receive_eager(id, src, tag, &data),
            Content::Pieces { len, number } => {
                self.inbox.receive_pieces(id, src, tag, len, number);
            }
            Content::Announced(a) => {
                let streams = a.streams;
                self.inbox.receive_announced(id, src, tag, a);
                if streams {
                    // Its bytes may come in the next turn, and go straight to their place then.
                    self.inbox.transfers.pop_back();
                    self.start_transfer(id);
                }
            }
        }
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

    /// What `MPI_Improbe` takes now.
    pub fn take_probed(&mut self, comm: &Comm, pattern: Pattern) -> Option<Unexpected> {
        self.inbox.table(comm.context(Channel::User)).take(pattern)
    }

    /// Cancels a receive that has not matched (`MPI_Cancel`). Sends are never cancelled, which
    /// section 3.8.4 allows. False: it goes on.
    pub fn cancel(&mut self, id: ReqId) -> bool {
        self.inbox.withdraw(id)
    }

    /// Publishes counters that the engine keeps for itself.
    pub fn publish_counters(&mut self) {
        if let Some(c) = self.fm.counters() {
            let known = c.unexpected.load(core::sync::atomic::Ordering::Relaxed); // a statistic
            add(&c.unexpected, self.inbox.unexpected_total().wrapping_sub(known));
        }
    }
}
