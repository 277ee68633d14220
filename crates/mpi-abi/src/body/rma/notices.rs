//! Notices of windows: sent, and delivered to the window that they name.

use super::lock;
use crate::object::win::WinObject;
use crate::runtime::{Entered, World};
use hpvm_mpi::rma::notice::{Arrived, Notice};
use std::rc::Rc;

/// Tells a rank something about the window. A rank tells itself, too.
pub(super) fn send(w: &mut World, window: &WinObject, rank: usize, notice: Notice) {
    if rank == window.rank() {
        return handle(w, window, rank, notice);
    }
    w.process.notify(window.peers[rank].process, window.context(), notice);
}

/// Delivers what has come.
#[cold]
pub fn deliver(w: &mut Entered) {
    for arrived in w.process.take_notices() {
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
    let Some(window) = found else {
        w.objects.early_notices.push(arrived);
        return;
    };
    // A notice of a process that is not of the window means nothing.
    if let Some(rank) = window.comm().group().place(arrived.src) {
        handle(w, &window, rank as usize, arrived.notice);
    }
}

fn handle(w: &mut World, window: &WinObject, rank: usize, notice: Notice) {
    match notice {
        Notice::Post => window.sync.borrow_mut().posted[rank] += 1,
        Notice::Complete => window.sync.borrow_mut().completed[rank] += 1,
        Notice::Granted => window.sync.borrow_mut().granted[rank] = true,
        Notice::LockShared => lock::queue_for(w, window, rank, false),
        Notice::LockExclusive => lock::queue_for(w, window, rank, true),
        Notice::UnlockShared => lock::release_for(w, window, false),
        Notice::UnlockExclusive => lock::release_for(w, window, true),
        Notice::Wake => lock::serve(w, window),
    }
}
