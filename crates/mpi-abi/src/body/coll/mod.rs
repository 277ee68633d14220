//! Collective communication (chapter 6) and neighbourhood collectives (section 8.6).
//!
//! A call checks its arguments and makes a plan of them. The three forms of a collective differ only in what
//! they do with the plan: the blocking form starts it and waits, the non-blocking form starts it, and the
//! persistent form keeps it. A blocking call tries shared memory first ([`shared_memory`]).

mod arg;
mod entry_exchange;
mod entry_neighbour;
mod entry_reduction;
mod entry_rooted;
mod exchange;
mod neighbour;
mod reduction;
mod rooted;
mod shared_memory;

pub(super) use arg::{apart, for_reductions};
pub use entry_exchange::*;
pub use entry_neighbour::*;
pub use entry_reduction::*;
pub use entry_rooted::*;

use crate::audit::{self, Notes};
use crate::body::check::out;
use crate::body::pt2pt::keep;
use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::object::request::{CollectivePlan, Template, handle};
use crate::object::{Objects, info};
use crate::raise::on_comm;
use crate::runtime::{Entered, World};
use core::ffi::c_int;
use hpvm_mpi::coll::{Plan, Planner};
use hpvm_mpi::comm::Form;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Comm, Process};
use hpvm_mux::Mux;
use shared_memory::{ShmArgs, try_shared_memory};
use std::sync::Arc;

/// A collective call on a valid communicator.
#[derive(Clone, Copy)]
struct Call<'a> {
    process: &'a Process<Mux>,
    objects: &'a Objects,
    object: &'a Arc<CommObject>,
    /// Where the arguments are noted if members compare their calls (`HPVM_CHECK`).
    notes: Option<&'a Notes>,
}

impl<'a> Call<'a> {
    fn comm(&self) -> &'a Comm {
        &self.object.comm
    }

    fn plan(&self) -> Planner<'a> {
        self.process.plan(self.comm())
    }
}

/// A blocking collective that always goes by messages: makes a plan, runs it and waits for its end.
///
/// # Safety
/// The buffers in the plan are those of the call.
#[inline]
unsafe fn blocking(
    function: &'static str,
    comm: MPI_Comm,
    plan: impl FnOnce(Call<'_>) -> Result<Plan>,
) -> c_int {
    on_comm(function, comm, |w| {
        // SAFETY: the caller's promise.
        unsafe { by_messages(w, comm, function, plan) }
    })
}

/// A blocking collective that goes through shared memory where that pays, and otherwise by messages.
///
/// # Safety
/// The buffers in what `shm_args` makes and in the plan are those of the call.
#[inline]
unsafe fn blocking_shm(
    function: &'static str,
    comm: MPI_Comm,
    shm_args: impl FnOnce(Call<'_>) -> Result<ShmArgs>,
    plan: impl FnOnce(Call<'_>) -> Result<Plan>,
) -> c_int {
    on_comm(function, comm, |w| {
        // SAFETY: the caller's promise, here and below.
        if unsafe { try_shared_memory(w, comm, function, shm_args)? } {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { by_messages(w, comm, function, plan) }
    })
}

/// # Safety
/// As for `blocking`.
unsafe fn by_messages(
    w: &mut Entered,
    comm: MPI_Comm,
    function: &'static str,
    plan: impl FnOnce(Call<'_>) -> Result<Plan>,
) -> Result<()> {
    let object = w.objects.comm(comm)?;
    let notes = if w.audit { Some(Notes::new()) } else { None };
    let World { process, objects, .. } = &**w;
    let mut plan = plan(Call { process, objects, object, notes: notes.as_ref() })?;
    plan.name = function;
    if let Some(notes) = notes {
        let object = object.clone();
        audit::compare(w, &object, function, &notes)?;
    }
    let World { process, objects, .. } = &mut **w;
    // SAFETY: the program keeps its buffers during the call, and we wait below.
    let id = unsafe { process.start_collective(&objects.comm(comm)?.comm, plan) };
    w.complete_new(id).map(drop)
}

/// Makes a plan, starts it, and hands out the request.
///
/// # Safety
/// The buffers in the plan are those of the call.
unsafe fn nonblocking(
    function: &'static str,
    comm: MPI_Comm,
    request: *mut MPI_Request,
    plan: impl FnOnce(Call<'_>) -> Result<Plan>,
) -> c_int {
    on_comm(function, comm, |w| {
        out("request", request)?;
        let object = w.objects.comm(comm)?.clone();
        let notes = if w.audit { Some(Notes::new()) } else { None };
        let World { process, objects, .. } = &**w;
        let mut plan = plan(Call { process, objects, object: &object, notes: notes.as_ref() })?;
        plan.name = function;
        if let Some(notes) = notes {
            audit::compare_later(w, &object, function, &notes)?;
        }
        plan.tag = Some(object.comm.collective_tag(Form::Nonblocking));
        // SAFETY: the program keeps its buffers until the request completes.
        let id = unsafe { w.process.start_collective(&object.comm, plan) };
        // SAFETY: checked above.
        unsafe { *request = handle(id) };
        Ok(())
    })
}

/// Makes a plan and keeps it as an inactive request.
///
/// # Safety
/// `request` may be written or is null.
unsafe fn persistent(
    function: &'static str,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
    plan: impl FnOnce(Call<'_>) -> Result<Plan>,
) -> c_int {
    on_comm(function, comm, |w| {
        out("request", request)?;
        // No info key changes anything here, but an invalid handle is still an error.
        info::copy_or_empty(info)?;
        let object = w.objects.comm(comm)?.clone();
        let World { process, objects, .. } = &**w;
        let mut plan = plan(Call { process, objects, object: &object, notes: None })?;
        plan.name = function;
        // All starts use the same tag, because the messages of a pair of processes stay in order.
        plan.tag = Some(object.comm.collective_tag(Form::Persistent));
        let plan = CollectivePlan(plan);
        // SAFETY: the caller's promise.
        unsafe { keep(w, Template::Collective { comm: object, plan }, request) }
    })
}
