//! Locks (section 12.5.3). Ranks of the target's host queue in words that they map; for the others the target queues
//! when their notices come.

use super::flush::Extent;
use super::{check_assert, flush, on_win, plain, wait_for_ranks, window};
use crate::body::check::wrong;
use crate::generated::constants::*;
use crate::object::win::WinObject;
use crate::runtime::{Entered, World};
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use hpvm_mpi::rma::Held;
use hpvm_mpi::rma::notice::Notice;
use hpvm_wire::rw_lock::{LockWords, Wake};
use std::rc::Rc;

const LOCK: &str = "MPI_Win_lock";
const LOCK_ALL: &str = "MPI_Win_lock_all";

/// The words of the lock at `rank`, if this process maps them.
fn words(window: &WinObject, rank: usize) -> Option<LockWords<'_>> {
    window.peers[rank].lock_words()
}

/// Tells those who wait for a lock that changed. `rank`: whose lock.
#[cold]
pub(super) fn wake(w: &mut World, window: &WinObject, rank: usize, wake: Wake) {
    let me = window.peers[window.rank()].process;
    for process in wake.processes.into_iter().flatten().filter(|process| *process != me) {
        // What stands in the words is an allegation: only a process of the window is told.
        if let Some(rank) = window.comm().group().rank_of(process) {
            super::notices::send(w, window, rank as usize, Notice::Wake);
        }
    }
    if wake.owner {
        super::notices::send(w, window, rank, Notice::Wake);
    }
}

/// Who has a lock is not known.
fn holders(_window: &WinObject) -> Vec<u32> {
    Vec::new()
}

/// Takes the lock at `rank` for `call`. Blocks.
fn acquire(
    w: &mut Entered,
    call: &'static str,
    window: &Rc<WinObject>,
    rank: usize,
    exclusive: bool,
) -> Result<()> {
    let Some(lock) = words(window, rank) else {
        window.sync.borrow_mut().granted[rank] = false;
        super::notices::send(w, window, rank, Notice::lock(exclusive));
        return wait_for_ranks(w, call, window, holders, || window.sync.borrow().granted[rank]);
    };
    match lock.try_lock(exclusive) {
        true => Ok(()),
        false => queue(w, call, window, (rank, lock), exclusive),
    }
}

/// `acquire`, where somebody has the lock at `rank` or waits for it.
#[cold]
fn queue(
    w: &mut Entered,
    call: &'static str,
    window: &Rc<WinObject>,
    (rank, lock): (usize, LockWords<'_>),
    exclusive: bool,
) -> Result<()> {
    let ticket = lock.take(exclusive);
    let named = lock.wait_as(ticket, window.peers[window.rank()].process);
    w.polls_memory += u32::from(!named);
    let waited = wait_for_ranks(w, call, window, holders, || lock.is_served(ticket));
    w.polls_memory -= u32::from(!named);
    waited?;
    let change = lock.enter(ticket);
    wake(w, window, rank, change);
    Ok(())
}

/// Gives the lock at `rank` back.
fn release(w: &mut World, window: &WinObject, rank: usize, exclusive: bool) {
    match words(window, rank) {
        Some(lock) => {
            let change = lock.release(exclusive);
            if !change.is_none() {
                wake(w, window, rank, change);
            }
        }
        None => super::notices::send(w, window, rank, Notice::unlock(exclusive)),
    }
}

fn give_back(w: &mut World, window: &WinObject, rank: usize, held: Held) {
    match held {
        Held::Shared => release(w, window, rank, false),
        Held::Exclusive => release(w, window, rank, true),
        Held::No | Held::Unchecked => {}
    }
}

/// Queues for this rank's lock on behalf of `rank`, which asks for it.
pub(super) fn queue_for(w: &mut World, window: &WinObject, rank: usize, exclusive: bool) {
    let Some(lock) = words(window, window.rank()) else { return };
    let ticket = lock.take(exclusive);
    lock.add_proxy();
    window.sync.borrow_mut().proxies.push((rank as u32, ticket));
    serve(w, window);
}

/// A rank gives this rank's lock back, if it has it.
pub(super) fn release_for(w: &mut World, window: &WinObject, rank: usize, exclusive: bool) {
    let holder = (rank as u32, exclusive);
    let found = {
        let holders = &mut window.sync.borrow_mut().holders;
        let at = holders.iter().position(|one| *one == holder);
        at.map(|at| holders.swap_remove(at))
    };
    match found {
        Some(_) => release(w, window, window.rank(), exclusive),
        None => {
            let text = format!("gives back a lock of {} that it has not", window.shown());
            w.process.accuse(window.peers[rank].process, text);
        }
    }
}

/// Grants this rank's lock to those whose turn it is.
pub(super) fn serve(w: &mut World, window: &WinObject) {
    let me = window.rank();
    let Some(lock) = words(window, me) else { return };
    loop {
        let found = {
            let mut sync = window.sync.borrow_mut();
            let served = sync.proxies.iter().position(|(_, ticket)| lock.is_served(*ticket));
            served.map(|place| sync.proxies.swap_remove(place))
        };
        let Some((rank, ticket)) = found else { return };
        lock.remove_proxy();
        window.sync.borrow_mut().holders.push((rank, ticket.exclusive));
        let change = lock.enter(ticket);
        super::notices::send(w, window, rank as usize, Notice::Granted);
        // Not for this rank's own sake, which looks again anyhow.
        wake(w, window, me, Wake { owner: false, ..change });
    }
}

/// Takes the lock of a rank that an epoch of `MPI_Win_lock_all` has not needed so far.
#[cold]
pub(super) fn acquire_late(w: &mut Entered, win: MPI_Win, rank: usize) -> Result<()> {
    let window = window(w, win)?;
    acquire(w, LOCK_ALL, &window, rank, false)?;
    window.epochs.borrow_mut().note_held(rank, Held::Shared);
    Ok(())
}

fn check_locks(window: &WinObject) -> Result<()> {
    match window.locks {
        true => Ok(()),
        false => {
            let text = format!("{} was made with no_locks", window.shown());
            Err(wrong(Class::RmaSync, text))
        }
    }
}

pub unsafe fn win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) -> c_int {
    on_win(LOCK, win, |w| match plain::lock(w, lock_type, rank, assert, win) {
        Some(()) => Ok(()),
        None => lock(w, lock_type, rank, assert, win),
    })
}

