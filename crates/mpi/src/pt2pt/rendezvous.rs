//! The handshake of announced messages: RTS, CTS, FIN. How the bytes move in between is the business of
//! [`super::direct_read`], [`super::mapped`], [`super::split_copy`], [`super::packets`] and
//! [`super::stream`]; each of these uses this file and none of the others.
//!
//! - start: [`start`] sends the RTS.
//! - on packet: an RTS finds its receive ([`matched`]) or is kept; a CTS lets the sender send; a FIN completes
//!   the send.
//! - finish: [`finish`] sends the FIN and completes the receive; [`after_read`] decides what follows an
//!   attempt to read the sender's memory.

use crate::engine::buffer::{Outgoing, pack_all, unpack_all};
use crate::engine::dispatch::Deferred;
use crate::engine::inbox::Inbox;
use crate::engine::matching::{Announcement, Content, Unexpected};
use crate::engine::process::Process;
use crate::engine::requests::{Operation, ReqId, Transfer};
use crate::error::{Class, Error};
use crate::pt2pt::protocol::{
    self, AS_STREAM, CTS, EXPOSED, EXPOSED_BYTES, FIN, READ_FAST, READ_SLOW, RTS, Rts, WITH_DATA,
};
use crate::pt2pt::select::ReceiveMethod;
use hpvm_fm::{Head, PeerMemoryError, Rank, Stall, Transport};

/// Announces the message of send `id`. The RTS carries the message itself if `with_data`. If a card reads from this process, it
/// carries what the receiver's card needs.
pub(super) fn start<T: Transport>(
    p: &mut Process<T>,
    id: ReqId,
    with_data: bool,
) -> Result<(), Stall> {
    let Some(Operation::Send(op)) = p.inbox.requests.get_mut(id).map(|r| &mut r.op) else {
        return Ok(());
    };
    let m = Outgoing { buf: op.buf, count: op.count, ty: &op.ty };
    let bytes = op.packed_size();
    let run = op.ty.as_run(op.count).map(|(first, _)| op.buf.wrapping_offset(first as isize));
    let address = run.map_or(0, |from| from.addr() as u64);
    let exposed = run.filter(|_| !with_data).and_then(|from| {
        // SAFETY: the program keeps its buffer until the request completes, and the memory is concealed then.
        unsafe { p.fm.transport_mut().expose(op.dst, id.number(), from, bytes) }
    });
    op.exposed |= exposed.is_some();
    let rts = Rts { address, len: bytes, request: id.number() };
    let mut head = Head::single(RTS, op.envelope);
    let (aux, rest) = match exposed {
        _ if with_data => (WITH_DATA, bytes as usize),
        Some(_) => (EXPOSED, EXPOSED_BYTES),
        None => (0, 0),
    };
    head.aux = aux;
    // If there is no credit, the memory stays exposed for the next attempt.
    p.fm.send(op.dst, head, Rts::BYTES + rest, |out| {
        let (first, rest) = out.split_at_mut(Rts::BYTES);
        rts.write(first);
        if with_data {
            // SAFETY: the program keeps its buffer until the request completes.
            unsafe { pack_all(m, rest) };
        } else if let Some(exposed) = exposed {
            rest.copy_from_slice(&protocol::exposed_to_bytes(exposed));
        }
    })?;
    if !with_data && address != 0 {
        p.inbox.offer(id);
    }
    Ok(())
}

pub(crate) fn on_packet(inbox: &mut Inbox, src: Rank, head: Head, data: &[u8]) {
    match head.handler {
        RTS => on_rts(inbox, src, head, data),
        CTS => on_cts(inbox, src, head, data),
        _ => on_fin(inbox, src, head),
    }
}

fn on_rts(inbox: &mut Inbox, src: Rank, head: Head, data: &[u8]) {
    let Some((context, tag)) = inbox.checked_context(src, head.imm) else { return };
    let Some(rts) = Rts::read(data) else {
        return inbox.violate(src, format!("an RTS of {} bytes", data.len()));
    };
    let rest = &data[Rts::BYTES..];
    let with_data = head.aux == WITH_DATA;
    let exposed = if head.aux == EXPOSED { protocol::exposed_of(rest) } else { None };
    if (with_data && rest.len() as u64 != rts.len) || (head.aux == EXPOSED && exposed.is_none()) {
        let found = rest.len();
        return inbox.violate(src, format!("{found} bytes with an RTS of {}", rts.len));
    }
    let announcement = Announcement {
        len: rts.len,
        address: rts.address,
        request: rts.request,
        exposed,
        data: with_data.then(|| rest.into()),
        stream_opened: false,
    };
    on_announcement(inbox, context, src, tag, announcement);
}

/// A message has been announced, by an RTS or by the opening of a stream: finds its receive, or keeps the
/// announcement.
pub(super) fn on_announcement(
    inbox: &mut Inbox,
    context: u32,
    src: Rank,
    tag: i32,
    announcement: Announcement,
) {
    match inbox.arrive(context, src, tag) {
        Some(id) => matched(inbox, id, src, tag, announcement),
        None => {
            let message = Unexpected { src, tag, content: Content::Announced(announcement) };
            match inbox.arrivals.blocking.accepts(context, src, tag) {
                true => inbox.arrivals.blocking.announce(message),
                false => inbox.keep(context, message),
            }
        }
    }
}

