//! A message of some KiB in fragments that follow each other without being asked for (pipelined eager).
//!
//! In one packet the message would be copied twice, one copy after the other. In fragments the receiver
//! copies one fragment while the sender writes the next, and no handshake comes before. A `FRAGMENT_HEAD`
//! carries the envelope, the length and a number; each `FRAGMENT` carries the number and the next bytes. The
//! transport keeps the fragments in order and needs one credit for all of them.
//!
//! - start: [`start`] hands all fragments to the transport.
//! - on packet: [`on_packet`] finds the receive, or keeps the fragments until there is one. The last fragment
//!   completes a receive that has matched.
//! - finish: [`finish`] gives an unexpected message to a receive that is posted later.

use crate::engine::buffer::{Outgoing, pack_part, unpack_part};
use crate::engine::dispatch::promote_blocking_receive;
use crate::engine::inbox::Inbox;
use crate::engine::matching::{Content, Unexpected};
use crate::engine::process::Process;
use crate::engine::requests::ReqId;
use crate::pt2pt::protocol::{FRAGMENT, FRAGMENT_HEAD, MAX_FRAGMENTED, MessageHead};
use hpvm_fm::{Head, Rank, Transport};

/// A message in fragments that is incomplete, or that no receive has matched yet.
#[derive(Debug)]
pub(crate) struct Incomplete {
    src: Rank,
    number: u64,
    len: u64,
    /// Bytes that have come so far.
    done: u64,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    /// The buffer of a receive.
    Receive(ReqId),
    /// Memory of the engine: no receive has matched yet.
    Unexpected(Vec<u8>),
    /// The bytes are thrown away: no receive can match any more.
    Nobody,
}

/// Sends a message in fragments. False: nothing has happened, because there is no credit or no frame now.
///
/// # Safety
/// `m.buf` is valid for reads of `m.count` elements.
#[inline(never)]
pub(super) unsafe fn start<T: Transport>(
    p: &mut Process<T>,
    m: Outgoing<'_>,
    dst: Rank,
    envelope: u64,
) -> bool {
    let len = m.packed_size();
    let head = MessageHead { len, number: p.fragmented };
    let rest = Head::single(FRAGMENT, head.number);
    let first = (Head::single(FRAGMENT_HEAD, envelope), &head.to_bytes());
    // SAFETY: the caller's promise; the transport asks for parts of the message only.
    let fill = |at, out: &mut [u8], bypass| unsafe { pack_part(m, at as u64, out, bypass) };
    let sent = p.fm.send_fragments(dst, Some(first), rest, len as usize, fill).is_ok();
    p.fragmented += u64::from(sent);
    if sent && len > p.thresholds.max_unasked_beside_read {
        p.inbox.arrivals.fresh.ours_went(dst);
    }
    sent
}

pub(crate) fn on_packet(inbox: &mut Inbox, src: Rank, head: Head, data: &[u8]) {
    match head.handler {
        FRAGMENT_HEAD => on_head(inbox, src, head.imm, data),
        _ => on_fragment(inbox, src, head.imm, data),
    }
}

fn on_head(inbox: &mut Inbox, src: Rank, imm: u64, data: &[u8]) {
    let Some((context, tag)) = inbox.checked_context(src, imm) else { return };
    let head = MessageHead::read(data).filter(|h| (1..=MAX_FRAGMENTED).contains(&h.len));
    let Some(MessageHead { len, number }) = head else {
        let text = format!("a message in fragments that begins with {} bytes", data.len());
        return inbox.violate(src, text);
    };
    let receive = match inbox.arrive(context, src, tag) {
        None if inbox.arrivals.blocking.accepts(context, src, tag) => {
            Some(promote_blocking_receive(inbox))
        }
        found => found,
    };
    let destination = match receive {
        Some(id) => {
            inbox.matched(id, src, tag);
            Destination::Receive(id)
        }
        None => {
            let content = Content::Fragments { len, number };
            inbox.keep(context, Unexpected { src, tag, content });
            Destination::Unexpected(Vec::with_capacity(len as usize))
        }
    };
    inbox.arrivals.fragments.push(Incomplete { src, number, len, done: 0, destination });
}

