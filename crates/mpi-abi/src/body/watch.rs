//! Requests whose end depends on more than the engine sees: progress looks at them after each turn.

use crate::runtime::{Entered, World};
use hpvm_mpi::ReqId;
use hpvm_onesided::OpId;
use std::sync::Arc;

/// Something to look at.
#[derive(Debug)]
pub enum Watched {
    /// `request` ends when all of `messages` have left.
    Flush { request: ReqId, messages: Vec<ReqId> },
    /// A partitioned receive, by its handle, that does not know the sender's partitions yet.
    Partitions(usize),
    /// `request` ends when all of `ops` are done.
    OneSided { request: ReqId, ops: Vec<OpId> },
    /// `request` ends when the thread for files has moved its data to or from `file`.
    File { request: ReqId, file: Arc<hpvm_io::File>, ended: Arc<super::io::Ended> },
    /// Ranks ask for stripes of files that this process has ([`super::io::Owner`]).
    Stripes,
}

/// Looks at everything once. True when something happened.
#[cold]
pub fn poll(w: &mut Entered) -> bool {
    let mut left = core::mem::take(&mut w.objects.watched);
    let before = left.len();
    left.retain_mut(|watched| !ended(w, watched));
    let moved = left.len() != before;
    // Looking may have added others.
    left.append(&mut w.objects.watched);
    w.objects.watched = left;
    moved
}

/// Whether the thread for files has left word that nobody has seen. To be asked with the bell armed, before a sleep:
/// what is left later rings it.
pub fn is_due(w: &World) -> bool {
    w.objects.watched.iter().any(|one| match one {
        Watched::File { ended, .. } => ended.is_set(),
        _ => false,
    })
}

fn ended(w: &mut Entered, watched: &mut Watched) -> bool {
    match watched {
        Watched::Flush { request, messages } => {
            messages.retain(|id| w.process.requests().get(*id).is_some());
            let done = messages.is_empty();
            if done {
                w.process.complete_external(*request);
            }
            done
        }
        Watched::OneSided { request, ops } => super::rma::poll(w, *request, ops),
        Watched::File { request, ended, .. } => super::io::poll(w, *request, ended),
        Watched::Stripes => {
            super::io::take_requests(w);
            w.objects.stripe_owners.is_empty()
        }
        Watched::Partitions(handle) => super::pt2pt::partitioned_matched(w, *handle),
    }
}
