//! A long message as a stream of the transport, between hosts.
//!
//! The transport moves the bytes by itself between the two programs' buffers, and tells when it does not
//! need them any more. What is left to do here is to say where the bytes lie and where they belong.
//!
//! - start: [`start`] lets the transport announce and send the message; [`start_asked`] one that was
//!   announced by an RTS, when the receiver asks for a stream.
//! - on packet: [`on_packet`] finds the receive of a stream, [`receive`] says where it belongs.
//! - finish: [`finish`], when the transport says that a stream has ended.

use crate::datatype::Datatype;
use crate::engine::inbox::Inbox;
use crate::engine::matching::Announcement;
use crate::engine::process::Process;
use crate::engine::requests::{Operation, ReqId, Transfer};
use crate::error::{Class, Error};
use crate::pt2pt::protocol::{MessageHead, STREAM_HEAD};
use crate::pt2pt::{cancel, rendezvous};
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

/// Lets the transport announce and send the message of send `id`.
pub(super) fn start<T: Transport>(p: &mut Process<T>, id: ReqId) {
    let Some((dst, from, len)) = source(p, id) else { return };
    let Some(Operation::Send(op)) = p.inbox.requests.get(id).map(|r| &r.op) else { return };
    // That the bytes of a synchronous message have come means that it has been received.
    let (head, unasked) = (Head::single(STREAM_HEAD, op.envelope), !op.synchronous);
    let (stream, source) = ((id.number(), head), (from, len));
    // SAFETY: the program keeps its buffer until the request completes, which only `finish` lets it do.
    unsafe { p.fm.transport_mut().stream_open(dst, stream, source, unasked) };
}

/// Lets the transport send the message of send `id`, for which the receiver has asked.
pub(crate) fn start_asked<T: Transport>(p: &mut Process<T>, id: ReqId) {
    let Some((dst, from, len)) = source(p, id) else { return };
    if !has_streams(p, dst) {
        return p.inbox.fail(id, no_streams(dst));
    }
    // SAFETY: as in `start`.
    unsafe { p.fm.transport_mut().stream_out(dst, id.number(), from, len) };
}

/// Whether there can be streams from or to `peer` at all.
fn has_streams<T: Transport>(p: &Process<T>, peer: Rank) -> bool {
    p.fm.transport().can_stream(peer, u64::MAX)
}

/// Destination, memory and length of send `id`, which is streamed from now on.
fn source<T: Transport>(p: &mut Process<T>, id: ReqId) -> Option<(Rank, Memory, u64)> {
    match p.inbox.requests.get_mut(id).map(|r| &mut r.op) {
        Some(Operation::Send(op)) => {
            op.streaming = true;
            let from = memory(op.buf.cast_mut(), op.count, &op.ty);
            Some((op.dst, from, op.packed_size()))
        }
        _ => None,
    }
}

/// Says where the stream of receive `id` belongs. False: there are no streams, and the receive has failed.
pub(crate) fn receive<T: Transport>(p: &mut Process<T>, id: ReqId, transfer: &Transfer) -> bool {
    if !has_streams(p, transfer.src) {
        p.inbox.fail(id, no_streams(transfer.src));
        return false;
    }
    let Some(op) = p.inbox.recv_op(id) else { return false };
    let landing = Landing {
        memory: memory(op.buf, op.count, &op.ty),
        room: op.packed_size().min(transfer.len),
        len: transfer.len,
        cookie: id.number(),
    };
    // SAFETY: the program keeps its buffer until the request completes, after `streamed`.
    unsafe { p.fm.transport_mut().stream_in(transfer.src, transfer.request, landing) };
    // All of it may have come with its announcement.
    p.take_ended();
    true
}

#[cold]
fn no_streams(peer: Rank) -> Error {
    let text =
        format!("process {peer} speaks of a stream, but there are none between it and this one");
    Error::new(Class::Other, text)
}

/// A message that comes in a stream.
pub(crate) fn on_packet(inbox: &mut Inbox, src: Rank, head: Head, data: &[u8]) {
    let Some((context, tag)) = inbox.checked_context(src, head.imm) else { return };
    let Some(MessageHead { len, number }) = MessageHead::read(data) else {
        return inbox.violate(src, format!("{} bytes about a stream", data.len()));
    };
    let message =
        Announcement { len, address: 0, request: number, data: None, stream_opened: true };
    rendezvous::announced(inbox, context, src, tag, message);
}

/// A stream has ended.
pub(crate) fn finish(inbox: &mut Inbox, ended: Streamed) {
    match ended {
        Streamed::Came(cookie) => {
            let id = ReqId::from_number(cookie);
            let Some(len) = inbox.transfer_mut(id).map(|t| t.len) else { return };
            inbox.finish_receive(id, len);
        }
        Streamed::Gone(number) => {
            let id = ReqId::from_number(number);
            if !cancel::ended(inbox, id) {
                inbox.complete(id);
            }
        }
    }
}
