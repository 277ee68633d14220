//! `MPI_Win_flush` and its kin (section 12.5.4).

use super::{on_win, refused, wait_for_ops, window};
use crate::generated::constants::*;
use crate::object::win::WinObject;
use crate::runtime::{Entered, World};
use core::ffi::c_int;
use hpvm_mpi::error::Result;
use hpvm_onesided::OpId;
use std::rc::Rc;

/// Starts the completion of what this rank has started at `rank`.
#[inline]
fn begin(w: &mut Entered, window: &WinObject, rank: usize) -> Result<Option<OpId>> {
    let (fm, onesided) = w.process.onesided();
    let begun = onesided.flush(fm, &window.peers[rank].target);
    begun.map_err(|failure| refused(window, rank, &failure))
}

/// Waits until all operations of this rank at `rank` have taken effect there, and `tell`s it so: before that is known, where what is sent
/// to it arrives later anyhow.
pub(super) fn one_and_tell(
    w: &mut Entered,
    window: &WinObject,
    rank: usize,
    tell: impl FnOnce(&mut Entered),
) -> Result<()> {
    let begun = begin(w, window, rank);
    if w.process.onesided().1.precedes(&window.peers[rank].target) {
        tell(w);
        return end(w, window, rank, begun);
    }
    let flushed = end(w, window, rank, begun);
    tell(w);
    flushed
}

/// Waits for a flush that has begun, if there is one.
fn end(
    w: &mut Entered,
    window: &WinObject,
    rank: usize,
    begun: Result<Option<OpId>>,
) -> Result<()> {
    match begun? {
        None => Ok(()),
        Some(op) => finish(w, window, &[(rank, op)]),
    }
}

/// Waits for flushes that have begun.
fn finish(w: &mut Entered, window: &WinObject, begun: &[(usize, OpId)]) -> Result<()> {
    let ops: Vec<OpId> = begun.iter().map(|(_, op)| *op).collect();
    wait_for_ops(w, &ops)?;
    let (_, onesided) = w.process.onesided();
    let mut result = Ok(());
    for (rank, op) in begun {
        if let Err(failure) = onesided.forget(*op) {
            result = result.and(Err(refused(window, *rank, &failure)));
        }
    }
    result
}

/// Completes the epoch in which this rank has accessed the given ones, also where it fails for some of them: waits until all that they are
/// not told of by a packet behind it has taken effect there, and `tell`s those to whom what is sent arrives later anyhow before that is
/// known.
pub(super) fn these_and_tell(
    w: &mut Entered,
    window: &WinObject,
    ranks: impl Iterator<Item = usize>,
    mut tell: impl FnMut(&mut Entered, usize),
) -> Result<()> {
    let (mut begun, mut result) = (Vec::new(), Ok(()));
    for rank in ranks {
        let (fm, onesided) = w.process.onesided();
        match onesided.flush_before_notice(fm, &window.peers[rank].target) {
            Ok(op) => begun.extend(op.map(|op| (rank, op))),
            Err(failure) => result = result.and(Err(refused(window, rank, &failure))),
        }
        if w.process.onesided().1.precedes(&window.peers[rank].target) {
            tell(w, rank);
        }
    }
    if begun.is_empty() { result } else { result.and(finish(w, window, &begun)) }
}

/// Waits until all operations of this rank have taken effect everywhere.
pub(super) fn everywhere(w: &mut Entered, window: &WinObject) -> Result<()> {
    let (_, onesided) = w.process.onesided();
    onesided.fence();
    let far = (0..window.peers.len()).filter(|rank| !window.is_mapped(*rank));
    let (mut begun, mut result) = (Vec::new(), Ok(()));
    for rank in far {
        match begin(w, window, rank) {
            Ok(op) => begun.extend(op.map(|op| (rank, op))),
            Err(error) => result = result.and(Err(error)),
        }
    }
    if begun.is_empty() { result } else { result.and(finish(w, window, &begun)) }
}

/// Where operations are complete for the program: remote completion costs nothing where memory is mapped, so that
/// there is one way for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Local,
    Remote,
}

#[inline(always)]
fn flush<const LOCAL: bool>(rank: c_int, win: MPI_Win) -> c_int {
    let (function, extent) = match LOCAL {
        true => ("MPI_Win_flush_local", Extent::Local),
        false => ("MPI_Win_flush", Extent::Remote),
    };
    on_win(function, win, |w| match super::plain::flush(w, rank, win) {
        Some(()) => Ok(()),
        None => long_flush(w, function, rank, win, extent),
    })
}

#[inline(never)]
fn long_flush(
    w: &mut Entered,
    function: &'static str,
    rank: c_int,
    win: MPI_Win,
    extent: Extent,
) -> Result<()> {
    let World { process, objects, .. } = &mut **w;
    let window = objects.window(win)?;
    let Some(rank) = window.rank_of(rank)? else { return Ok(()) };
    window.epochs.borrow().passive(rank, function)?;
    let (fm, onesided) = process.onesided();
    let begun = onesided.flush(fm, &window.peers[rank].target);
    if let Ok(None) = begun {
        return window.check_uses(rank..rank + 1, extent);
    }
    let window = window.clone();
    await_one(w, &window, rank, begun)?;
    window.check_uses(rank..rank + 1, extent)
}

/// A flush that is not done when it has begun, or has failed.
#[cold]
fn await_one(
    w: &mut Entered,
    window: &WinObject,
    rank: usize,
    begun: hpvm_onesided::Result<Option<OpId>>,
) -> Result<()> {
    match begun.map_err(|failure| refused(window, rank, &failure))? {
        Some(op) => finish(w, window, &[(rank, op)]),
        None => Ok(()),
    }
}

fn flush_all(function: &'static str, win: MPI_Win, extent: Extent) -> c_int {
    on_win(function, win, |w| {
        let window: Rc<WinObject> = window(w, win)?;
        window.epochs.borrow().any_passive(function)?;
        everywhere(w, &window)?;
        window.check_uses(0..window.peers.len(), extent)
    })
}

pub unsafe fn win_flush(rank: c_int, win: MPI_Win) -> c_int {
    flush::<false>(rank, win)
}

pub unsafe fn win_flush_local(rank: c_int, win: MPI_Win) -> c_int {
    flush::<true>(rank, win)
}

pub unsafe fn win_flush_all(win: MPI_Win) -> c_int {
    flush_all("MPI_Win_flush_all", win, Extent::Remote)
}

pub unsafe fn win_flush_local_all(win: MPI_Win) -> c_int {
    flush_all("MPI_Win_flush_local_all", win, Extent::Local)
}
