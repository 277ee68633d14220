//! Blocking collectives through shared memory (`hpvm_mpi::coll::shm`): choosing it, running it, waiting.

use super::Call;
use crate::generated::constants::MPI_Comm;
use crate::object::comm::CommObject;
use crate::runtime::{Entered, World};
use hpvm_mpi::coll::Combine;
use hpvm_mpi::coll::shm::{BlockBuffers, CollArgs, Exchange, Part, ShmCollective};
use hpvm_mpi::datatype::TypeRef;
use hpvm_mpi::error::Result;
use hpvm_mpi::op::Op;
use hpvm_mpi::pt2pt::{Incoming, Outgoing, packed_size};
use hpvm_mpi::{Class, Error, Process};
use hpvm_mux::Mux;
use std::sync::Arc;

/// The arguments of a collective that shared memory can carry, and the most bytes that a member shows to the
/// others. `None`: shared memory can't carry it.
pub type ShmArgs = Option<(u64, CollArgs)>;

/// Runs the collective on `comm` whose arguments `shm_args` returns, if it goes through shared memory, and blocks
/// until its end. False: nothing has happened, and the collective goes by messages.
///
/// # Safety
/// The buffers in it are those of the call.
#[inline]
pub unsafe fn try_shared_memory(
    w: &mut Entered,
    comm: MPI_Comm,
    function: &'static str,
    shm_args: impl FnOnce(Call<'_>) -> Result<ShmArgs>,
) -> Result<bool> {
    let World { process, objects, audit, .. } = &mut **w;
    let object = objects.comm(comm)?;
    if *audit || !process.may_use_slots(&object.comm) {
        return Ok(false);
    }
    let Some((bytes, args)) = shm_args(Call { process, objects, object, notes: None })? else {
        return Ok(false);
    };
    if !process.goes_by_slots(&object.comm, &args, bytes) {
        if process.goes_by_messages(&object.comm, &args, bytes) {
            return Ok(false);
        }
        // SAFETY: the caller's promise.
        return unsafe { other_way(w, comm, function, bytes, args) };
    }
    // SAFETY: as above; we wait for the end below.
    let Some(call) = (unsafe { exchange(process, object, args)? }) else { return Ok(true) };
    // While this thread waits, another one may free the handle, so we take a reference. Not before: a call that
    // need not wait would pay for the two locked instructions of a reference.
    let object = object.clone();
    let mut call = call.on(&object.comm);
    w.wait_for_slots(&mut call, function, &object)?;
    Ok(true)
}

/// Begins one exchange through slots. `None`: it is complete already.
///
/// # Safety
/// The buffers in `args` stay valid until the exchange has ended.
#[inline(always)]
unsafe fn exchange<'a>(
    process: &mut Process<Mux>,
    object: &'a CommObject,
    args: CollArgs,
) -> Result<Option<Exchange<'a>>> {
    // SAFETY: the caller's promise.
    let call = unsafe { Exchange::begin(&object.comm, args, Part::Short) };
    let mut call = call.ok_or_else(|| Error::from(Class::Intern))?;
    Ok(if call.poll(process)? { None } else { Some(call) })
}

/// A collective that is more than one exchange through slots, or whose method is not known yet.
///
/// # Safety
/// As for `try_shared_memory`.
// Not inlined: short collectives must not pay for it.
#[inline(never)]
unsafe fn other_way(
    w: &mut Entered,
    comm: MPI_Comm,
    function: &'static str,
    bytes: u64,
    args: CollArgs,
) -> Result<bool> {
    if w.process.is_monitored() {
        // SAFETY: the caller's promise.
        return unsafe { counted(w, comm, function, bytes, args) };
    }
    let object = w.objects.comm(comm)?.clone();
    // SAFETY: as above.
    unsafe { by_any_way(w, &object, function, bytes, args) }
}

/// The same in a process that counts what it sends to whom. There all collectives come here, also the shortest.
///
/// # Safety
/// As for `try_shared_memory`.
unsafe fn counted(
    w: &mut Entered,
    comm: MPI_Comm,
    function: &'static str,
    bytes: u64,
    args: CollArgs,
) -> Result<bool> {
    let World { process, objects, .. } = &mut **w;
    let object = objects.comm(comm)?;
    let shows = args.shows(&object.comm);
    if process.would_go_by_slots(&object.comm, &args, bytes) {
        // SAFETY: the caller's promise; we wait for the end below.
        let Some(call) = (unsafe { exchange(process, object, args)? }) else {
            process.count_shown(&object.comm, shows);
            return Ok(true);
        };
        // As in `try_shared_memory`.
        let object = object.clone();
        let mut call = call.on(&object.comm);
        w.wait_for_slots(&mut call, function, &object)?;
        w.process.count_shown(&object.comm, shows);
        return Ok(true);
    }
    let object = object.clone();
    process.resume_slots(&object.comm);
    // SAFETY: the caller's promise.
    let done = unsafe { by_any_way(w, &object, function, bytes, args) };
    w.process.suspend_slots(&object.comm);
    if done.as_ref().is_ok_and(|done| *done) {
        w.process.count_shown(&object.comm, shows);
    }
    done
}

