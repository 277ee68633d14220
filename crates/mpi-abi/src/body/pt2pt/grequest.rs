//! Generalised requests (section 13.2): operations that the program itself completes.

use super::complete::{failed_callback, on_requests};
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::request::{Generalised, Named, RequestObject};
use crate::object::too_many;
use crate::raise::on_world;
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::engine::requests::Operation;

pub unsafe fn grequest_start(
    query_fn: MPI_Grequest_query_function,
    free_fn: MPI_Grequest_free_function,
    cancel_fn: MPI_Grequest_cancel_function,
    extra_state: *mut c_void,
    request: *mut MPI_Request,
) -> c_int {
    on_world("MPI_Grequest_start", |w| {
        out("request", request)?;
        let functions =
            Generalised { query: query_fn, free: free_fn, cancel: cancel_fn, extra: extra_state };
        let id = w.process.requests_mut().insert(Operation::External, None);
        let object = RequestObject::Generalised { functions, id, freed: false };
        let Some(handle) = w.objects.requests.insert(object) else {
            w.process.requests_mut().remove(id);
            return Err(too_many("requests"));
        };
        // SAFETY: checked above.
        unsafe { *request = MPI_Request(handle) };
        Ok(())
    })
}

/// May be called by a thread other than those that wait.
pub unsafe fn grequest_complete(request: MPI_Request) -> c_int {
    on_requests("MPI_Grequest_complete", |w| {
        let object = match w.name_request(request)? {
            Named::Object(n) => w.objects.requests.get(n),
            _ => None,
        };
        let Some(RequestObject::Generalised { functions, id, freed }) = object else {
            let text = "expected a generalised request that is not complete";
            return Err(wrong(Class::Request, text).into());
        };
        let (functions, id, freed) = (*functions, *id, *freed);
        w.process.complete_external(id);
        w.alarm();
        if freed {
            // Nobody will wait for it: its state goes now.
            w.objects.requests.remove(request.0);
            w.process.take_outcome(id);
            let code = w.outside(|| functions.release());
            return failed_callback(code).map_or(Ok(()), |error| Err(error.into()));
        }
        Ok(())
    })
}
