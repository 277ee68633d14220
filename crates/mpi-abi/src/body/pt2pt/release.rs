//! Freeing and cancelling requests (sections 3.7.3 and 3.8.4).

use super::complete::{Look, failed_callback, look, on_requests};
use super::partitioned::free_partitioned;
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::request::{Active, Named, RequestObject, bad_request};
use crate::runtime::{Entered, World};
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;

/// Frees a request that is an object. What is active goes on without it.
fn free_object(w: &mut Entered, n: usize) -> Result<()> {
    let World { objects, process, .. } = &mut **w;
    match objects.requests.get_mut(n) {
        Some(RequestObject::Partitioned(_)) => return free_partitioned(w, MPI_Request(n)),
        Some(RequestObject::Generalised { functions, id, freed }) => {
            let functions = *functions;
            if process.take_outcome(*id).is_none() {
                // MPI_Grequest_complete needs it, and lets the program free its state.
                *freed = true;
                return Ok(());
            }
            objects.requests.remove(n);
            let code = w.outside(|| functions.release());
            return failed_callback(code).map_or(Ok(()), Err);
        }
        Some(RequestObject::Persistent { active, .. }) => {
            if let Some(Active::Running(id)) = active {
                process.detach(*id);
            }
            objects.requests.remove(n);
        }
        None => return Err(bad_request(MPI_Request(n))),
    }
    Ok(())
}

pub unsafe fn request_free(request: *mut MPI_Request) -> c_int {
    on_requests("MPI_Request_free", |w| {
        out("request", request)?;
        // SAFETY: checked above.
        let handle = unsafe { *request };
        let freed = match w.name_request(handle)? {
            Named::Null => return Err(wrong(Class::Request, "the request is null").into()),
            Named::Sent => Ok(()),
            Named::Plain(id) => {
                look(w, handle)?;
                w.process.detach(id);
                Ok(())
            }
            Named::Object(n) => free_object(w, n),
        };
        // A function of the program may have failed although the request is gone.
        if freed.is_ok() || w.name_request(handle).is_err() {
            // SAFETY: checked above.
            unsafe { *request = MPI_REQUEST_NULL };
        }
        Ok(freed?)
    })
}

pub unsafe fn cancel(request: *mut MPI_Request) -> c_int {
    on_requests("MPI_Cancel", |w| {
        out("request", request)?;
        // SAFETY: checked above.
        let handle = unsafe { *request };
        let target = match w.name_request(handle)? {
            Named::Null => return Err(wrong(Class::Request, "the request is null").into()),
            Named::Sent => return Ok(()),
            Named::Plain(id) => id,
            Named::Object(n) => match w.objects.requests.get(n) {
                Some(RequestObject::Persistent { active: Some(Active::Running(id)), .. }) => *id,
                Some(RequestObject::Generalised { functions, .. }) => {
                    let functions = *functions;
                    let done = look(w, handle)? == Look::Done;
                    let code = w.outside(|| match functions.cancel {
                        // SAFETY: the program's function and its own argument.
                        Some(cancel) => unsafe { cancel(functions.extra, c_int::from(done)) },
                        None => MPI_SUCCESS,
                    });
                    return failed_callback(code).map_or(Ok(()), |error| Err(error.into()));
                }
                Some(RequestObject::Persistent { active: Some(Active::Ended(_)), .. }) => {
                    return Ok(());
                }
                _ => return Err(wrong(Class::Request, "the request is not active").into()),
            },
        };
        w.process.cancel(target);
        if w.process.cancels_own_send(target) {
            // Programs look once whether a send to themselves was cancelled, as other MPIs let them.
            w.wait_until(|w| !w.process.cancels_own_send(target))?;
        }
        Ok(())
    })
}
