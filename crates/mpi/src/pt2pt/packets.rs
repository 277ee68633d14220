//! A long message in `DATA` packets, which its receiver has asked for by a CTS. For messages that can't be
//! read out of the sender's memory, or should not be.
//!
//! - start: [`start`], when the CTS has come.
//! - advance: [`advance`] sends as many packets as there are credits and buffers for.
//! - on packet: [`on_packet`] stores the bytes.
//! - finish: the last packet completes the send when it goes out, and the receive when it comes. There is no
//!   FIN.

use crate::engine::backlog::InPackets;
use crate::engine::buffer::{Outgoing, pack_part, packed_size};
use crate::engine::inbox::Inbox;
use crate::engine::process::Process;
use crate::engine::requests::{Operation, RecvOp, ReqId};
use crate::pt2pt::protocol::DATA;
use crate::pt2pt::select::ReceiveMethod;
use hpvm_fm::{Head, Rank, Transport};

/// The receiver has asked for the message of send `id`; `receiver` is the number of its request.
pub(crate) fn start<T: Transport>(p: &mut Process<T>, id: ReqId, receiver: u64) {
    p.backlog.packets.push(InPackets { request: id, receiver, position: 0 });
}

/// Goes on sending all such messages. True when something went out.
pub(crate) fn advance<T: Transport>(p: &mut Process<T>) -> bool {
    let mut moved = false;
    let mut index = 0;
    while index < p.backlog.packets.len() {
        let before = p.backlog.packets[index].position;
        let ended = push(p, index);
        moved |= ended || p.backlog.packets[index].position != before;
        if ended {
            let message = p.backlog.packets.swap_remove(index);
            p.inbox.complete(message.request);
        } else {
            index += 1;
        }
    }
    moved
}

/// Sends packets of one message until it ends (true), must wait, or the progress step has copied enough.
fn push<T: Transport>(p: &mut Process<T>, index: usize) -> bool {
    let message = &mut p.backlog.packets[index];
    let Some(Operation::Send(op)) = p.inbox.requests.get(message.request).map(|r| &r.op) else {
        return true;
    };
    let total = op.packed_size();
    let m = Outgoing { buf: op.buf, count: op.count, ty: &op.ty };
    let packet = p.fm.limits().packet as u64;
    let fragments = p.fm.transport().max_fragmented(op.dst);
    while message.position < total {
        if p.step_left == 0 {
            return false;
        }
        let (at, left) = (message.position, total - message.position);
        let head = Head { handler: DATA, flags: 0, aux: 0, imm: message.receiver };
        // SAFETY: the program keeps its buffer of `count` elements until the request
        // completes; the transport asks for parts of the message only.
        let fill = |from, out: &mut [u8], bypass| unsafe { pack_part(m, from, out, bypass) };
        let mut n = fragments.min(left);
        let in_fragments = left > packet && n > 0 && {
            let fill = |from, out: &mut [u8], bypass| fill(at + from as u64, out, bypass);
            p.fm.send_fragments(op.dst, None, head, n as usize, fill).is_ok()
        };
        if !in_fragments {
            // No frames for several fragments: there may be one for a packet.
            n = packet.min(left);
            let bypass = p.fm.transport().stores_are_slow(op.dst);
            if p.fm.send(op.dst, head, n as usize, |out| fill(at, out, bypass)).is_err() {
                return false;
            }
        }
        message.position += n;
        p.step_left = p.step_left.saturating_sub(n);
    }
    true
}

pub(crate) fn on_packet(inbox: &mut Inbox, src: Rank, head: Head, data: &[u8]) {
    let id = ReqId::from_number(head.imm);
    let (done, len) = match inbox.requests.get_mut(id).map(|r| &mut r.op) {
        Some(Operation::Recv(RecvOp { transfer: Some(t), buf, count, ty, .. }))
            if t.src == src
                && t.method == Some(ReceiveMethod::Packets)
                && t.done + data.len() as u64 <= t.len =>
        {
            let capacity = packed_size(ty, *count);
            let fits = (data.len() as u64).min(capacity.saturating_sub(t.done)) as usize;
            // SAFETY: the program gave a buffer of `count` elements; `done + fits` is at most
            // their packed size.
            unsafe { ty.unpack(*buf, *count, t.done, &data[..fits]) };
            t.done += data.len() as u64;
            (t.done, t.len)
        }
        _ => {
            let text = format!("{} bytes for a receive that does not expect them", data.len());
            return inbox.violate(src, text);
        }
    };
    if done == len {
        inbox.finish_receive(id, len);
    }
}
