//! Receives, and sends combined with them (sections 3.2.4, 3.7, 3.10).

use super::send;
use super::status::store;
use crate::body::check;
use crate::generated::constants::*;
use crate::object::request::handle;
use crate::raise::{on_comm, raise_on};
use crate::runtime::{Entered, enter};
use core::ffi::{c_int, c_void};
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Mode, Started};
use hpvm_mpi::{Channel, Class, Received, ReqId, Status};

/// The arguments of a receive.
#[derive(Clone, Copy)]
pub(super) struct Args {
    pub buf: *mut c_void,
    pub count: MPI_Count,
    pub datatype: MPI_Datatype,
    pub source: c_int,
    pub tag: c_int,
    pub comm: MPI_Comm,
}

/// Checks and starts a receive; `None` from `MPI_PROC_NULL`.
#[inline(always)]
pub(super) unsafe fn begin(w: &mut Entered, a: Args) -> Result<Option<ReqId>> {
    let world = &mut **w;
    let comm = &world.objects.comm(a.comm)?.comm;
    let m = check::incoming_from(&world.objects, (a.buf, a.count, a.datatype), a.source)?;
    let Some(pattern) = check::pattern(comm, a.source, a.tag)? else { return Ok(None) };
    // SAFETY: the program keeps the buffer until the operation is complete.
    Ok(Some(unsafe { world.process.recv(m, comm, Channel::User, pattern, None) }))
}

/// Waits for a receive and stores its status, also when it was truncated.
#[inline(always)]
pub(super) unsafe fn finish(
    w: &mut Entered,
    id: Option<ReqId>,
    status: *mut MPI_Status,
) -> Result<()> {
    let Some(id) = id else {
        // SAFETY: the caller's promise.
        unsafe { store(status, &Status::FROM_NULL) };
        return Ok(());
    };
    let outcome = w.wait_for_new(id)?;
    // SAFETY: the caller's promise.
    unsafe { store(status, &outcome.status) };
    match outcome.error {
        None => Ok(()),
        Some(error) => Err(*error),
    }
}

#[inline(always)]
pub unsafe fn recv(
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> c_int {
    let mut w = match enter() {
        Ok(w) => w,
        Err(error) => return raise_on("MPI_Recv", comm, error),
    };
    // SAFETY: both wait, and the program keeps its buffer meanwhile.
    let result = unsafe {
        match w.shared() {
            false => recv_single_threaded(
                &mut w,
                Args { buf, count, datatype, source, tag, comm },
                status,
            ),
            true => {
                recv_multithreaded(&mut w, Args { buf, count, datatype, source, tag, comm }, status)
            }
        }
    };
    drop(w);
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_on("MPI_Recv", comm, error),
    }
}

/// A blocking receive while other threads may be inside MPI.
#[inline(never)]
unsafe fn recv_multithreaded(w: &mut Entered, a: Args, status: *mut MPI_Status) -> Result<()> {
    // SAFETY: the caller's promises.
    unsafe {
        let id = begin(w, a)?;
        finish(w, id, status)
    }
}

/// A blocking receive of a process in which no other thread is inside MPI.
#[inline(always)]
unsafe fn recv_single_threaded(w: &mut Entered, a: Args, status: *mut MPI_Status) -> Result<()> {
    let polls = w.polls_before_yield();
    let world = &mut **w;
    let comm = &world.objects.comm(a.comm)?.comm;
    let m = check::incoming_from(&world.objects, (a.buf, a.count, a.datatype), a.source)?;
    let Some(pattern) = check::pattern(comm, a.source, a.tag)? else {
        // SAFETY: the caller's promise.
        return unsafe { finish(w, None, status) };
    };
    // SAFETY: the program keeps the buffer until the operation is complete, and vouches for `status`.
    unsafe {
        match world.process.recv_polling(m, comm, pattern, polls) {
            Some(found) => {
                store(status, &found);
                Ok(())
            }
            None => recv_after_polling(w, a, pattern, status),
        }
    }
}

