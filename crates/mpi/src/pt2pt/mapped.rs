//! A long message out of memory that its sender has mapped for its host (`MPI_Alloc_mem`): the receiver
//! copies it straight from there.
//!
//! - start, finish: the handshake's ([`super::rendezvous`]): the RTS tells the address, FIN that the copy is
//!   made.
//! - advance: [`advance`] copies as much as one progress step may.

use crate::engine::buffer::unpack_part;
use crate::engine::process::Process;
use crate::engine::requests::{ReqId, Transfer};
use crate::pt2pt::rendezvous;
use hpvm_fm::Transport;

/// Copies more of the first `want` bytes of the message of receive `id`.
pub(crate) fn advance<T: Transport>(p: &mut Process<T>, id: ReqId, transfer: &Transfer, want: u64) {
    let Some(from) = p.fm.transport_mut().lent(transfer.src, transfer.address, want) else {
        // It was mapped a moment ago, and is not unmapped while this process lives.
        return rendezvous::ended(
            p,
            id,
            transfer,
            want,
            Err(hpvm_fm::PeerMemoryError::NotPermitted),
        );
    };
    let bytes = (want - transfer.done).min(p.step_left);
    p.step_left -= bytes;
    let Some(op) = p.inbox.recv_op(id) else { return };
    // SAFETY: `lent` says that all of it can be read, and its sender promised MPI not to change
    // it before the FIN. The buffer has room for `count` elements, of which `want` is at most
    // the packed size.
    unsafe {
        let data =
            core::slice::from_raw_parts(from.wrapping_add(transfer.done as usize), bytes as usize);
        unpack_part(op.buf, op.count, &op.ty, transfer.done, data);
    }
    let done = transfer.done + bytes;
    if done == want {
        return rendezvous::finish(p, id, transfer);
    }
    if let Some(transfer) = p.inbox.transfer_mut(id) {
        transfer.done = done;
    }
    p.inbox.transfers.push_front(id);
}