fn on_fragment(inbox: &mut Inbox, src: Rank, number: u64, data: &[u8]) {
    let messages = &mut inbox.arrivals.fragments;
    let index = messages.iter().rposition(|m| m.src == src && m.number == number);
    match index {
        Some(index) if messages[index].done + data.len() as u64 <= messages[index].len => {
            add(inbox, index, data);
        }
        _ => inbox.violate(src, format!("{} bytes of no message in fragments", data.len())),
    }
}

fn add(inbox: &mut Inbox, index: usize, data: &[u8]) {
    let m = &mut inbox.arrivals.fragments[index];
    let at = m.done;
    m.done += data.len() as u64;
    let complete = m.done == m.len;
    match &mut m.destination {
        Destination::Unexpected(bytes) => bytes.extend_from_slice(data),
        Destination::Nobody if complete => drop(inbox.arrivals.fragments.swap_remove(index)),
        Destination::Nobody => {}
        Destination::Receive(id) => {
            let id = *id;
            store(inbox, id, at, data);
            if complete {
                let Incomplete { len, .. } = inbox.arrivals.fragments.swap_remove(index);
                inbox.finish_receive(id, len);
            }
        }
    }
}

/// Writes bytes `at..` of a message into the buffer of receive `id`, as far as they fit.
fn store(inbox: &mut Inbox, id: ReqId, at: u64, data: &[u8]) {
    let Some(op) = inbox.recv_op(id) else { return };
    let fits = (data.len() as u64).min(op.packed_size().saturating_sub(at)) as usize;
    // SAFETY: the program gave a buffer of `count` elements; if anything fits, `at + fits` is at most
    // their packed size.
    unsafe { unpack_part(op.buf, op.count, &op.ty, at, &data[..fits]) };
}

/// The sender of the message in fragments that receive `id` is getting, if it is getting one.
pub(super) fn sender(inbox: &Inbox, id: ReqId) -> Option<Rank> {
    let gets =
        |m: &&Incomplete| matches!(m.destination, Destination::Receive(receive) if receive == id);
    inbox.arrivals.fragments.iter().find(gets).map(|m| m.src)
}

/// The sender of receive `id`'s message has died: the receive ends without the rest of the message.
pub(super) fn forget_receive(inbox: &mut Inbox, id: ReqId) {
    let gets = |m: &mut Incomplete| matches!(m.destination, Destination::Receive(receive) if receive == id);
    inbox.arrivals.fragments.extract_if(.., gets).for_each(drop);
}

/// Receive `id` takes an unexpected message: `number` of `len` bytes, of which some or all have come.
#[cold]
pub(crate) fn finish(inbox: &mut Inbox, id: ReqId, (src, tag): (Rank, i32), len: u64, number: u64) {
    inbox.matched(id, src, tag);
    let messages = &mut inbox.arrivals.fragments;
    let Some(index) = messages.iter().position(|m| m.src == src && m.number == number) else {
        return;
    };
    let done = messages[index].done;
    let unexpected = core::mem::replace(&mut messages[index].destination, Destination::Receive(id));
    if let Destination::Unexpected(bytes) = unexpected {
        store(inbox, id, 0, &bytes);
    }
    if done == len {
        inbox.arrivals.fragments.swap_remove(index);
        inbox.finish_receive(id, len);
    }
}

/// Message `number` of `src` will never be received.
pub(crate) fn forget(inbox: &mut Inbox, src: Rank, number: u64) {
    let messages = &mut inbox.arrivals.fragments;
    let Some(index) = messages.iter().position(|m| m.src == src && m.number == number) else {
        return;
    };
    let m = &mut messages[index];
    m.destination = Destination::Nobody;
    if m.done == m.len {
        messages.swap_remove(index);
    }
}
