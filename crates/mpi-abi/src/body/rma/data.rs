//! `MPI_Put` and `MPI_Get`, and their forms with requests (sections 12.3.1, 12.3.2 and 12.3.5).

use super::access::{There, ensure_lock, target_type};
use super::plain::{self, Direction, Transfer};
use super::request::with_request;
use super::{leave, on_win, refused};
use crate::body::check;
use crate::generated::constants::*;
use crate::object::win::WinObject;
use crate::runtime::{Entered, World};
use core::ffi::{c_int, c_void};
use hpvm_mpi::Process;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use hpvm_mpi::rma::conflicts::Access;
use hpvm_mpi::rma::layout::{Parts, Side, check_sizes};
use hpvm_mux::Mux;
use hpvm_onesided::{OpId, Run};
use std::sync::Arc;

/// What is noted of a transfer until the epoch ends; a get with a request may be over long before.
fn access(direction: Direction, requested: bool) -> Option<Access> {
    match direction {
        Direction::Put => Some(Access::Put),
        Direction::Get => (!requested).then_some(Access::Get),
    }
}

/// One run of bytes on both sides, which most transfers are: offsets from the origin's address and from the
/// displacement, and the length.
#[inline(always)]
fn as_one_run(a: &Transfer, ty: &Datatype, target_ty: &Datatype) -> Option<(i64, i64, u64)> {
    let (from, len) = ty.as_run(a.count)?;
    let (to, room) = target_ty.as_run(a.target_count)?;
    (len == room).then_some((from, to, len))
}

/// Starts a transfer. `None`: it is complete on this side.
///
/// # Safety
/// The origin's buffer is valid until the operation is done.
#[inline(never)]
unsafe fn start(
    w: &mut Entered,
    win: MPI_Win,
    a: &Transfer,
    requested: bool,
) -> Result<Option<OpId>> {
    ensure_lock(w, win, a.rank)?;
    let World { process, objects, .. } = &mut **w;
    let window = objects.window(win)?;
    let origin = check::outgoing(objects, a.origin, a.count, a.datatype)?;
    let target_ty = target_type(objects, a.target_count, a.target_datatype)?;
    let Some(there) = window.there(a.rank, a.disp)? else { return Ok(None) };
    if let Some((from, to, len)) = as_one_run(a, origin.ty, target_ty)
        && window.plain
    {
        let local = a.origin.cast::<u8>().wrapping_offset(from as isize);
        let offset = there.at.wrapping_add(to) as u64;
        let (fm, onesided) = process.onesided();
        // SAFETY: the caller's promise; the range is checked by the layer below.
        let moved = unsafe {
            let (target, len) = (&there.peer.target, len as usize);
            match a.direction {
                Direction::Put if window.epochs.borrow().ends_by_notice() => {
                    onesided.put_before_notice(fm, target, offset, local, len)
                }
                Direction::Put => onesided.put(fm, target, offset, local, len),
                Direction::Get => onesided.get(fm, target, offset, local, len),
            }
        };
        return moved.map_err(|failure| refused(window, there.rank, &failure));
    }
    // SAFETY: the caller's promise.
    unsafe { in_parts(process, window, &there, (a, requested), origin.ty, target_ty) }
}

/// As `start`, of buffers with holes, or of a dynamic window.
///
/// # Safety
/// As for `start`.
#[inline(never)]
unsafe fn in_parts(
    process: &mut Process<Mux>,
    window: &WinObject,
    there: &There<'_>,
    (a, requested): (&Transfer, bool),
    ty: &Arc<Datatype>,
    target_ty: &Arc<Datatype>,
) -> Result<Option<OpId>> {
    let origin = Side { ty: ty.clone(), count: a.count };
    let target = Side { ty: target_ty.clone(), count: a.target_count };
    check_sizes(&origin, &target)?;
    window.look_closer(there, &target, access(a.direction, requested))?;
    let (address, at) = (a.origin.expose_provenance(), there.at);
    let runs = Parts::new([origin, target]).map(move |part| Run {
        local: core::ptr::with_exposed_provenance_mut(
            address.wrapping_add_signed(part.offsets[0] as isize),
        ),
        offset: at.wrapping_add(part.offsets[1]) as u64,
        len: part.len as usize,
    });
    let (fm, onesided) = process.onesided();
    // SAFETY: the caller's promise, for every run of the buffer.
    let moved = unsafe {
        match a.direction {
            Direction::Put => onesided.put_runs(fm, &there.peer.target, Box::new(runs)),
            Direction::Get => onesided.get_runs(fm, &there.peer.target, Box::new(runs)),
        }
    };
    moved.map_err(|failure| refused(window, there.rank, &failure))
}

/// A call whose transfer, a put or a get, the end of the epoch waits for. One copy of the code for each, so that it becomes part of the call.
///
/// # Safety
/// The origin's buffer is valid until then.
#[inline(always)]
unsafe fn until_epoch_ends<const PUTS: bool>(win: MPI_Win, a: &Transfer) -> c_int {
    on_win(if PUTS { "MPI_Put" } else { "MPI_Get" }, win, |w| {
        // SAFETY: the caller's promise.
        if let Some(()) = unsafe { plain::transfer(w, win, a) } {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        if let Some(op) = unsafe { start(w, win, a, false)? } {
            leave(w, op);
        }
        Ok(())
    })
}

pub unsafe fn put(
    origin_addr: *const c_void,
    origin_count: MPI_Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: MPI_Count,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> c_int {
    let a = Transfer {
        direction: Direction::Put,
        origin: origin_addr.cast_mut(),
        count: origin_count,
        datatype: origin_datatype,
        rank: target_rank,
        disp: target_disp,
        target_count,
        target_datatype,
    };
    // SAFETY: the caller's promise: the buffer stays until the epoch ends.
    unsafe { until_epoch_ends::<true>(win, &a) }
}

pub unsafe fn get(
    origin_addr: *mut c_void,
    origin_count: MPI_Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: MPI_Count,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> c_int {
    let a = Transfer {
        direction: Direction::Get,
        origin: origin_addr,
        count: origin_count,
        datatype: origin_datatype,
        rank: target_rank,
        disp: target_disp,
        target_count,
        target_datatype,
    };
    // SAFETY: the caller's promise: the buffer stays until the epoch ends.
    unsafe { until_epoch_ends::<false>(win, &a) }
}

pub unsafe fn rput(
    origin_addr: *const c_void,
    origin_count: MPI_Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: MPI_Count,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
    request: *mut MPI_Request,
) -> c_int {
    let a = Transfer {
        direction: Direction::Put,
        origin: origin_addr.cast_mut(),
        count: origin_count,
        datatype: origin_datatype,
        rank: target_rank,
        disp: target_disp,
        target_count,
        target_datatype,
    };
    // SAFETY: the caller's promises: the buffer stays until the request is complete.
    unsafe { with_request("MPI_Rput", win, target_rank, request, |w| start(w, win, &a, true)) }
}

pub unsafe fn rget(
    origin_addr: *mut c_void,
    origin_count: MPI_Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: MPI_Count,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
    request: *mut MPI_Request,
) -> c_int {
    let a = Transfer {
        direction: Direction::Get,
        origin: origin_addr,
        count: origin_count,
        datatype: origin_datatype,
        rank: target_rank,
        disp: target_disp,
        target_count,
        target_datatype,
    };
    // SAFETY: the caller's promises: the buffer stays until the request is complete.
    unsafe { with_request("MPI_Rget", win, target_rank, request, |w| start(w, win, &a, true)) }
}
