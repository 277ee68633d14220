//! Large messages as streams of the transport.
//!
//! Where a transport has streams, it moves a message's bytes by itself between the two programs'
//! buffers, and tells when it does not need them any more. What is left to do here: saying where the
//! bytes lie and where they belong.

use crate::datatype::Datatype;
use crate::engine::matching::Announcement;
use crate::engine::process::{Inbox, Process};
use crate::engine::requests::{Operation, ReqId, Transfer};
use crate::error::{Class, Error};
use crate::pt2pt::protocol::{BULK, Long};
use hpvm_fm::{Head, Holes, Landing, Memory, Rank, Streamed, Transport};
use std::sync::Arc;

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
    /// Lets the transport announce and send the message of send `id`.
    pub(crate) fn stream_open(&mut self, id: ReqId) {
        let Some((dst, from, len)) = self.stream_source(id) else { return };
        let Some(Operation::Send(op)) = self.inbox.requests.get(id).map(|r| &r.op) else { return };
        // That the bytes of a synchronous message have come means that it has been received.
        let (head, unasked) = (Head::single(BULK, op.envelope), !op.synchronous);
        let (stream, source) = ((id.number(), head), (from, len));
        // SAFETY: the program keeps its buffer until the request completes, which only
        // `stream_ended` lets it do.
        unsafe { self.fm.transport_mut().stream_open(dst, stream, source, unasked) };
    }

    /// Lets the transport send the message of send `id`, for which the receiver has asked.
    pub(crate) fn stream_out(&mut self, id: ReqId) {
        let Some((dst, from, len)) = self.stream_source(id) else { return };
        if !self.has_streams(dst) {
            return self.inbox.fail(id, no_streams(dst));
        }
        // SAFETY: as in `stream_open`.
        unsafe { self.fm.transport_mut().stream_out(dst, id.number(), from, len) };
    }

    /// Whether there can be streams from or to `peer` at all.
    fn has_streams(&self, peer: Rank) -> bool {
        self.fm.transport().can_stream(peer, u64::MAX)
    }

    /// Destination, memory and length of send `id`, which is streamed from now on.
    fn stream_source(&mut self, id: ReqId) -> Option<(Rank, Memory, u64)> {
        match self.inbox.requests.get_mut(id).map(|r| &mut r.op) {
            Some(Operation::Send(op)) => {
                op.streaming = true;
                let from = memory(op.buf.cast_mut(), op.count, &op.ty);
                Some((op.dst, from, op.packed_size()))
            }
            _ => None,
        }
    }

    /// Says where the stream of receive `id` belongs.
    pub(crate) fn stream_in(&mut self, id: ReqId, transfer: &Transfer) {
        if !self.has_streams(transfer.src) {
            return self.inbox.fail(id, no_streams(transfer.src));
        }
        let Some(op) = self.inbox.recv_op(id) else { return };
        let landing = Landing {
            memory: memory(op.buf, op.count, &op.ty),
            room: op.packed_size().min(transfer.len),
            len: transfer.len,
            cookie: id.number(),
        };
        // SAFETY: the program keeps its buffer until the request completes, after `streamed`.
        unsafe { self.fm.transport_mut().stream_in(transfer.src, transfer.request, landing) };
        // All of it may have come with its announcement.
        self.take_ended();
    }
}

#[cold]
fn no_streams(peer: Rank) -> Error {
    let text =
        format!("process {peer} speaks of a stream, but there are none between it and this one");
    Error::new(Class::Other, text)
}

impl Inbox {
    /// A message that comes in a stream.
    pub fn on_bulk(&mut self, src: Rank, imm: u64, data: &[u8]) {
        let Some((context, tag)) = self.checked_context(src, imm) else { return };
        let Some(Long { len, number }) = Long::read(data) else {
            return self.violate(src, format!("{} bytes about a stream", data.len()));
        };
        let message = Announcement { len, address: 0, request: number, data: None, streams: true };
        self.announced(context, src, tag, message);
    }

    /// A stream has ended.
    pub fn stream_ended(&mut self, ended: Streamed) {
        match ended {
            Streamed::Came(cookie) => {
                let id = ReqId::from_number(cookie);
                let Some(op) = self.recv_op(id) else { return };
                let Some(len) = op.transfer.as_ref().map(|t| t.len) else { return };
                self.finish_receive(id, len);
            }
            Streamed::Gone(number) => self.complete(ReqId::from_number(number)),
        }
    }
}
