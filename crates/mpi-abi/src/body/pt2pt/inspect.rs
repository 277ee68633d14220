//! Looking at requests without completing them (section 3.7.6).

use super::complete::{EMPTY, End, Found, Look, find, give, look, nth, on_requests, query};
use super::handles::Handles;
use crate::body::check::out;
use crate::generated::constants::*;
use crate::object::request::{Active, Named, RequestObject};
use crate::runtime::{Entered, World};
use core::ffi::c_int;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Outcome, ReqId, Status};

/// The status of a request that is done or idle, which stays as it is.
fn peek(w: &mut Entered, request: MPI_Request) -> Result<End> {
    let World { objects, process, .. } = &mut **w;
    if let Some(RequestObject::Partitioned(p)) = objects.requests.get_mut(request.0) {
        p.settle(process);
    }
    let outcome =
        |w: &World, id: ReqId| w.process.requests().get(id).map_or(Status::EMPTY, |r| r.status);
    let status = match w.name_request(request)? {
        Named::Null => return Ok(End::idle()),
        Named::Sent => Status::EMPTY,
        Named::Plain(id) => outcome(w, id),
        Named::Object(n) => match w.objects.requests.get(n) {
            Some(RequestObject::Persistent { active, .. }) => match active {
                Some(Active::Running(id)) => outcome(w, *id),
                Some(Active::Ended(o)) => o.status,
                None => return Ok(End::idle()),
            },
            Some(RequestObject::Partitioned(p)) => {
                p.active.map_or(Status::EMPTY, |id| outcome(w, id))
            }
            Some(RequestObject::Generalised { functions, .. }) => {
                let functions = *functions;
                let mut status = EMPTY;
                query(w, &functions, &mut status);
                let mut end = End::of(Outcome::EMPTY);
                end.status = status;
                return Ok(end);
            }
            None => Status::EMPTY,
        },
    };
    Ok(End::of(Outcome { status, ..Outcome::EMPTY }))
}

pub unsafe fn request_get_status(
    request: MPI_Request,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    on_requests("MPI_Request_get_status", |w| {
        out("flag", flag)?;
        w.glance()?;
        let done = look(w, request)? != Look::Pending;
        // SAFETY: checked above; the caller vouches for the status.
        unsafe {
            *flag = c_int::from(done);
            if done {
                give(status, &peek(w, request)?);
            }
        }
        Ok(())
    })
}

pub unsafe fn request_get_status_all(
    count: c_int,
    requests: *const MPI_Request,
    flag: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    on_requests("MPI_Request_get_status_all", |w| {
        out("flag", flag)?;
        // SAFETY: the caller's promises.
        let all = unsafe { Handles::new(count, requests)? };
        w.glance()?;
        let mut done = true;
        for r in all.iter() {
            done &= look(w, r)? != Look::Pending;
        }
        // SAFETY: as above.
        unsafe {
            *flag = c_int::from(done);
            for (i, r) in all.iter().enumerate().filter(|_| done) {
                give(nth(statuses, i), &peek(w, r)?);
            }
        }
        Ok(())
    })
}

pub unsafe fn request_get_status_any(
    count: c_int,
    requests: *const MPI_Request,
    indx: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    on_requests("MPI_Request_get_status_any", |w| {
        out("index", indx)?;
        out("flag", flag)?;
        // SAFETY: the caller's promises.
        let all = unsafe { Handles::new(count, requests)? };
        w.glance()?;
        let found = find(w, all)?;
        // SAFETY: as above.
        unsafe {
            *flag = c_int::from(!matches!(found, Found::Pending));
            *indx = MPI_UNDEFINED;
            match found {
                Found::At(i) => {
                    *indx = i as c_int;
                    give(status, &peek(w, all.get(i))?);
                }
                Found::Nothing => give(status, &End::idle()),
                Found::Pending => {}
            }
        }
        Ok(())
    })
}

pub unsafe fn request_get_status_some(
    incount: c_int,
    requests: *const MPI_Request,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    on_requests("MPI_Request_get_status_some", |w| {
        out("outcount", outcount)?;
        // SAFETY: the caller's promises.
        let all = unsafe { Handles::new(incount, requests)? };
        w.glance()?;
        let (mut active, mut n) = (false, 0);
        for (i, r) in all.iter().enumerate() {
            match look(w, r)? {
                Look::Idle => {}
                Look::Pending => active = true,
                // SAFETY: as above.
                Look::Done => unsafe {
                    active = true;
                    *indices.add(n) = i as c_int;
                    give(nth(statuses, n), &peek(w, r)?);
                    n += 1;
                },
            }
        }
        // SAFETY: checked above.
        unsafe { *outcount = if active { n as c_int } else { MPI_UNDEFINED } };
        Ok(())
    })
}
