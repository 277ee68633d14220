//! The short way of calls whose target's memory is mapped: loads and stores are all they need. There is nobody to be waited for, and
//! no error to be told: `None` says that nothing has been done and that the call goes the long way, which also finds out
//! what is wrong with it.

use super::atomic::is_comparable;
use super::lock;
use crate::generated::constants::*;
use crate::object::Objects;
use crate::object::win::{Peer, WinObject};
use crate::runtime::{Entered, World};
use core::ffi::{c_int, c_void};
use hpvm_mpi::rma::{Held, kinds};
use hpvm_onesided::AtomicOp;

/// Most elements of a transfer that goes this way: no predefined datatype makes as many more than a signed word of bytes.
const MAX_COUNT: MPI_Count = 1 << 32;

/// In which direction the data of a transfer go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Put,
    Get,
}

/// The arguments of a transfer.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    pub direction: Direction,
    pub origin: *mut c_void,
    pub count: MPI_Count,
    pub datatype: MPI_Datatype,
    pub rank: c_int,
    pub disp: MPI_Aint,
    pub target_count: MPI_Count,
    pub target_datatype: MPI_Datatype,
}

impl WinObject {
    /// A rank whose memory is mapped, of a window where nothing is asked of operations but by the layer below.
    #[inline(always)]
    pub(super) fn mapped_peer(&self, rank: c_int) -> Option<(usize, &Peer)> {
        let rank = usize::try_from(rank).ok()?;
        let peer = self.peers.get(rank)?;
        (self.plain && peer.target.base().is_some()).then_some((rank, peer))
    }
}

/// Where elements of a predefined datatype lie that have no holes, and how many bytes they are.
#[inline(always)]
fn run(objects: &Objects, datatype: MPI_Datatype, count: MPI_Count) -> Option<(i64, u64)> {
    let ty = objects.named_type(datatype)?;
    if (1..=MAX_COUNT).contains(&count) { ty.as_run(count) } else { None }
}

/// `MPI_Put` and `MPI_Get`.
///
/// # Safety
/// The origin's buffer is valid.
#[inline(always)]
pub(super) unsafe fn transfer(w: &mut Entered, win: MPI_Win, a: &Transfer) -> Option<()> {
    let World { process, objects, .. } = &mut **w;
    let window = objects.find_window(win)?;
    let (rank, peer) = window.mapped_peer(a.rank)?;
    let (from, len) = run(objects, a.datatype, a.count)?;
    let alike = a.datatype == a.target_datatype && a.count == a.target_count;
    let (to, room) =
        if alike { (from, len) } else { run(objects, a.target_datatype, a.target_count)? };
    let at = (a.disp as i64).checked_mul(peer.disp_unit)?;
    if len != room || at < 0 || a.origin.is_null() || !window.epochs.borrow_mut().allows(rank) {
        return None;
    }
    let local = a.origin.cast::<u8>().wrapping_offset(from as isize);
    let (offset, len) = (at.wrapping_add(to) as u64, len as usize);
    let (fm, onesided) = process.onesided();
    // SAFETY: the caller's promise; the range is checked by the layer below.
    unsafe {
        match a.direction {
            Direction::Put => onesided.put_mapped(fm, &peer.target, offset, local, len),
            Direction::Get => onesided.get_mapped(fm, &peer.target, offset, local, len),
        }
    }
}

/// What is done to which elements of a window.
pub(super) struct Element {
    pub op: MPI_Op,
    pub datatype: MPI_Datatype,
    pub rank: c_int,
    pub disp: MPI_Aint,
}

/// Updates of few elements of a predefined datatype by an operation that has been looked up before. `fetch` is null unless values are
/// fetched.
///
/// # Safety
/// `operand` is null or readable for `count` elements, and `fetch` null or writable for as many.
#[inline(always)]
pub(super) unsafe fn update(
    w: &mut Entered,
    win: MPI_Win,
    a: &Element,
    operand: *const u8,
    count: MPI_Count,
    fetch: *mut u8,
) -> Option<()> {
    let World { process, objects, .. } = &mut **w;
    let update = objects.recent_update.find(a.op, a.datatype)?;
    let window = objects.find_window(win)?;
    let (rank, peer) = window.mapped_peer(a.rank)?;
    let at = (a.disp as i64).checked_mul(peer.disp_unit)?;
    let odd = operand.is_null() || at < 0 || count < 1 || !update.native;
    if odd || update.op == AtomicOp::NoOp || !window.epochs.borrow_mut().allows(rank) {
        return None;
    }
    let (fm, onesided) = process.onesided();
    let (offset, count) = (at as u64, count as usize);
    let element = (update.kind, update.op, update.size as usize);
    // SAFETY: the caller's promise, and `native`; the range is checked by the layer below.
    unsafe { onesided.accumulate_mapped(fm, &peer.target, offset, element, operand, count, fetch) }
}