/// An announced message has matched receive `id`. Its transfer goes on the list that progress steps work
/// through; how it is fetched is chosen there.
pub(crate) fn matched(inbox: &mut Inbox, id: ReqId, src: Rank, tag: i32, a: Announcement) {
    inbox.matched(id, src, tag);
    let Some(op) = inbox.recv_op(id) else { return };
    let mut transfer = Transfer {
        src,
        request: a.request,
        len: a.len,
        done: 0,
        address: a.address,
        exposed: a.exposed,
        stream_opened: a.stream_opened,
        unreadable: false,
        method: None,
    };
    if let Some(data) = a.data {
        let fits = (data.len() as u64).min(op.packed_size()) as usize;
        // SAFETY: the program gave a buffer of `count` elements; `fits` is at most their size.
        unsafe { unpack_all(op.buf, op.count, &op.ty, &data[..fits]) };
        // Nothing is left to fetch.
        transfer.done = a.len;
    }
    op.transfer = Some(Box::new(transfer));
    inbox.transfers.push_back(id);
}

/// CTS: the receiver asks for our message, in packets or as a stream.
fn on_cts(inbox: &mut Inbox, src: Rank, head: Head, data: &[u8]) {
    let id = ReqId::from_number(head.imm);
    let theirs = protocol::read_word(data);
    match (inbox.requests.get_mut(id).map(|r| &mut r.op), theirs) {
        (Some(Operation::Send(s)), Some(theirs)) if s.dst == src && !s.streaming && !s.asked => {
            s.asked = true;
            s.streaming = head.aux == AS_STREAM;
            let what = match s.streaming {
                true => Deferred::SendStream(id),
                false => Deferred::SendPackets(id, theirs),
            };
            inbox.deferred.push_back(what);
            inbox.withdraw_offer(id);
        }
        _ => {
            let text = format!("a CTS for request {:#x}, which is not its own", head.imm);
            inbox.violate(src, text);
        }
    }
}

/// FIN: the receiver has our message, so the send is complete.
fn on_fin(inbox: &mut Inbox, src: Rank, head: Head) {
    let ours = head.imm;
    let id = ReqId::from_number(ours);
    match inbox.requests.get_mut(id).map(|r| &mut r.op) {
        Some(Operation::Send(s)) if s.dst == src && !s.streaming => {
            inbox.withdraw_offer(id);
            inbox.complete(id);
            if let READ_FAST | READ_SLOW = head.aux {
                inbox.arrivals.fresh.told(src, head.aux == READ_SLOW);
            }
        }
        _ => inbox.violate(src, format!("a FIN for request {ours:#x}, which is not its own")),
    }
}

/// Asks the sender of receive `id`'s message to send it: in packets, or as a stream if `aux` says so.
pub(crate) fn send_cts<T: Transport>(p: &mut Process<T>, id: ReqId, transfer: &Transfer, aux: u16) {
    let mut cts = Head::single(CTS, transfer.request);
    cts.aux = aux;
    p.send_control(transfer.src, cts, id.number());
}

/// The message of receive `id` is in its buffer, as far as it fits: tells the sender, and completes the
/// receive.
pub(crate) fn finish<T: Transport>(p: &mut Process<T>, id: ReqId, transfer: &Transfer) {
    finish_read(p, id, transfer, 0);
}

/// The same, with what the FIN says of how the message was read.
fn finish_read<T: Transport>(p: &mut Process<T>, id: ReqId, transfer: &Transfer, aux: u16) {
    let mut fin = Head::single(FIN, transfer.request);
    fin.aux = aux;
    p.send_control(transfer.src, fin, 0);
    p.inbox.finish_receive(id, transfer.len);
}

/// What follows an attempt to read `want` bytes of the sender's memory, which has ended with `outcome`.
pub(super) fn after_read<T: Transport>(
    p: &mut Process<T>,
    id: ReqId,
    transfer: &Transfer,
    want: u64,
    outcome: Result<(), PeerMemoryError>,
) {
    match outcome {
        Ok(()) => {
            let said = judge_read(p, transfer, want);
            finish_read(p, id, transfer, said);
        }
        Err(PeerMemoryError::NotPermitted) => {
            // The transfer begins again, and another method is chosen for it.
            if let Some(transfer) = p.inbox.transfer_mut(id) {
                (transfer.done, transfer.method, transfer.unreadable) = (0, None, true);
            }
            p.inbox.transfers.push_front(id);
        }
        // The launcher says which process died, and ends the job. An error message of ours would only
        // compete with that.
        Err(PeerMemoryError::Gone) => {}
        Err(PeerMemoryError::Failed(errno)) => {
            p.send_control(transfer.src, Head::single(FIN, transfer.request), 0);
            p.inbox.fail(id, unreadable(transfer.src, want, errno));
        }
    }
}

/// What the FIN says of how `want` bytes of a message were read, which is noted here, too; 0 where nothing follows from it.
fn judge_read<T: Transport>(p: &mut Process<T>, transfer: &Transfer, want: u64) -> u16 {
    if transfer.method != Some(ReceiveMethod::DirectRead) || want > p.thresholds.max_packets_fresh {
        return 0;
    }
    let slow = p.fm.transport().read_was_slow();
    match p.inbox.arrivals.fresh.read(transfer.src, transfer.address, slow) {
        true if slow => READ_SLOW,
        true => READ_FAST,
        false => 0,
    }
}

/// The error when `bytes` bytes in the memory of `process` could not be read.
#[cold]
pub(crate) fn unreadable(process: Rank, bytes: u64, errno: i32) -> Error {
    let why = std::io::Error::from_raw_os_error(errno);
    let text = format!("reading {bytes} bytes from the memory of process {process} failed: {why}");
    Error::new(Class::Other, text)
}
