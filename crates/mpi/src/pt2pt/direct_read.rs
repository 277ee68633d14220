//! A long message that the receiver reads out of the sender's memory (cross-memory attach): one copy, without
//! the sender's help.
//!
//! - start, finish: those of the handshake ([`super::rendezvous`]): an RTS announces the message, and a FIN
//!   tells the sender that all has been read.
//! - advance: [`advance`] reads as many bytes as one progress step may copy.

use crate::engine::buffer::Incoming;
use crate::engine::process::Process;
use crate::engine::requests::{ReqId, Transfer};
use crate::pt2pt::rendezvous;
use hpvm_coll::select::Copies;
use hpvm_fm::{PeerMemoryError, Rank, Transport};

/// Bytes that are read at a time into the bounce buffer when the receive buffer has holes.
const BOUNCE: u64 = 64 * 1024;

/// Goes on reading the first `want` bytes of the message of receive `id`, and ends the transfer when it has
/// all of them.
pub(crate) fn advance<T: Transport>(p: &mut Process<T>, id: ReqId, transfer: &Transfer, want: u64) {
    let bytes = (want - transfer.done).min(p.step_left);
    p.step_left -= bytes;
    let Some(op) = p.inbox.recv_op(id) else { return };
    let to = Incoming { buf: op.buf, count: op.count, ty: &op.ty };
    let (transport, bounce) = (p.fm.transport_mut(), &mut p.bounce);
    let part = (transfer.done, bytes);
    // SAFETY: the program gave a buffer of `count` elements, whose size is at least `want`.
    let outcome = unsafe { elements(transport, bounce, transfer.src, transfer.address, to, part) };
    let done = transfer.done + bytes;
    if outcome.is_err() || done == want {
        return rendezvous::after_read(p, id, transfer, want, outcome);
    }
    if let Some(transfer) = p.inbox.transfer_mut(id) {
        transfer.done = done;
    }
    p.inbox.transfers.push_front(id);
}

impl<T: Transport> Process<T> {
    /// Whether a message of so many bytes should be read out of the memory of `src` rather than copied twice:
    /// as `hpvm tune` has measured, or as the transport says.
    pub(crate) fn prefers_read(&self, src: Rank, bytes: u64) -> bool {
        let transport = self.fm.transport();
        let bytes = bytes.try_into().unwrap_or(i64::MAX);
        match self.select.copies(transport.size(), bytes) {
            Some(Copies::One) => transport.can_read(src),
            Some(Copies::Two) => false,
            None => transport.read_pays(src),
        }
    }

    /// Copies `want` packed bytes at `address` in the memory of `src` to the elements `to`.
    ///
    /// # Safety
    /// The buffer is valid for writes of its elements, whose packed size is at least `want`.
    pub(crate) unsafe fn read_elements(
        &mut self,
        src: Rank,
        address: u64,
        to: Incoming<'_>,
        want: u64,
    ) -> Result<(), PeerMemoryError> {
        let (transport, bounce) = (self.fm.transport_mut(), &mut self.bounce);
        // SAFETY: the caller's promise.
        unsafe { elements(transport, bounce, src, address, to, (0, want)) }
    }
}

/// Copies `bytes` packed bytes from `position` on of the message at `address`, with `bounce` for what has to
/// be unpacked.
///
/// # Safety
/// The buffer is valid for writes of its elements, whose packed size is at least `position + bytes`.
unsafe fn elements<T: Transport>(
    transport: &mut T,
    bounce: &mut Vec<u8>,
    src: Rank,
    address: u64,
    to: Incoming<'_>,
    (mut position, bytes): (u64, u64),
) -> Result<(), PeerMemoryError> {
    if let Some((first, _)) = to.ty.as_run(to.count) {
        let local = to.buf.wrapping_offset(first as isize).wrapping_add(position as usize);
        let remote = address.wrapping_add(position);
        // SAFETY: the elements form one run of bytes from `first` on, of which these are a part.
        return unsafe { transport.read(src, remote, local, bytes as usize) };
    }
    bounce.resize(BOUNCE as usize, 0);
    let end = position + bytes;
    while position < end {
        let n = BOUNCE.min(end - position) as usize;
        let from = address.wrapping_add(position);
        // SAFETY: `bounce` holds `BOUNCE` bytes; the buffer holds `count` elements and
        // `position + n` is at most their packed size.
        unsafe {
            transport.read(src, from, bounce.as_mut_ptr(), n)?;
            to.ty.unpack(to.buf, to.count, position, &bounce[..n]);
        }
        position += n as u64;
    }
    Ok(())
}