/// One element of a window that is compared and swapped, and where the values are.
pub(super) struct Swap {
    pub swap: *const c_void,
    pub compare: *const c_void,
    pub result: *mut c_void,
    pub datatype: MPI_Datatype,
    pub rank: c_int,
    pub disp: MPI_Aint,
}

/// `MPI_Compare_and_swap` of elements that the processor has.
///
/// # Safety
/// `swap` and `compare` are null or readable for an element, and `result` is null or writable.
#[inline(always)]
pub(super) unsafe fn compare_and_swap(w: &mut Entered, win: MPI_Win, a: &Swap) -> Option<()> {
    let World { process, objects, .. } = &mut **w;
    let entry = objects.named_type(a.datatype)?.as_predefined()?;
    let size = kinds::kind(entry)?.native_size().filter(|size| *size == entry.extent)?;
    let window = objects.find_window(win)?;
    let (rank, peer) = window.mapped_peer(a.rank)?;
    let at = (a.disp as i64).checked_mul(peer.disp_unit)?;
    let odd = a.swap.is_null() || a.compare.is_null() || a.result.is_null() || at < 0;
    if odd || !is_comparable(entry) || !window.epochs.borrow_mut().allows(rank) {
        return None;
    }
    let (fm, onesided) = process.onesided();
    let (compare, swap, result) = (a.compare.cast(), a.swap.cast(), a.result.cast());
    // SAFETY: the caller's promise; the range is checked by the layer below.
    unsafe { onesided.swap_mapped(fm, &peer.target, (at as u64, size), compare, swap, result) }
}

/// `MPI_Win_flush` and `MPI_Win_flush_local`: operations on mapped memory are complete when they return, so that what is left is the order
/// among them.
#[inline(always)]
pub(super) fn flush(w: &mut Entered, rank: c_int, win: MPI_Win) -> Option<()> {
    let window = w.objects.find_window(win)?;
    let (rank, _) = window.mapped_peer(rank)?;
    if !window.epochs.borrow().is_passive(rank) {
        return None;
    }
    w.process.onesided().1.fence();
    Some(())
}

/// `MPI_Win_lock` where nobody has the lock in a way that this excludes.
#[inline(always)]
pub(super) fn lock(
    w: &mut Entered,
    lock_type: c_int,
    rank: c_int,
    assert: c_int,
    win: MPI_Win,
) -> Option<()> {
    let window = w.objects.find_window(win)?;
    let held = match (lock_type, assert) {
        (MPI_LOCK_SHARED, 0) => Held::Shared,
        (MPI_LOCK_EXCLUSIVE, 0) => Held::Exclusive,
        (MPI_LOCK_SHARED | MPI_LOCK_EXCLUSIVE, MPI_MODE_NOCHECK) => Held::Unchecked,
        _ => return None,
    };
    let rank = usize::try_from(rank).ok()?;
    let words = window.peers.get(rank)?.lock_words()?;
    let mut epochs = window.epochs.borrow_mut();
    let free = || held == Held::Unchecked || words.try_lock(held == Held::Exclusive);
    if !window.locks || !epochs.may_lock(rank) || !free() {
        return None;
    }
    epochs.locked(rank, held);
    Some(())
}

/// `MPI_Win_unlock`. Loads and stores come before the release of the lock.
#[inline(always)]
pub(super) fn unlock(w: &mut Entered, rank: c_int, win: MPI_Win) -> Option<()> {
    let window = w.objects.find_window(win)?;
    let (rank, peer) = window.mapped_peer(rank)?;
    let words = peer.lock_words()?;
    let mut epochs = window.epochs.borrow_mut();
    let held = epochs.given_back_by_unlock(rank)?;
    epochs.unlocked(rank);
    if held == Held::Unchecked {
        drop(epochs);
        w.process.onesided().1.fence();
        return Some(());
    }
    let change = words.release(held == Held::Exclusive);
    if !change.is_none() {
        drop(epochs);
        let window = window.clone();
        lock::wake(w, &window, rank, change);
    }
    Some(())
}
