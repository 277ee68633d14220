//! `MPI_Win_flush` and its kin (section 12.5.4).

use super::{on_win, refused, wait_for_ops, window};
use crate::generated::constants::*;
use crate::object::win::WinObject;
use crate::runtime::Entered;
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

/// Waits until all operations of this rank at `rank` have taken effect there.
#[inline]
pub(super) fn one(w: &mut Entered, window: &WinObject, rank: usize) -> Result<()> {
    match begin(w, window, rank)? {
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

/// As `one`, for the given ranks, all at a time.
pub(super) fn these(
    w: &mut Entered,
    window: &WinObject,
    ranks: impl Iterator<Item = usize>,
) -> Result<()> {
    let mut begun = Vec::new();
    for rank in ranks {
        begun.extend(begin(w, window, rank)?.map(|op| (rank, op)));
    }
    if begun.is_empty() { Ok(()) } else { finish(w, window, &begun) }
}

/// As `one`, for all ranks.
pub(super) fn everywhere(w: &mut Entered, window: &WinObject) -> Result<()> {
    let (_, onesided) = w.process.onesided();
    onesided.fence();
    these(w, window, (0..window.peers.len()).filter(|rank| !window.is_mapped(*rank)))
}

/// Where operations are complete for the program: remote completion costs nothing where memory is mapped, so that
/// there is one way for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Local,
    Remote,
}

fn flush(function: &'static str, rank: c_int, win: MPI_Win, extent: Extent) -> c_int {
    on_win(function, win, |w| {
        let window = window(w, win)?;
        match window.rank_of(rank)? {
            Some(rank) => {
                window.epochs.borrow().passive(rank, function)?;
                one(w, &window, rank)?;
                window.check_uses(rank..rank + 1, extent)
            }
            None => Ok(()),
        }
    })
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
    flush("MPI_Win_flush", rank, win, Extent::Remote)
}

pub unsafe fn win_flush_local(rank: c_int, win: MPI_Win) -> c_int {
    flush("MPI_Win_flush_local", rank, win, Extent::Local)
}

pub unsafe fn win_flush_all(win: MPI_Win) -> c_int {
    flush_all("MPI_Win_flush_all", win, Extent::Remote)
}

pub unsafe fn win_flush_local_all(win: MPI_Win) -> c_int {
    flush_all("MPI_Win_flush_local_all", win, Extent::Local)
}
