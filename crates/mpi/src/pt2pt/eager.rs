//! A whole message in one packet, sent without a handshake.
//!
//! - start: [`start`] packs the message into the packet.
//! - on packet: [`on_packet`] finds the receive, or keeps the message until there is one.
//! - finish: [`finish`] copies the message into the receive buffer.

use crate::engine::buffer::{Outgoing, pack_all, unpack_all};
use crate::engine::inbox::Inbox;
use crate::engine::matching::{Content, Unexpected};
use crate::engine::requests::{Operation, ReqId};
use crate::pt2pt::protocol::EAGER;
use hpvm_fm::{Fm, Head, Rank, Stall, Transport};

/// Sends `m`, whose packed size is at most that of a packet.
///
/// # Safety
/// `m.buf` is valid for reads of `m.count` elements.
#[inline(always)]
pub(super) unsafe fn start<T: Transport>(
    fm: &mut Fm<T>,
    m: Outgoing<'_>,
    dst: Rank,
    envelope: u64,
) -> Result<(), Stall> {
    let head = Head::single(EAGER, envelope);
    // SAFETY: the caller's promise; `out` has the packed size of the message.
    fm.send(dst, head, m.packed_size() as usize, |out| unsafe { pack_all(m, out) })
}

#[inline]
pub(crate) fn on_packet(inbox: &mut Inbox, src: Rank, head: Head, data: &[u8]) {
    let Some((context, tag)) = inbox.checked_context(src, head.imm) else { return };
    match inbox.arrive(context, src, tag) {
        Some(id) => finish(inbox, id, src, tag, data),
        None if inbox.arrivals.blocking.accepts(context, src, tag) => {
            // SAFETY: the call that set it is still polling, and its buffer lives meanwhile.
            unsafe { inbox.arrivals.blocking.land(src, tag, data) };
            inbox.completions += 1;
        }
        None => {
            let content = Content::Eager(data.into());
            inbox.keep(context, Unexpected { src, tag, content });
        }
    }
}

/// The message matched receive `id`: copies it into the receive buffer and completes the receive.
#[inline]
pub(crate) fn finish(inbox: &mut Inbox, id: ReqId, src: Rank, tag: i32, data: &[u8]) {
    let Some(r) = inbox.requests.get_mut(id) else { return };
    let Operation::Recv(op) = &mut r.op else { return };
    r.status.source = op.comm.rank_of(src);
    r.status.tag = tag;
    let capacity = op.packed_size();
    let fits = (data.len() as u64).min(capacity) as usize;
    // SAFETY: the program gave a buffer of `count` elements; `fits` is at most their size.
    unsafe { unpack_all(op.buf, op.count, &op.ty, &data[..fits]) };
    if data.len() > fits {
        return inbox.finish_receive(id, data.len() as u64);
    }
    r.status.bytes = fits as u64;
    inbox.complete(id);
}