/// Runs a collective by whatever method the table gives, and waits. False: it goes by messages.
///
/// # Safety
/// As for `try_shared_memory`.
unsafe fn by_any_way(
    w: &mut Entered,
    object: &Arc<CommObject>,
    function: &'static str,
    bytes: u64,
    args: CollArgs,
) -> Result<bool> {
    // SAFETY: the caller's promise; we wait for the end below.
    let Some(mut call) = (unsafe { w.process.begin_shm(&object.comm, args, bytes)? }) else {
        return Ok(false);
    };
    if !call.poll(&mut w.process)? {
        w.wait_for_slots(&mut call, function, object)?;
    }
    Ok(!call.goes_by_messages())
}

/// A broadcast of `m`.
pub fn bcast(root: u32, m: Incoming<'_>) -> ShmArgs {
    let bytes = packed_size(m.ty, m.count);
    Some((bytes, CollArgs::Bcast { root, buf: m.buf, count: m.count, ty: TypeRef::new(m.ty) }))
}

/// A reduction, if its operation is predefined and its elements have no gaps. `send` is `None` for
/// `MPI_IN_PLACE`; without `root` everybody gets the result.
pub fn reduce(
    root: Option<u32>,
    send: Option<*const u8>,
    recv: *mut u8,
    c: Combine<'_>,
) -> ShmArgs {
    let (Op::Predefined(op), Some(ty)) = (&**c.op, c.ty.as_predefined()) else { return None };
    let (first, bytes) = c.ty.as_run(c.count)?;
    let (count, send) = (usize::try_from(c.count).ok()?, send.unwrap_or(core::ptr::null()));
    let args = CollArgs::Reduce { root, send, recv, count, bytes: bytes as usize, ty, op: *op };
    (first == 0).then_some((bytes, args))
}

/// The buffers of an exchange of equal blocks, and the bytes of a block.
pub fn buffers(send: Option<Outgoing<'_>>, recv: Incoming<'_>) -> (u64, BlockBuffers) {
    let buffers = BlockBuffers {
        send: send.map(|m| m.buf),
        send_count: send.map_or(0, |m| m.count),
        send_ty: TypeRef::new(send.map_or(recv.ty, |m| m.ty)),
        recv: recv.buf,
        recv_count: recv.count,
        recv_ty: TypeRef::new(recv.ty),
    };
    (packed_size(recv.ty, recv.count), buffers)
}

/// A gather to `root`, who gives `recv`, and `send` unless that is in place; the others give `send`.
pub fn gather(root: u32, send: Option<Outgoing<'_>>, recv: Option<Incoming<'_>>) -> ShmArgs {
    let block = match (send, recv) {
        (_, Some(m)) => packed_size(m.ty, m.count),
        (Some(m), None) => packed_size(m.ty, m.count),
        (None, None) => return None,
    };
    let ty = recv.map(|m| m.ty).or(send.map(|m| m.ty))?;
    let buffers = BlockBuffers {
        send: send.map(|m| m.buf),
        send_count: send.map_or(0, |m| m.count),
        send_ty: TypeRef::new(send.map_or(ty, |m| m.ty)),
        recv: recv.map_or(core::ptr::null_mut(), |m| m.buf),
        recv_count: recv.map_or(0, |m| m.count),
        recv_ty: TypeRef::new(ty),
    };
    Some((block, CollArgs::Gather { root, buffers }))
}

/// A scatter from `root`, who gives `send`, and `recv` unless that is in place; the others give `recv`. `size` is
/// that of the communicator.
pub fn scatter(
    root: u32,
    size: u32,
    send: Option<Outgoing<'_>>,
    recv: Option<Incoming<'_>>,
) -> ShmArgs {
    let block = match (send, recv) {
        (Some(m), _) => packed_size(m.ty, m.count),
        (None, Some(m)) => packed_size(m.ty, m.count),
        (None, None) => return None,
    };
    let ty = send.map(|m| m.ty).or(recv.map(|m| m.ty))?;
    let buffers = BlockBuffers {
        send: send.map(|m| m.buf),
        send_count: send.map_or(0, |m| m.count),
        send_ty: TypeRef::new(ty),
        recv: recv.map_or(core::ptr::null_mut(), |m| m.buf),
        recv_count: recv.map_or(0, |m| m.count),
        recv_ty: TypeRef::new(recv.map_or(ty, |m| m.ty)),
    };
    let args = CollArgs::Scatter { root, buffers, in_place: recv.is_none() };
    Some((block.saturating_mul(u64::from(size.max(2)) - 1), args))
}
