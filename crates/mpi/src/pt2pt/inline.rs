//! A short message in a slot of the receiver's ring. Most messages are such; the code is small enough to be
//! compiled into `MPI_Send`.
//!
//! - start: [`start`] copies the message into the receiver's slot. Nothing is left to be done.
//! - on packet, finish: those of [`super::eager`], because the packet is the same. A blocking receive that
//!   polls takes the message directly ([`super::blocking`]).

use crate::engine::buffer::Outgoing;
use crate::engine::process::Process;
use crate::pt2pt::protocol::{self, EAGER};
use hpvm_fm::{Head, Rank, Transport};

/// Sends `m` if it fits in a slot, lies in one run of memory, and no earlier send to `dst` waits. False:
/// nothing has happened.
///
/// # Safety
/// `m.buf` is valid for reads of `m.count` elements.
#[inline(always)]
pub(super) unsafe fn start<T: Transport>(
    p: &mut Process<T>,
    m: Outgoing<'_>,
    dst: Rank,
    context: u32,
    tag: i32,
) -> bool {
    let bytes = m.packed_size();
    if bytes > p.fm.limits().inline as u64 {
        return false;
    }
    if p.backlog.bars_inline(dst) {
        // SAFETY: the caller's promise; it fits.
        return unsafe { start_counted(p, m, bytes, dst, protocol::envelope(context, tag)) };
    }
    // SAFETY: the caller's promise; it fits.
    unsafe { send_inline(p, m, bytes, dst, protocol::envelope(context, tag)) }
}

/// The same in a process that counts what it sends to whom. Such a process sends every short message here.
///
/// # Safety
/// As for [`send_inline`].
#[cold]
#[inline(never)]
pub(super) unsafe fn start_counted<T: Transport>(
    p: &mut Process<T>,
    m: Outgoing<'_>,
    bytes: u64,
    dst: Rank,
    envelope: u64,
) -> bool {
    if !p.backlog.only_counts() {
        return false;
    }
    // SAFETY: the caller's promise.
    let sent = unsafe { send_inline(p, m, bytes, dst, envelope) };
    if sent {
        // Counted after the send, so that the receiver does not wait for the counting.
        p.count_sent(dst, 1, bytes);
    }
    sent
}

/// Sends `m`, whose `bytes` bytes fit in a slot, if it lies in one run of memory and there is a credit.
/// False: nothing has happened.
///
/// # Safety
/// `m.buf` is valid for reads of `m.count` elements.
#[inline(always)]
pub(super) unsafe fn send_inline<T: Transport>(
    p: &mut Process<T>,
    m: Outgoing<'_>,
    bytes: u64,
    dst: Rank,
    envelope: u64,
) -> bool {
    let Some((first, _)) = m.ty.as_run(m.count) else { return false };
    let from = m.buf.wrapping_offset(first as isize);
    let head = Head::single(EAGER, envelope);
    // SAFETY: the elements form one run of `out.len()` bytes from `first` on.
    let fill = |out: &mut [u8]| unsafe { hpvm_copy::short(from, out.as_mut_ptr(), out.len()) };
    p.fm.send(dst, head, bytes as usize, fill).is_ok()
}
