//! How the bytes of an announced message come: out of memory that its sender lends, by the kernel's help
//! out of its own, or in packets and streams that it is asked for.

use crate::engine::process::Process;
use crate::engine::requests::{ReqId, Transfer};
use crate::error::{Class, Error};
use crate::pt2pt::Incoming;
use crate::pt2pt::protocol::{self, CTS, FIN};
use hpvm_fm::{Head, PeerMemoryError, Rank, Transport};

impl<T: Transport> Process<T> {
    /// Starts to move an announced message whose receive has matched.
    pub(crate) fn start_transfer(&mut self, id: ReqId) {
        let Some((transfer, capacity)) = self.inbox.transfer(id) else { return };
        let want = transfer.len.min(capacity);
        if transfer.streams {
            return self.stream_in(id, &transfer);
        }
        if want == 0 {
            return self.finish_transfer(id, transfer);
        }
        if self.copy_lent(id, &transfer, want) {
            return self.finish_transfer(id, transfer);
        }
        if transfer.address == 0 || !self.pulls(transfer.src, want) {
            return self.ask_for(id, &transfer);
        }
        if !self.open_duet(id, &transfer, want) {
            let outcome = self.pull(id, &transfer, want);
            self.pulled(id, transfer, want, outcome);
        }
    }

    /// The sender is to send the message in packets or as a stream.
    fn ask_for(&mut self, id: ReqId, transfer: &Transfer) {
        let mut cts = Head::single(CTS, transfer.request);
        if self.fm.transport().can_stream(transfer.src, transfer.len) {
            self.stream_in(id, transfer);
            cts.aux = protocol::STREAM;
        } else if let Some(transfer) = self.inbox.recv_op(id).and_then(|op| op.transfer.as_mut()) {
            transfer.asked = true;
        }
        self.send_control(transfer.src, cts, id.number());
    }

    /// What follows when `want` bytes have been read from the sender's memory, or have not.
    pub(crate) fn pulled(
        &mut self,
        id: ReqId,
        transfer: Transfer,
        want: u64,
        outcome: Result<(), PeerMemoryError>,
    ) {
        match outcome {
            Ok(()) => self.finish_transfer(id, transfer),
            Err(PeerMemoryError::NotPermitted) => self.ask_for(id, &transfer),
            // The launcher says which process died, and ends the job. A word of ours would stand beside
            // that, or instead of it.
            Err(PeerMemoryError::Gone) => {}
            Err(PeerMemoryError::Failed(errno)) => {
                self.send_control(transfer.src, Head::single(FIN, transfer.request), 0);
                self.inbox.fail(id, unreadable(transfer.src, want, errno));
            }
        }
    }

    /// Copies `want` packed bytes from the sender's memory into the receive buffer.
    fn pull(&mut self, id: ReqId, transfer: &Transfer, want: u64) -> Result<(), PeerMemoryError> {
        let Some(op) = self.inbox.recv_op(id) else { return Ok(()) };
        let to = Incoming { buf: op.buf, count: op.count, ty: &op.ty };
        let (transport, bounce) = (self.fm.transport_mut(), &mut self.bounce);
        // SAFETY: the program gave a buffer of `count` elements, whose size is at least `want`.
        unsafe { elements(transport, bounce, transfer.src, transfer.address, to, want) }
    }

    /// Copies `want` packed bytes at `address` in the memory of `src` to the elements `to`.
    ///
    /// # Safety
    /// The buffer is valid for writes of its elements, whose packed size is at least `want`.
    pub(crate) unsafe fn pull_elements(
        &mut self,
        src: Rank,
        address: u64,
        to: Incoming<'_>,
        want: u64,
    ) -> Result<(), PeerMemoryError> {
        // SAFETY: the caller's promise.
        unsafe { elements(self.fm.transport_mut(), &mut self.bounce, src, address, to, want) }
    }

    fn finish_transfer(&mut self, id: ReqId, transfer: Transfer) {
        self.send_control(transfer.src, Head::single(FIN, transfer.request), 0);
        self.inbox.finish_receive(id, transfer.len);
    }
}

/// [`Process::pull_elements`], with `bounce` for what has to be unpacked.
///
/// # Safety
/// As for that.
unsafe fn elements<T: Transport>(
    transport: &mut T,
    bounce: &mut Vec<u8>,
    src: Rank,
    address: u64,
    to: Incoming<'_>,
    want: u64,
) -> Result<(), PeerMemoryError> {
    if let Some((first, _)) = to.ty.as_run(to.count) {
        let local = to.buf.wrapping_offset(first as isize);
        // SAFETY: the elements form one run of bytes from `first` on; `want` is at most their size.
        return unsafe { transport.pull(src, address, local, want as usize) };
    }
    const CHUNK: u64 = 64 * 1024;
    bounce.resize(CHUNK as usize, 0);
    let mut position = 0;
    while position < want {
        let n = CHUNK.min(want - position) as usize;
        let from = address.wrapping_add(position);
        // SAFETY: `bounce` holds `CHUNK` bytes; the buffer holds `count` elements and
        // `position + n` is at most their packed size.
        unsafe {
            transport.pull(src, from, bounce.as_mut_ptr(), n)?;
            to.ty.unpack(to.buf, to.count, position, &bounce[..n]);
        }
        position += n as u64;
    }
    Ok(())
}

/// The error of one who could not read `bytes` bytes in the memory of `process`.
#[cold]
pub(crate) fn unreadable(process: Rank, bytes: u64, errno: i32) -> Error {
    let why = std::io::Error::from_raw_os_error(errno);
    let text = format!("reading {bytes} bytes from the memory of process {process} failed: {why}");
    Error::new(Class::Other, text)
}
