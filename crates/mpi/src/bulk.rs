//! Large messages as streams of the transport.
//!
//! Where a transport has streams, it moves a message's bytes by itself between the two programs'
//! buffers. What is left to do here: saying where the bytes lie and where they belong, and telling
//! the sender (FIN) when all have come, because only then its buffer is free.

use crate::datatype::Datatype;
use crate::process::{Inbox, Process};
use crate::request::{Operation, ReqId, Transfer};
use hpvm_fm::{Holes, Landing, Memory, Transport};
use std::sync::Arc;

/// A receiver's answer to one of our sends, to be acted on outside of `extract`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Send it in `DATA` packets to the receiver's request.
    Packets(ReqId, u64),
    /// Stream it.
    Stream(ReqId),
    /// The receiver has all of the stream.
    Ended(ReqId),
}

/// Elements of a program whose bytes are not one run.
struct Elements {
    buf: *mut u8,
    count: i64,
    ty: Arc<Datatype>,
}

impl Holes for Elements {
    unsafe fn gather(&self, offset: u64, out: &mut [u8]) {
        // SAFETY: the program keeps its buffer of `count` elements while the stream lasts (the
        // caller's promise), and `offset + out.len()` is at most their packed size.
        unsafe { self.ty.pack(self.buf, self.count, offset, out) };
    }

    unsafe fn scatter(&self, offset: u64, data: &[u8]) {
        // SAFETY: as in `gather`.
        unsafe { self.ty.unpack(self.buf, self.count, offset, data) };
    }
}

/// The memory of `count` elements at `buf`.
fn memory(buf: *mut u8, count: i64, ty: &Arc<Datatype>) -> Memory {
    match ty.as_run(count) {
        Some((first, _)) => Memory::Run(buf.wrapping_offset(first as isize)),
        None => Memory::Holes(Box::new(Elements { buf, count, ty: ty.clone() })),
    }
}

impl<T: Transport> Process<T> {
    /// Acts on a receiver's answer.
    pub(crate) fn take_step(&mut self, step: Step) {
        match step {
            Step::Packets(id, receiver) => {
                self.backlog.add_stream(id, receiver, self.fm.limits().packet);
            }
            Step::Stream(id) => self.stream_out(id, false),
            Step::Ended(id) => self.stream_ended(id),
        }
    }

    /// Lets the transport send the message of send `id`.
    pub(crate) fn stream_out(&mut self, id: ReqId, early: bool) {
        let Some(Operation::Send(op)) = self.inbox.requests.get_mut(id).map(|r| &mut r.op) else {
            return;
        };
        op.streaming = true;
        let from = memory(op.buf.cast_mut(), op.count, &op.ty);
        let (dst, len) = (op.dst, op.packed_size());
        // SAFETY: the program keeps its buffer until the request completes, which only
        // `stream_ended` lets it do.
        unsafe { self.fm.transport_mut().stream_out(dst, id.number(), from, len, early) };
    }

    /// The receiver alleges that it has all of the stream of send `id`.
    fn stream_ended(&mut self, id: ReqId) {
        let Some(Operation::Send(op)) = self.inbox.requests.get(id).map(|r| &r.op) else { return };
        let dst = op.dst;
        match self.fm.transport_mut().stream_end(dst, id.number()) {
            Ok(()) => self.inbox.complete(id),
            Err(broken) => self.inbox.violate(dst, format!("a FIN too early: {broken}")),
        }
    }

    /// Says where the stream of receive `id` belongs.
    pub(crate) fn stream_in(&mut self, id: ReqId, transfer: &Transfer) {
        let Some(op) = self.inbox.recv_op(id) else { return };
        let landing = Landing {
            memory: memory(op.buf, op.count, &op.ty),
            room: op.packed_size().min(transfer.len),
            len: transfer.len,
            cookie: id.number(),
        };
        // SAFETY: the program keeps its buffer until the request completes, after `streamed`.
        unsafe { self.fm.transport_mut().stream_in(transfer.src, transfer.request, landing) };
    }
}

impl Inbox {
    /// All bytes of the stream of receive `id` have come.
    #[cold]
    pub fn stream_landed(&mut self, id: ReqId) {
        let Some(op) = self.recv_op(id) else { return };
        let Some(transfer) = &mut op.transfer else { return };
        transfer.done = transfer.len;
        self.transfers.push_back(id);
    }
}
