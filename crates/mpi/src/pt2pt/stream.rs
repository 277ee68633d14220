//! A long message as a stream of the transport, between hosts.
//!
//! The transport moves the bytes by itself from the sender's buffer to the receive buffer, and says when it
//! needs neither any more. This file only tells it where the bytes lie and where they go.
//!
//! - start: [`start`] lets the transport announce and send the message. If the message was announced by an RTS,
//!   [`start_asked`] lets the transport send it when the receiver asks for a stream.
//! - on packet: [`on_packet`] finds the receive of a stream, and [`post_landing`] tells the transport where the
//!   bytes go.
//! - finish: [`finish_receive`] and [`finish_send`], when the transport says that a stream has ended.

use crate::datatype::Datatype;
use crate::engine::inbox::Inbox;
use crate::engine::matching::Announcement;
use crate::engine::process::Process;
use crate::engine::requests::{Operation, ReqId, Transfer};
use crate::error::{Class, Error};
use crate::pt2pt::protocol::{MessageHead, STREAM_HEAD};
use crate::pt2pt::{cancel, rendezvous};
use hpvm_fm::{Head, Holes, Landing, Memory, Rank, Transport};
use std::sync::Arc;

/// A program's buffer whose elements do not lie in one run of memory.
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
fn memory_of(buf: *mut u8, count: i64, ty: &Arc<Datatype>) -> Memory {
    match ty.as_run(count) {
        Some((first, _)) => Memory::Run(buf.wrapping_offset(first as isize)),
        None => Memory::Holes(Box::new(Elements { buf, count, ty: ty.clone() })),
    }
}

/// Lets the transport announce and send the message of send `id`.
pub(super) fn start<T: Transport>(p: &mut Process<T>, id: ReqId) {
    let Some((dst, from, len)) = begin(p, id) else { return };
    let Some(Operation::Send(op)) = p.inbox.requests.get(id).map(|r| &r.op) else { return };
    // A synchronous send completes when its bytes have arrived, so these must not travel before the
    // message has been received.
    let (head, unasked) = (Head::single(STREAM_HEAD, op.envelope), !op.synchronous);
    let (stream, source) = ((id.number(), head), (from, len));
    // SAFETY: the program keeps its buffer until the request completes, which only `finish` lets it do.
    unsafe { p.fm.transport_mut().stream_open(dst, stream, source, unasked) };
}

/// Lets the transport send the message of send `id`, for which the receiver has asked.
pub(crate) fn start_asked<T: Transport>(p: &mut Process<T>, id: ReqId) {
    let Some((dst, from, len)) = begin(p, id) else { return };
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

/// Marks send `id` as streamed. Returns its destination, its memory and its length.
fn begin<T: Transport>(p: &mut Process<T>, id: ReqId) -> Option<(Rank, Memory, u64)> {
    match p.inbox.requests.get_mut(id).map(|r| &mut r.op) {
        Some(Operation::Send(op)) => {
            op.streaming = true;
            let from = memory_of(op.buf.cast_mut(), op.count, &op.ty);
            Some((op.dst, from, op.packed_size()))
        }
        _ => None,
    }
}

/// Tells the transport where the bytes of receive `id`'s stream go. False: there are no streams, and the
/// receive has failed.
pub(crate) fn post_landing<T: Transport>(
    p: &mut Process<T>,
    id: ReqId,
    transfer: &Transfer,
) -> bool {
    if !has_streams(p, transfer.src) {
        p.inbox.fail(id, no_streams(transfer.src));
        return false;
    }
    let Some(op) = p.inbox.recv_op(id) else { return false };
    let landing = Landing {
        memory: memory_of(op.buf, op.count, &op.ty),
        room: op.packed_size().min(transfer.len),
        len: transfer.len,
        cookie: id.number(),
    };
    // SAFETY: the program keeps its buffer until the request completes, after `streamed`.
    unsafe { p.fm.transport_mut().stream_in(transfer.src, transfer.request, landing) };
    // All bytes may have come already, unasked.
    p.complete_streams();
    true
}

#[cold]
fn no_streams(peer: Rank) -> Error {
    let text =
        format!("process {peer} speaks of a stream, but there are none between it and this one");
    Error::new(Class::Other, text)
}

/// STREAM_HEAD: a message has been announced that comes in a stream.
pub(crate) fn on_packet(inbox: &mut Inbox, src: Rank, head: Head, data: &[u8]) {
    let Some((context, tag)) = inbox.checked_context(src, head.imm) else { return };
    let Some(MessageHead { len, number }) = MessageHead::read(data) else {
        return inbox.violate(src, format!("{} bytes about a stream", data.len()));
    };
    let message = Announcement {
        len,
        address: 0,
        request: number,
        exposed: None,
        data: None,
        stream_opened: true,
    };
    rendezvous::on_announcement(inbox, context, src, tag, message);
}

/// The transport says that the stream of receive `id` has come: completes it.
pub(crate) fn finish_receive(inbox: &mut Inbox, id: ReqId) {
    let Some(len) = inbox.transfer_mut(id).map(|t| t.len) else { return };
    inbox.finish_receive(id, len);
}

/// The transport says that it does not need the memory of send `id` any more: completes it.
pub(crate) fn finish_send(inbox: &mut Inbox, id: ReqId) {
    if !cancel::ended(inbox, id) {
        inbox.complete(id);
    }
}