/// A blocking receive whose message was not the next to come, or is not plain.
#[inline(never)]
unsafe fn recv_after_polling(
    w: &mut Entered,
    a: Args,
    pattern: Pattern,
    status: *mut MPI_Status,
) -> Result<()> {
    let world = &mut **w;
    let comm = &world.objects.comm(a.comm)?.comm;
    let m = check::incoming_from(&world.objects, (a.buf, a.count, a.datatype), a.source)?;
    // SAFETY: the program keeps the buffer until the operation is complete.
    let received = unsafe { world.process.recv_after_polling(m, comm, pattern) };
    match received.map_err(|broken| crate::raise::broken(&mut world.job, &broken))? {
        Received::Done(found) => {
            // SAFETY: the caller's promise.
            unsafe { store(status, &found) };
            Ok(())
        }
        Received::Truncated(found, error) => {
            // SAFETY: the caller's promise.
            unsafe { store(status, &found) };
            Err(error)
        }
        // SAFETY: the caller's promise.
        Received::Pending(id) => unsafe { finish(w, Some(id), status) },
    }
}

#[inline(always)]
pub unsafe fn irecv(
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let args = Args { buf, count, datatype, source, tag, comm };
    // SAFETY: the program keeps its buffer until the request completes.
    match unsafe { start(args, request) } {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_on("MPI_Irecv", comm, error),
    }
}

#[inline(always)]
unsafe fn start(a: Args, request: *mut MPI_Request) -> Result<()> {
    let mut w = enter()?;
    check::out("request", request)?;
    // SAFETY: the caller's promise.
    let id = unsafe { begin(&mut w, a)? };
    let id = id.unwrap_or_else(|| w.process.requests_mut().insert_done(Status::FROM_NULL));
    // SAFETY: checked above.
    unsafe { *request = handle(id) };
    Ok(())
}

pub unsafe fn sendrecv(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> c_int {
    let s =
        send::Args { buf: sendbuf, count: sendcount, datatype: sendtype, dest, tag: sendtag, comm };
    let r = Args { buf: recvbuf, count: recvcount, datatype: recvtype, source, tag: recvtag, comm };
    on_comm("MPI_Sendrecv", comm, |w| {
        // SAFETY: both operations are complete when this returns; until then the program keeps
        // its buffers.
        unsafe { exchange(w, s, r, status) }
    })
}

/// Both halves of a combined send and receive.
unsafe fn exchange(w: &mut Entered, s: send::Args, r: Args, status: *mut MPI_Status) -> Result<()> {
    check_send(w, s)?;
    // SAFETY: the caller's promises; see above.
    unsafe {
        let id = begin(w, r)?;
        let sent = send::begin(w, s, Mode::Standard)?;
        let received = finish(w, id, status);
        if let Started::Pending(id) = sent {
            w.complete(id)?;
        }
        received
    }
}

/// All checks of a send, so that a receive is not started in vain.
fn check_send(w: &Entered, s: send::Args) -> Result<()> {
    let comm = &w.objects.comm(s.comm)?.comm;
    check::outgoing_to(&w.objects, (s.buf, s.count, s.datatype), s.dest)?;
    check::send_tag(s.tag)?;
    check::destination(comm, s.dest).map(drop)
}

pub unsafe fn sendrecv_replace(
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> c_int {
    on_comm("MPI_Sendrecv_replace", comm, |w| {
        // SAFETY: the caller's promises; `copy` lives to the end of the exchange.
        let copy = unsafe { packed_copy(w, buf, count, datatype)? };
        let len = copy.len() as i64;
        let s = send::Args {
            buf: copy.as_ptr().cast(),
            count: len,
            datatype: MPI_BYTE,
            dest,
            tag: sendtag,
            comm,
        };
        let r = Args { buf, count, datatype, source, tag: recvtag, comm };
        // SAFETY: as above.
        unsafe { exchange(w, s, r, status) }
    })
}

/// The packed form of a buffer of the program, never empty so that it has an address.
pub(super) unsafe fn packed_copy(
    w: &Entered,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> Result<Vec<u8>> {
    let m = check::outgoing(&w.objects, buf, count, datatype)?;
    let bytes = m.packed_size() as usize;
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.max(1))
        .map_err(|_| check::wrong(Class::NoMem, format!("{bytes} bytes are not to be had")))?;
    copy.resize(bytes, 0);
    // SAFETY: the caller's buffer holds `count` elements.
    unsafe { m.ty.pack(m.buf, m.count, 0, &mut copy) };
    Ok(copy)
}
