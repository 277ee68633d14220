//! Probes, plain and matched (section 3.8).

use super::complete::{Failed, on_requests};
use super::status::store;
use crate::body::check::{self, out, wrong};
use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::object::request::handle;
use crate::object::too_many;
use crate::raise::on_comm;
use crate::runtime::{Entered, World};
use core::ffi::{c_int, c_void};
use hpvm_mpi::engine::matching::{Pattern, Unexpected};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, ReqId, Status};
use std::sync::Arc;

/// Handle of the message that a matched probe of `MPI_PROC_NULL` returns.
const NO_PROC: MPI_Message = MPI_MESSAGE_NO_PROC;

fn arguments(
    w: &Entered,
    comm: MPI_Comm,
    source: c_int,
    tag: c_int,
) -> Result<(Arc<CommObject>, Option<Pattern>)> {
    let object = w.objects.comm(comm)?.clone();
    let pattern = check::pattern(&object.comm, source, tag)?;
    Ok((object, pattern))
}

pub unsafe fn probe(source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status) -> c_int {
    on_comm("MPI_Probe", comm, |w| {
        let (object, pattern) = arguments(w, comm, source, tag)?;
        let mut found = Status::FROM_NULL;
        if let Some(pattern) = pattern {
            w.probing(&object, pattern, |w| {
                w.wait_for_sender(&object.comm, pattern.src, |w| {
                    match w.process.probe(&object.comm, pattern) {
                        Some(status) => {
                            found = status;
                            true
                        }
                        None => false,
                    }
                })
            })?;
        }
        // SAFETY: the caller's promise.
        unsafe { store(status, &found) };
        Ok(())
    })
}

/// Goes on to make progress as long as other messages come, or until the one that is looked for has come.
#[cold]
#[inline(never)]
fn look_further(w: &mut Entered, comm: &Comm, pattern: Pattern) -> Result<()> {
    if w.process.probe(comm, pattern).is_some() {
        return Ok(());
    }
    let found = w.process.probe_further(comm, pattern);
    found.map(drop).map_err(|broken| crate::raise::broken(&mut w.job, &broken))
}

pub unsafe fn iprobe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    on_comm("MPI_Iprobe", comm, |w| {
        out("flag", flag)?;
        let found = match check::pattern(&w.objects.comm(comm)?.comm, source, tag)? {
            None => Some(Status::FROM_NULL),
            Some(pattern) => {
                let before = w.process.arrived_unexpected();
                w.glance()?;
                if w.process.arrived_unexpected() != before {
                    let object = w.objects.comm(comm)?.clone();
                    look_further(w, &object.comm, pattern)?;
                }
                // Looked up once more: holding it meanwhile would cost two locked instructions a call.
                let World { process, objects, .. } = &mut **w;
                process.probe(&objects.comm(comm)?.comm, pattern)
            }
        };
        // SAFETY: checked above; the caller vouches for the status.
        unsafe {
            *flag = c_int::from(found.is_some());
            if let Some(found) = found {
                store(status, &found);
            }
        }
        Ok(())
    })
}

/// Stores what a matched probe took.
unsafe fn give(
    w: &mut Entered,
    object: Arc<CommObject>,
    taken: Unexpected,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> Result<()> {
    let found = status_of(&object.comm, &taken);
    let handle = w.objects.messages.insert((object, taken));
    let handle = handle.ok_or_else(|| too_many("messages"))?;
    // SAFETY: the caller of the body vouches for both places.
    unsafe {
        *message = MPI_Message(handle);
        store(status, &found);
    }
    Ok(())
}

fn status_of(comm: &Comm, m: &Unexpected) -> Status {
    Status { source: comm.rank_of(m.src), tag: m.tag, bytes: m.bytes(), cancelled: false }
}

pub unsafe fn mprobe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    on_comm("MPI_Mprobe", comm, |w| {
        out("message", message)?;
        let (object, pattern) = arguments(w, comm, source, tag)?;
        let Some(pattern) = pattern else {
            // SAFETY: checked above; the caller vouches for the status.
            unsafe {
                *message = NO_PROC;
                store(status, &Status::FROM_NULL);
            }
            return Ok(());
        };
        let mut taken = None;
        w.probing(&object, pattern, |w| {
            w.wait_for_sender(&object.comm, pattern.src, |w| {
                taken = w.process.take_probed(&object.comm, pattern);
                taken.is_some()
            })
        })?;
        match taken {
            // SAFETY: as above.
            Some(taken) => unsafe { give(w, object, taken, message, status) },
            None => Err(Class::Intern.into()),
        }
    })
}

