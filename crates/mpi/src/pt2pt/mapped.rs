//! Large messages out of memory that their sender lends (`MPI_Alloc_mem`): the receiver copies them
//! straight from there.
//!
//! The protocol is the ordinary one: an RTS tells the address, and FIN that the copy is made. What is
//! not lent is read by the kernel's help, where that is faster than a second copy.

use crate::engine::process::Process;
use crate::engine::requests::{ReqId, Transfer};
use crate::pt2pt::unpack_all;
use hpvm_coll::select::Copies;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::counters::add;

impl<T: Transport> Process<T> {
    /// Copies the first `want` packed bytes of the message of receive `id`, if its sender lends
    /// them. False: nothing has happened.
    pub(crate) fn copy_lent(&mut self, id: ReqId, transfer: &Transfer, want: u64) -> bool {
        if transfer.address == 0 || want < self.fm.transport().min_mapped() {
            return false;
        }
        let Some(from) = self.fm.transport_mut().mapped(transfer.src, transfer.address, want)
        else {
            return false;
        };
        if let Some(counters) = self.fm.counters() {
            add(&counters.bytes_mapped, want);
        }
        let Some(op) = self.inbox.recv_op(id) else { return true };
        // SAFETY: `mapped` says that all of it can be read, and its sender promised MPI not to change
        // it before the FIN. The buffer has room for `count` elements, of which `want` is at most
        // the packed size.
        unsafe {
            let data = core::slice::from_raw_parts(from, want as usize);
            unpack_all(op.buf, op.count, &op.ty, data);
        }
        true
    }

    /// Whether a message of so many bytes is to be read out of the memory of `src`.
    pub(crate) fn pulls(&self, src: Rank, bytes: u64) -> bool {
        let transport = self.fm.transport();
        let bytes = bytes.try_into().unwrap_or(i64::MAX);
        match self.select.copies(transport.size(), bytes) {
            Some(Copies::One) => transport.can_read(src),
            Some(Copies::Two) => false,
            None => transport.read_pays(src),
        }
    }
}
