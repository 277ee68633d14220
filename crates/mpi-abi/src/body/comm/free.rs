//! The end of communicators (sections 7.4.3 and 11.10.4).

use crate::body::attr;
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::raise::{on_comm, on_world};
use crate::runtime::{Entered, World};
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::comm::CONTEXTS;
use hpvm_mpi::error::Result;

/// Deletes the attributes and the handle. Operations under way go on; the context is used again
/// when the last of them has ended.
pub fn release(w: &mut Entered, handle: MPI_Comm) -> Result<()> {
    let object = w.objects.comm(handle)?.clone();
    if handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF {
        return Err(wrong(Class::Comm, format!("{} can't be freed", object.extras().name)));
    }
    let attributes = std::mem::take(&mut object.extras().attributes);
    if let Err((error, left)) = attr::delete_all(w, handle.0, attributes) {
        object.extras().attributes = left;
        return Err(error);
    }
    w.objects.comms.remove(handle.0);
    let comm = object.comm.clone();
    drop(object);
    w.process.retire(comm);
    if w.dynamic.parent == Some(handle) {
        w.dynamic.parent = None;
    }
    w.close_links();
    Ok(())
}

pub unsafe fn comm_free(comm: *mut MPI_Comm) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { end("MPI_Comm_free", comm, release) }
}

/// The body of `MPI_Comm_disconnect`: waits until all operations on the communicator are complete.
pub unsafe fn disconnect(comm: *mut MPI_Comm) -> c_int {
    let wait_and_release = |w: &mut Entered, handle: MPI_Comm| {
        let base = w.objects.comm(handle)?.comm.base_context();
        let ours = base..base + CONTEXTS;
        let busy = move |w: &World| {
            let mut requests = w.process.requests().iter();
            requests.any(|(_, r)| !r.done && r.context.is_some_and(|c| ours.contains(&c)))
        };
        w.wait_until(|w| !busy(w))?;
        w.part(handle)?;
        release(w, handle)
    };
    // SAFETY: the caller's promise.
    unsafe { end("MPI_Comm_disconnect", comm, wait_and_release) }
}

unsafe fn end(
    function: &'static str,
    comm: *mut MPI_Comm,
    how: impl FnOnce(&mut Entered, MPI_Comm) -> Result<()>,
) -> c_int {
    if comm.is_null() {
        return on_world(function, |_| out("comm", comm));
    }
    // SAFETY: not null; the caller's promise.
    let handle = unsafe { *comm };
    on_comm(function, handle, |w| {
        how(w, handle)?;
        // SAFETY: as above.
        unsafe { *comm = MPI_COMM_NULL };
        Ok(())
    })
}
