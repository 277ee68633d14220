//! Post, start, complete, wait: synchronisation of some ranks by notices (section 12.5.2).

use super::flush::Extent;
use super::{check_assert, flush, on_win, wait_for_ranks, window};
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::win::WinObject;
use crate::runtime::{Entered, World};
use core::ffi::c_int;
use hpvm_mpi::error::Result;
use hpvm_mpi::rma::notice::Notice;
use hpvm_mpi::{Class, Group};
use std::sync::Arc;

/// The ranks in the window of a group's members, ascending.
fn ranks_of(window: &WinObject, group: Arc<Group>) -> Result<Arc<[u32]>> {
    if let Some((last, ranks)) = &window.sync.borrow().last_group
        && Arc::ptr_eq(last, &group)
    {
        return Ok(ranks.clone());
    }
    let ranks = look_up(window, &group)?;
    window.sync.borrow_mut().last_group = Some((group, ranks.clone()));
    Ok(ranks)
}

#[cold]
fn look_up(window: &WinObject, group: &Group) -> Result<Arc<[u32]>> {
    let all = window.comm().group();
    let rank = |process| {
        all.rank_of(process).ok_or_else(|| {
            let text = format!("process {process} of the group is not in {}", window.shown());
            wrong(Class::Group, text)
        })
    };
    let mut ranks = group.processes().map(rank).collect::<Result<Vec<u32>>>()?;
    ranks.sort_unstable();
    Ok(ranks.into())
}

pub unsafe fn win_post(group: MPI_Group, assert: c_int, win: MPI_Win) -> c_int {
    const KNOWN: c_int = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
    on_win("MPI_Win_post", win, |w| {
        let window = window(w, win)?;
        check_assert(assert, KNOWN)?;
        let ranks = ranks_of(&window, w.objects.group(group)?)?;
        window.epochs.borrow_mut().post()?;
        let (_, onesided) = w.process.onesided();
        onesided.fence();
        if assert & MPI_MODE_NOCHECK == 0 {
            tell(w, &window, &ranks, Notice::Post);
        }
        window.sync.borrow_mut().exposed_to = ranks;
        Ok(())
    })
}

fn tell(w: &mut Entered, window: &WinObject, ranks: &[u32], notice: Notice) {
    for rank in ranks {
        super::notices::send(w, window, *rank as usize, notice);
    }
}

/// The ranks of the access epoch that have not posted.
fn unposted(window: &WinObject) -> Vec<u32> {
    let (sync, epochs) = (window.sync.borrow(), window.epochs.borrow());
    let started = epochs.started().map(|ranks| &ranks[..]).unwrap_or_default().iter().copied();
    started.filter(|rank| sync.posted[*rank as usize] == 0).collect()
}

pub unsafe fn win_start(group: MPI_Group, assert: c_int, win: MPI_Win) -> c_int {
    on_win("MPI_Win_start", win, |w| {
        let window = window(w, win)?;
        check_assert(assert, MPI_MODE_NOCHECK)?;
        let ranks = ranks_of(&window, w.objects.group(group)?)?;
        window.epochs.borrow_mut().start(ranks.clone())?;
        if assert & MPI_MODE_NOCHECK != 0 {
            return Ok(());
        }
        wait_for_ranks(w, "MPI_Win_start", &window, unposted, || {
            let sync = window.sync.borrow();
            ranks.iter().all(|rank| sync.posted[*rank as usize] > 0)
        })?;
        let mut sync = window.sync.borrow_mut();
        ranks.iter().for_each(|rank| sync.posted[*rank as usize] -= 1);
        Ok(())
    })
}

pub unsafe fn win_complete(win: MPI_Win) -> c_int {
    on_win("MPI_Win_complete", win, |w| {
        let window = window(w, win)?;
        let ranks = window.epochs.borrow().started()?.clone();
        let flushed = flush::these_and_tell(w, &window, &ranks, |w, rank| {
            super::notices::send(w, &window, rank as usize, Notice::Complete);
        });
        window.epochs.borrow_mut().complete();
        flushed.and(window.check_uses(0..window.peers.len(), Extent::Remote))
    })
}

/// The ranks of the exposure epoch that have not completed.
fn uncompleted(window: &WinObject) -> Vec<u32> {
    let sync = window.sync.borrow();
    let ranks = sync.exposed_to.iter().copied();
    ranks.filter(|rank| sync.completed[*rank as usize] == 0).collect()
}

/// All that `MPI_Win_post` let in are done.
fn is_over(window: &WinObject) -> bool {
    let sync = window.sync.borrow();
    sync.exposed_to.iter().all(|rank| sync.completed[*rank as usize] > 0)
}

fn close(w: &mut World, window: &WinObject) {
    let mut sync = window.sync.borrow_mut();
    for rank in std::mem::take(&mut sync.exposed_to).iter() {
        sync.completed[*rank as usize] -= 1;
    }
    window.epochs.borrow_mut().waited();
    let (_, onesided) = w.process.onesided();
    onesided.fence();
}

pub unsafe fn win_wait(win: MPI_Win) -> c_int {
    const NAME: &str = "MPI_Win_wait";
    on_win(NAME, win, |w| {
        let window = window(w, win)?;
        window.epochs.borrow().check_exposed(NAME)?;
        wait_for_ranks(w, NAME, &window, uncompleted, || is_over(&window))?;
        close(w, &window);
        Ok(())
    })
}

pub unsafe fn win_test(win: MPI_Win, flag: *mut c_int) -> c_int {
    const NAME: &str = "MPI_Win_test";
    on_win(NAME, win, |w| {
        let window = window(w, win)?;
        out("flag", flag)?;
        window.epochs.borrow().check_exposed(NAME)?;
        w.glance()?;
        let over = is_over(&window);
        if over {
            close(w, &window);
        } else if let Some(error) = w.process.lost_member(window.comm()) {
            return Err(error);
        }
        // SAFETY: checked above.
        unsafe { *flag = c_int::from(over) };
        Ok(())
    })
}
