//! Sends: four modes, blocking and not (sections 3.2.1, 3.4, 3.7).

use crate::body::check;
use crate::generated::constants::*;
use crate::object::request::{SENT, handle};
use crate::raise::raise_on;
use crate::runtime::{Entered, enter};
use core::ffi::{c_int, c_void};
use hpvm_mpi::Channel;
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Mode, Started};

/// The arguments of a send.
#[derive(Clone, Copy)]
pub(super) struct Args {
    pub buf: *const c_void,
    pub count: MPI_Count,
    pub datatype: MPI_Datatype,
    pub dest: c_int,
    pub tag: c_int,
    pub comm: MPI_Comm,
}

/// Checks and starts a send.
#[inline(always)]
pub(super) unsafe fn begin(w: &mut Entered, a: Args, mode: Mode) -> Result<Started> {
    let world = &mut **w;
    let comm = &world.objects.comm(a.comm)?.comm;
    let m = check::outgoing_to(&world.objects, (a.buf, a.count, a.datatype), a.dest)?;
    check::send_tag(a.tag)?;
    let Some(dst) = check::destination(comm, a.dest)? else { return Ok(Started::Done) };
    let context = comm.context(Channel::User);
    // SAFETY: the program keeps the buffer until the operation is complete.
    unsafe {
        if mode == Mode::Standard && world.process.send_short(m, dst, context, a.tag) {
            return Ok(Started::Done);
        }
        Ok(world.process.send(m, dst, context, a.tag, mode, None))
    }
}

#[inline(always)]
unsafe fn blocking(function: &'static str, a: Args, mode: Mode) -> c_int {
    let mut w = match enter() {
        Ok(w) => w,
        Err(error) => return raise_on(function, a.comm, error),
    };
    // SAFETY: we wait below, and the program keeps its buffer meanwhile.
    match unsafe { begin(&mut w, a, mode) } {
        Ok(Started::Done) => MPI_SUCCESS,
        other => wait(function, a.comm, w, other),
    }
}

/// What is left of a send that was not complete at once.
#[cold]
fn wait(function: &'static str, comm: MPI_Comm, mut w: Entered, started: Result<Started>) -> c_int {
    let result = match started {
        Ok(Started::Done) => Ok(()),
        Ok(Started::Pending(id)) => w.complete(id).map(drop),
        Err(error) => Err(error),
    };
    drop(w);
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_on(function, comm, error),
    }
}

#[inline(always)]
unsafe fn nonblocking(
    function: &'static str,
    a: Args,
    mode: Mode,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the program keeps its buffer until the request completes.
    match unsafe { start(a, mode, request) } {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_on(function, a.comm, error),
    }
}

#[inline(always)]
unsafe fn start(a: Args, mode: Mode, request: *mut MPI_Request) -> Result<()> {
    let mut w = enter()?;
    check::out("request", request)?;
    // SAFETY: the caller's promise; `request` was checked.
    unsafe {
        *request = match begin(&mut w, a, mode)? {
            Started::Done => SENT,
            Started::Pending(id) => handle(id),
        };
    }
    Ok(())
}

/// Standard mode.
#[inline(always)]
pub unsafe fn send(
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    let args = Args { buf, count, datatype, dest, tag, comm };
    // SAFETY: the caller's promises.
    unsafe { blocking("MPI_Send", args, Mode::Standard) }
}

/// The same, not blocking.
#[inline(always)]
pub unsafe fn isend(
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let args = Args { buf, count, datatype, dest, tag, comm };
    // SAFETY: the caller's promises.
    unsafe { nonblocking("MPI_Isend", args, Mode::Standard, request) }
}

/// Synchronous mode: complete when the receive has begun.
#[inline(always)]
pub unsafe fn ssend(
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    let args = Args { buf, count, datatype, dest, tag, comm };
    // SAFETY: the caller's promises.
    unsafe { blocking("MPI_Ssend", args, Mode::Synchronous) }
}

/// The same, not blocking.
#[inline(always)]
pub unsafe fn issend(
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let args = Args { buf, count, datatype, dest, tag, comm };
    // SAFETY: the caller's promises.
    unsafe { nonblocking("MPI_Issend", args, Mode::Synchronous, request) }
}

/// Ready mode: the receive has been called, which a standard send need not know.
#[inline(always)]
pub unsafe fn rsend(
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    let args = Args { buf, count, datatype, dest, tag, comm };
    // SAFETY: the caller's promises.
    unsafe { blocking("MPI_Rsend", args, Mode::Standard) }
}

/// The same, not blocking.
#[inline(always)]
pub unsafe fn irsend(
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let args = Args { buf, count, datatype, dest, tag, comm };
    // SAFETY: the caller's promises.
    unsafe { nonblocking("MPI_Irsend", args, Mode::Standard, request) }
}