/// `MPI_Win_lock`, the long way.
#[inline(never)]
fn lock(w: &mut Entered, lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) -> Result<()> {
    let window = window(w, win)?;
    let held = match lock_type {
        MPI_LOCK_SHARED => Held::Shared,
        MPI_LOCK_EXCLUSIVE => Held::Exclusive,
        other => {
            let text = format!("lock type {other}; expected MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE");
            return Err(wrong(Class::Locktype, text));
        }
    };
    check_assert(assert, MPI_MODE_NOCHECK)?;
    check_locks(&window)?;
    let Some(rank) = window.rank_of(rank)? else { return Ok(()) };
    window.epochs.borrow().check_lock(rank)?;
    if assert & MPI_MODE_NOCHECK != 0 {
        window.epochs.borrow_mut().locked(rank, Held::Unchecked);
        return Ok(());
    }
    acquire(w, LOCK, &window, rank, held == Held::Exclusive)?;
    window.epochs.borrow_mut().locked(rank, held);
    Ok(())
}

pub unsafe fn win_unlock(rank: c_int, win: MPI_Win) -> c_int {
    on_win("MPI_Win_unlock", win, |w| match plain::unlock(w, rank, win) {
        Some(()) => Ok(()),
        None => unlock(w, rank, win),
    })
}

/// `MPI_Win_unlock`, the long way.
#[inline(never)]
fn unlock(w: &mut Entered, rank: c_int, win: MPI_Win) -> Result<()> {
    let window = window(w, win)?;
    let Some(rank) = window.rank_of(rank)? else { return Ok(()) };
    let held = window.epochs.borrow().held_by_lock(rank)?;
    let flushed = match held {
        // Loads and stores come before the release of the lock.
        Held::Shared | Held::Exclusive if window.is_mapped(rank) => {
            give_back(w, &window, rank, held);
            Ok(())
        }
        _ => flush::one_and_tell(w, &window, rank, |w| give_back(w, &window, rank, held)),
    };
    window.epochs.borrow_mut().unlocked(rank);
    flushed.and(window.check_uses(rank..rank + 1, Extent::Remote))
}

pub unsafe fn win_lock_all(assert: c_int, win: MPI_Win) -> c_int {
    on_win(LOCK_ALL, win, |w| {
        let window = window(w, win)?;
        check_assert(assert, MPI_MODE_NOCHECK)?;
        check_locks(&window)?;
        window.epochs.borrow().check_lock_all()?;
        if assert & MPI_MODE_NOCHECK != 0 {
            let mut epochs = window.epochs.borrow_mut();
            epochs.lock_all();
            (0..window.peers.len()).for_each(|rank| epochs.note_held(rank, Held::Unchecked));
            return Ok(());
        }
        // In ascending order, so that ranks that lock all never wait for each other in a circle.
        for rank in (0..window.peers.len()).filter(|rank| words(&window, *rank).is_some()) {
            acquire(w, LOCK_ALL, &window, rank, false)?;
            window.epochs.borrow_mut().note_held(rank, Held::Shared);
        }
        window.epochs.borrow_mut().lock_all();
        Ok(())
    })
}

pub unsafe fn win_unlock_all(win: MPI_Win) -> c_int {
    on_win("MPI_Win_unlock_all", win, |w| {
        let window = window(w, win)?;
        window.epochs.borrow().check_unlock_all()?;
        let flushed = flush::everywhere(w, &window);
        for rank in 0..window.peers.len() {
            let held = window.epochs.borrow().held(rank);
            give_back(w, &window, rank, held);
        }
        window.epochs.borrow_mut().unlock_all();
        flushed.and(window.check_uses(0..window.peers.len(), Extent::Remote))
    })
}
