//! A long message that a network card reads out of the sender's memory, between hosts (RDMA).
//!
//! - start: an RTS announces the message and says what the card needs ([`super::rendezvous`]). When a receive has matched,
//!   [`start`] lets the transport read.
//! - finish: [`finish`], when the transport says that the read has ended. A FIN tells the sender that all has been read. A read
//!   that has failed is begun again another way: the sender is asked for the message as if it had not exposed it.

use crate::engine::process::Process;
use crate::engine::requests::{ReqId, Transfer};
use crate::pt2pt::rendezvous;
use hpvm_fm::{PeerMemoryError, Rank, Transport};

/// Whether a card may write the message of receive `id` where it belongs: into one run of memory.
pub(crate) fn is_possible<T: Transport>(p: &mut Process<T>, id: ReqId, src: Rank) -> bool {
    p.fm.transport().has_rdma(src)
        && p.inbox.recv_op(id).is_some_and(|op| op.ty.as_run(op.count).is_some())
}

/// Lets the transport read the first `want` bytes of the message of receive `id`.
pub(crate) fn start<T: Transport>(p: &mut Process<T>, id: ReqId, transfer: &Transfer, want: u64) {
    let Some(op) = p.inbox.recv_op(id) else { return };
    let (Some((first, _)), Some(exposed)) = (op.ty.as_run(op.count), transfer.exposed) else {
        return refused(p, id, transfer, want);
    };
    let to = op.buf.wrapping_offset(first as isize);
    // SAFETY: the program keeps its buffer until the request completes, after the read; its elements are one run of at least
    // `want` bytes.
    if !unsafe { p.fm.transport_mut().rdma_read(transfer.src, exposed, (to, want), id.number()) } {
        refused(p, id, transfer, want);
    }
}

/// The read of the message of receive `id` has ended.
pub(crate) fn finish<T: Transport>(p: &mut Process<T>, id: ReqId, well: bool) {
    let Some(transfer) = p.inbox.transfer_mut(id).map(|transfer| *transfer) else { return };
    if well {
        rendezvous::finish(p, id, &transfer);
    } else {
        refused(p, id, &transfer, transfer.len);
    }
}

fn refused<T: Transport>(p: &mut Process<T>, id: ReqId, transfer: &Transfer, want: u64) {
    rendezvous::after_read(p, id, transfer, want, Err(PeerMemoryError::NotPermitted));
}
