//! A long message in memory of `MPI_Alloc_mem`, which all ranks of the host can map: the receiver copies it
//! straight from there, without a system call.
//!
//! - start, finish: those of the handshake ([`super::rendezvous`]): the RTS tells the address, and the FIN says
//!   that the copy is made.
//! - advance: [`advance`] copies as many bytes as one progress step may copy.

use crate::engine::buffer::unpack_part;
use crate::engine::process::Process;
use crate::engine::requests::{ReqId, Transfer};
use crate::pt2pt::rendezvous;
use hpvm_fm::Transport;
use hpvm_wire::counters::add;

/// Goes on copying the first `want` bytes of the message of receive `id`, and ends the transfer when it has
/// all of them.
pub(crate) fn advance<T: Transport>(p: &mut Process<T>, id: ReqId, transfer: &Transfer, want: u64) {
    let Some(from) = p.fm.transport_mut().mapped(transfer.src, transfer.address, want) else {
        // Can't happen: the memory was mapped when this method was chosen, and is never unmapped.
        return rendezvous::after_read(
            p,
            id,
            transfer,
            want,
            Err(hpvm_fm::PeerMemoryError::NotPermitted),
        );
    };
    let bytes = (want - transfer.done).min(p.step_left);
    p.step_left -= bytes;
    if let Some(counters) = p.fm.counters() {
        add(&counters.bytes_mapped, bytes);
    }
    let Some(op) = p.inbox.recv_op(id) else { return };
    // SAFETY: `mapped` says that all of it can be read, and its sender promised MPI not to change
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
