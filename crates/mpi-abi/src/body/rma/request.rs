//! Requests of one-sided operations (section 12.3.5): they are complete when the operations are done on this side.

use super::{class, on_win, window};
use crate::body::check::out;
use crate::body::watch::Watched;
use crate::generated::constants::*;
use crate::object::request;
use crate::runtime::Entered;
use core::ffi::c_int;
use hpvm_mpi::engine::requests::Operation;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Error, Status};
use hpvm_onesided::OpId;

/// Operations with requests are for passive target communication only.
fn check(
    w: &mut Entered,
    function: &'static str,
    win: MPI_Win,
    rank: c_int,
    request: *mut MPI_Request,
) -> Result<()> {
    out("request", request)?;
    let window = window(w, win)?;
    match window.rank_of(rank)? {
        Some(rank) => window.epochs.borrow().passive(rank, function),
        None => Ok(()),
    }
}

/// Runs the body of a call whose operations, which it returns, a request stands for.
///
/// # Safety
/// `request` is null or may be written.
pub(super) unsafe fn with_request<I: IntoIterator<Item = OpId>>(
    function: &'static str,
    win: MPI_Win,
    rank: c_int,
    request: *mut MPI_Request,
    start: impl FnOnce(&mut Entered) -> Result<I>,
) -> c_int {
    on_win(function, win, |w| {
        check(w, function, win, rank, request)?;
        let ops = start(w)?.into_iter().collect();
        // SAFETY: `check` has found that it is not null.
        unsafe { *request = of(w, ops) };
        Ok(())
    })
}

/// A request that is complete when all of `ops` are.
fn of(w: &mut Entered, ops: Vec<OpId>) -> MPI_Request {
    if ops.is_empty() {
        return request::handle(w.process.requests_mut().insert_done(Status::EMPTY));
    }
    let id = w.process.requests_mut().insert(Operation::External, None);
    w.objects.watched.push(Watched::OneSided { request: id, ops });
    request::handle(id)
}

/// Looks at the operations of a request. True: all are done, and the request is complete.
pub fn poll(w: &mut Entered, id: hpvm_mpi::ReqId, ops: &mut Vec<OpId>) -> bool {
    let (_, onesided) = w.process.onesided();
    let mut failed = None;
    ops.retain(|op| {
        let done = onesided.is_done(*op);
        if done && let Err(failure) = onesided.forget(*op) {
            failed.get_or_insert(failure);
        }
        !done
    });
    if let (Some(failure), Some(request)) = (failed, w.process.requests_mut().get_mut(id)) {
        let error = Error::new(class(&failure), failure.to_string());
        request.error.get_or_insert(Box::new(error));
    }
    let done = ops.is_empty();
    if done {
        w.process.complete_external(id);
    }
    done
}
