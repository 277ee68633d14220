//! `MPI_Win_fence` and `MPI_Win_sync` (sections 12.5.1 and 12.5.5).

use super::{check_assert, flush, on_win, window};
use crate::body::agree;
use crate::generated::constants::*;
use core::ffi::c_int;

pub unsafe fn win_fence(assert: c_int, win: MPI_Win) -> c_int {
    const KNOWN: c_int =
        MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    on_win("MPI_Win_fence", win, |w| {
        let window = window(w, win)?;
        check_assert(assert, KNOWN)?;
        window.epochs.borrow().check_fence()?;
        window.compare_calls(w, "MPI_Win_fence")?;
        let flushed = flush::everywhere(w, &window);
        let ordered = window.check_all_origins(w);
        let comm = window.comm;
        w.outside(|| agree::barrier(comm))?;
        let (_, onesided) = w.process.onesided();
        onesided.fence();
        window.epochs.borrow_mut().fenced(assert & MPI_MODE_NOSUCCEED == 0);
        flushed.and(ordered)
    })
}

pub unsafe fn win_sync(win: MPI_Win) -> c_int {
    on_win("MPI_Win_sync", win, |w| {
        w.objects.window(win)?;
        // One copy of the memory (`MPI_WIN_UNIFIED`), so that order is all there is to do. A program that polls
        // memory which others change by messages relies on progress here.
        let (_, onesided) = w.process.onesided();
        onesided.fence();
        w.glance()
    })
}
