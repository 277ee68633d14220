//! Duplicating communicators, at once and in the background (section 7.4.2).

use super::add;
use crate::body::attr;
use crate::body::check::out;
use crate::generated::constants::*;
use crate::object::comm::{CommObject, Extras, Unfinished, hints};
use crate::object::info::{self, Info};
use crate::object::request::handle;
use crate::raise::on_comm;
use crate::runtime::{Entered, World};
use core::ffi::c_int;
use hpvm_mpi::comm::CONTEXTS;
use hpvm_mpi::comm::agreement::Agreed;
use hpvm_mpi::engine::process::MAX_COMMS;
use hpvm_mpi::engine::requests::Operation;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Comm, build};
use std::sync::Arc;

/// What a duplicate gets from its parent: error handler, topology, hints, and the attributes that
/// their copy functions let through.
fn copied(
    w: &mut Entered,
    comm: MPI_Comm,
    parent: &CommObject,
    info: Option<Info>,
) -> Result<Extras> {
    let mut extras = {
        let old = parent.extras();
        Extras {
            handler: old.handler,
            topology: old.topology.clone(),
            info: info.unwrap_or_else(|| old.info.clone()),
            ..Extras::default()
        }
    };
    let attributes = parent.extras().attributes.snapshot();
    extras.attributes = attr::copy_all(w, comm.0, attributes)?;
    Ok(extras)
}

/// The hints of `info`; `None` means those of the parent.
fn wanted(info: Option<MPI_Info>) -> Result<Option<Info>> {
    info.map(|info| Ok(hints(&info::copy_or_empty(info)?))).transpose()
}

fn duplicate(w: &mut Entered, comm: MPI_Comm, info: Option<MPI_Info>) -> Result<MPI_Comm> {
    let parent = w.objects.comm(comm)?.clone();
    let info = wanted(info)?;
    match copied(w, comm, &parent, info) {
        Err(error) => {
            // The others do not know that our copy function failed, so they must not wait for us.
            build::dup_and_drop(w, &parent.comm)?;
            Err(error)
        }
        Ok(extras) => match build::dup(w, &parent.comm) {
            Ok(made) => add(w, made, extras),
            Err(error) => {
                let _ = attr::delete_all(w, comm.0, extras.attributes);
                Err(error)
            }
        },
    }
}

unsafe fn dup(
    function: &'static str,
    comm: MPI_Comm,
    info: Option<MPI_Info>,
    newcomm: *mut MPI_Comm,
) -> c_int {
    on_comm(function, comm, |w| {
        w.objects.comm(comm)?;
        out("newcomm", newcomm)?;
        let made = duplicate(w, comm, info);
        // SAFETY: checked above.
        unsafe { *newcomm = *made.as_ref().unwrap_or(&MPI_COMM_NULL) };
        made.map(drop)
    })
}

pub unsafe fn comm_dup(comm: MPI_Comm, newcomm: *mut MPI_Comm) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { dup("MPI_Comm_dup", comm, None, newcomm) }
}

pub unsafe fn comm_dup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { dup("MPI_Comm_dup_with_info", comm, Some(info), newcomm) }
}

pub unsafe fn comm_idup(
    comm: MPI_Comm,
    newcomm: *mut MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { idup("MPI_Comm_idup", comm, None, newcomm, request) }
}

pub unsafe fn comm_idup_with_info(
    comm: MPI_Comm,
    info: MPI_Info,
    newcomm: *mut MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { idup("MPI_Comm_idup_with_info", comm, Some(info), newcomm, request) }
}

unsafe fn idup(
    function: &'static str,
    comm: MPI_Comm,
    info: Option<MPI_Info>,
    newcomm: *mut MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    on_comm(function, comm, |w| {
        let parent = w.objects.comm(comm)?.clone();
        out("newcomm", newcomm)?;
        out("request", request)?;
        let info = wanted(info)?;
        let (extras, failed) = match copied(w, comm, &parent, info) {
            Ok(extras) => (extras, None),
            // We take part all the same: the others must not wait for us. The request fails.
            Err(error) => (Extras::default(), Some(Box::new(error))),
        };
        // Nothing travels on the place holder's context: it only makes the handle a live one.
        let holder = build::same_groups(&parent.comm, MAX_COMMS * CONTEXTS, w.job.rank)?;
        let handler = parent.extras().handler;
        let made = add(w, holder, Extras { handler, ..Extras::default() })?;
        let agreement = match build::start_dup(&mut w.process, &parent.comm) {
            Ok(agreement) => agreement,
            Err(error) => {
                w.objects.comms.remove(made.0);
                return Err(error);
            }
        };
        let id = w.process.requests_mut().insert(Operation::External, None);
        if let Some(r) = w.process.requests_mut().get_mut(id) {
            r.context = Some(parent.comm.base_context());
            r.error = failed;
        }
        let agreement = Some(agreement);
        let unfinished = Unfinished { parent, agreement, handle: made, extras, request: id };
        w.objects.unfinished.push(unfinished);
        // SAFETY: checked above.
        unsafe { (*newcomm, *request) = (made, handle(id)) };
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
    let mut unfinished = w.objects.unfinished.remove(place);
    let Some(agreement) = unfinished.agreement.take() else { return };
    let made = match w.process.agreed(agreement) {
        Ok(Agreed::Again(again)) => {
            unfinished.agreement = Some(again);
            return w.objects.unfinished.push(unfinished);
        }
        Ok(Agreed::Context(base)) => build::same_groups(&unfinished.parent.comm, base, w.job.rank),
        Err(error) => Err(error),
    };
    conclude(w, unfinished, made);
}

fn conclude(w: &mut Entered, unfinished: Unfinished, made: Result<Arc<Comm>>) {
    let Unfinished { handle, extras, request, .. } = unfinished;
    let failed = w.process.requests().get(request).is_none_or(|r| r.error.is_some());
    let unused = match made {
        Ok(comm) if !failed => {
            let object = CommObject::with_extras(comm.clone(), extras);
            match w.objects.comms.get_mut(handle.0) {
                Some(place) => {
                    *place = object;
                    None
                }
                // The program has freed the handle although it must not.
                None => Some(comm),
            }
        }
        Ok(comm) => Some(comm),
        Err(error) => {
            if let Some(r) = w.process.requests_mut().get_mut(request) {
                r.error.get_or_insert(Box::new(error));
            }
            let _ = attr::delete_all(w, handle.0, extras.attributes);
            w.objects.comms.remove(handle.0);
            None
        }
    };
    if let Some(comm) = unused {
        w.objects.comms.remove(handle.0);
        w.process.retire(comm);
    }
    w.process.complete_external(request);
}
