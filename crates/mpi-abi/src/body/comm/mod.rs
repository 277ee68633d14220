//! Communicators (chapter 7).

use crate::body::check::out;
use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::raise::on_comm;
use crate::runtime::{Entered, World};
use core::ffi::c_int;
use hpvm_mpi::context::Agreed;
use hpvm_mpi::{Channel, build};

pub unsafe fn comm_rank(comm: MPI_Comm, rank: *mut c_int) -> c_int {
    on_comm("MPI_Comm_rank", comm, |w| {
        out("rank", rank)?;
        // SAFETY: checked above.
        unsafe { *rank = w.objects.comm(comm)?.comm.rank() as c_int };
        Ok(())
    })
}

pub unsafe fn comm_size(comm: MPI_Comm, size: *mut c_int) -> c_int {
    on_comm("MPI_Comm_size", comm, |w| {
        out("size", size)?;
        // SAFETY: checked above.
        unsafe { *size = w.objects.comm(comm)?.comm.size() as c_int };
        Ok(())
    })
}

/// Moves the communicators on that `MPI_Comm_idup` is making. True when one got ready.
pub fn poll_unfinished(w: &mut Entered) -> bool {
    let mut ready = false;
    let mut place = 0;
    while place < w.objects.unfinished.len() {
        let World { objects, process, .. } = &mut **w;
        let done = |id| process.requests().get(id).is_none_or(|r| r.done);
        match &objects.unfinished[place].agreement {
            Some(a) if !done(a.request()) => place += 1,
            _ => {
                ready = true;
                finish_one(w, place);
            }
        }
    }
    ready
}

/// Ends the agreement of an unfinished communicator: it becomes ready, or tries again.
fn finish_one(w: &mut Entered, place: usize) {
    let mut unfinished = w.objects.unfinished.swap_remove(place);
    let Some(agreement) = unfinished.agreement.take() else { return };
    let parent = unfinished.parent.clone();
    let made = match w.process.agreed(agreement) {
        Ok(Agreed::Context(base)) => build::same_groups(&parent.comm, base, w.job.rank).map(Some),
        Ok(Agreed::Again) => {
            let tag = parent.comm.collective_tag();
            w.process.agree(&parent.comm, Channel::Collective, tag).map(|again| {
                unfinished.agreement = Some(again);
                None
            })
        }
        Err(error) => Err(error),
    };
    match made {
        Ok(None) => return w.objects.unfinished.push(unfinished),
        Ok(Some(comm)) => {
            let object = CommObject::with_extras(comm, unfinished.extras);
            if let Some(slot) = w.objects.comms.get_mut(unfinished.handle.0) {
                *slot = object;
            }
        }
        Err(error) => {
            if let Some(r) = w.process.requests_mut().get_mut(unfinished.request) {
                r.error = Some(Box::new(error));
            }
        }
    }
    w.process.complete_external(unfinished.request);
}