pub unsafe fn improbe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    flag: *mut c_int,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    on_comm("MPI_Improbe", comm, |w| {
        out("flag", flag)?;
        out("message", message)?;
        let (object, pattern) = arguments(w, comm, source, tag)?;
        let Some(pattern) = pattern else {
            // SAFETY: checked above; the caller vouches for the status.
            unsafe {
                *flag = 1;
                *message = NO_PROC;
                store(status, &Status::FROM_NULL);
            }
            return Ok(());
        };
        w.glance()?;
        let taken = w.process.take_probed(&object.comm, pattern);
        // SAFETY: as above.
        unsafe { *flag = c_int::from(taken.is_some()) };
        match taken {
            // SAFETY: as above.
            Some(taken) => unsafe { give(w, object, taken, message, status) },
            None => Ok(()),
        }
    })
}

/// Starts to receive a message that was taken; `None` for that of `MPI_PROC_NULL`.
unsafe fn begin(
    w: &mut Entered,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    message: *mut MPI_Message,
) -> Result<Option<ReqId>> {
    out("message", message)?;
    // SAFETY: checked above.
    let named = unsafe { *message };
    if named == NO_PROC {
        // SAFETY: as above.
        unsafe { *message = MPI_MESSAGE_NULL };
        return Ok(None);
    }
    let World { objects, process, .. } = &mut **w;
    // The arguments are checked while the message can still be received by another call.
    check::incoming(objects, buf, count, datatype)?;
    let (object, taken) = objects.messages.remove(named.0).ok_or_else(|| {
        wrong(Class::Request, format!("expected a message handle, found {:#x}", named.0))
    })?;
    let m = check::incoming(objects, buf, count, datatype)?;
    // SAFETY: the program keeps the buffer until the operation is complete.
    unsafe {
        *message = MPI_MESSAGE_NULL;
        Ok(Some(process.recv_matched(m, &object.comm, taken)))
    }
}

/// Runs the body of a call on a message; its errors go to the handler of the message's
/// communicator.
///
/// # Safety
/// `message` is null or a place of the program's.
unsafe fn on_message(
    function: &'static str,
    message: *const MPI_Message,
    body: impl FnOnce(&mut Entered) -> Result<()>,
) -> c_int {
    on_requests(function, |w| {
        // SAFETY: the caller's promise.
        let named = unsafe { message.as_ref() };
        let of = named.and_then(|m| w.objects.messages.get(m.0));
        let context = of.map(|(object, _)| object.comm.base_context());
        body(w).map_err(|error| Failed::of(context, error))
    })
}

pub unsafe fn mrecv(
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises; we wait below.
    unsafe {
        on_message("MPI_Mrecv", message, |w| {
            let id = begin(w, buf, count, datatype, message)?;
            super::recv::finish(w, id, status)
        })
    }
}

pub unsafe fn imrecv(
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    message: *mut MPI_Message,
    request: *mut MPI_Request,
) -> c_int {
    let body = |w: &mut Entered| {
        out("request", request)?;
        // SAFETY: the program keeps its buffer until the request completes.
        let id = unsafe { begin(w, buf, count, datatype, message)? };
        let id = id.unwrap_or_else(|| w.process.requests_mut().insert_done(Status::FROM_NULL));
        // SAFETY: checked above.
        unsafe { *request = handle(id) };
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { on_message("MPI_Imrecv", message, body) }
}
