//! Notices of windows: sent, and delivered to the window that they name.

use super::lock;
use crate::body::agree;
use crate::object::win::WinObject;
use crate::runtime::{Entered, World};
use hpvm_mpi::error::Result;
use hpvm_mpi::rma::notice::{Arrived, Notice};
use std::rc::Rc;

/// Tells a rank something about the window. A rank tells itself, too.
pub(super) fn send(w: &mut World, window: &WinObject, rank: usize, notice: Notice) {
    if rank == window.rank() {
        return handle(w, window, rank, notice);
    }
    window.sync.borrow_mut().sent[rank][0] += 1;
    w.process.notify(window.peers[rank].process, window.context(), notice);
}

/// Waits until all ranks are here, and all notices that they have sent: the last may be on their way when everybody
/// has met, and would be taken for those of the next window with this context.
pub(super) fn settle(w: &mut Entered, window: &WinObject) -> Result<()> {
    let sent = window.sync.borrow().sent.clone();
    let due = w.outside(|| agree::exchange_words(window.comm, &sent))?;
    w.wait_for_members(window.comm(), |_| {
        let sync = window.sync.borrow();
        due.iter().zip(&sync.came).all(|([due], came)| came >= due)
    })
}

/// Delivers what has come.
#[inline(never)]
pub fn deliver(w: &mut Entered) {
    while let Some(arrived) = w.process.take_notice() {
        deliver_one(w, arrived);
    }
}

/// Delivers what came for windows that did not exist yet.
pub(super) fn deliver_early(w: &mut Entered) {
    for arrived in std::mem::take(&mut w.objects.early_notices) {
        deliver_one(w, arrived);
    }
}

fn deliver_one(w: &mut World, arrived: Arrived) {
    let found: Option<Rc<WinObject>> = w.objects.window_of_context(arrived.context).cloned();
    let Some(window) = found else { return keep(w, arrived) };
    // A notice of a process that is not of the window means nothing.
    if let Some(rank) = window.comm().group().rank_of(arrived.src) {
        window.sync.borrow_mut().came[rank as usize] += 1;
        handle(w, &window, rank as usize, arrived.notice);
    }
}

/// Notices of one rank that may wait for windows that it has already and this rank has not: of each such window it
/// sends three at most, and there are as many windows as threads that make one.
const EARLY: usize = 256;

fn keep(w: &mut World, arrived: Arrived) {
    let of_rank = w.objects.early_notices.iter().filter(|other| other.src == arrived.src);
    if of_rank.count() < EARLY {
        w.objects.early_notices.push(arrived);
    } else {
        let text = format!("more than {EARLY} notices of windows that do not exist");
        w.process.accuse(arrived.src, text);
    }
}

fn handle(w: &mut World, window: &WinObject, rank: usize, notice: Notice) {
    match notice {
        Notice::Post => window.sync.borrow_mut().posted[rank] += 1,
        Notice::Complete => window.sync.borrow_mut().completed[rank] += 1,
        Notice::Granted => window.sync.borrow_mut().granted[rank] = true,
        Notice::LockShared => lock::queue_for(w, window, rank, false),
        Notice::LockExclusive => lock::queue_for(w, window, rank, true),
        Notice::UnlockShared => lock::release_for(w, window, rank, false),
        Notice::UnlockExclusive => lock::release_for(w, window, rank, true),
        Notice::Wake => lock::serve(w, window),
    }
}
