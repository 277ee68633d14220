//! Buffered sends and the buffers for them (sections 3.4, 3.6 and 3.9).

use crate::args::CountOut;
use crate::body::buffer;
use crate::body::check::{self, out};
use crate::generated::constants::*;
use crate::object::request::handle;
use crate::raise::on_comm;
use crate::runtime::Entered;
use core::ffi::{c_int, c_void};
use hpvm_mpi::Status;
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::Outgoing;

/// Checks and does a buffered send.
unsafe fn perform(
    w: &mut Entered,
    (buf, count, datatype): (*const c_void, MPI_Count, MPI_Datatype),
    (dest, tag, comm): (c_int, c_int, MPI_Comm),
) -> Result<()> {
    let object = w.objects.comm(comm)?.clone();
    let ty = check::typed_for(&w.objects, (buf, count, datatype), dest)?;
    check::send_tag(tag)?;
    let Some(dst) = check::destination(&object.comm, dest)? else { return Ok(()) };
    let m = Outgoing { buf: buf.cast(), count, ty: &ty };
    // SAFETY: the caller's buffer holds `count` elements.
    unsafe { buffer::send(w, &object, m, dst, tag) }
}

pub unsafe fn bsend(
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    on_comm("MPI_Bsend", comm, |w| {
        // SAFETY: the caller's promises.
        unsafe { perform(w, (buf, count, datatype), (dest, tag, comm)) }
    })
}

pub unsafe fn ibsend(
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    on_comm("MPI_Ibsend", comm, |w| {
        out("request", request)?;
        // SAFETY: the caller's promises.
        unsafe { perform(w, (buf, count, datatype), (dest, tag, comm))? };
        let id = w.process.requests_mut().insert_done(Status::EMPTY);
        // SAFETY: checked above.
        unsafe { *request = handle(id) };
        Ok(())
    })
}

pub unsafe fn buffer_attach(buffer: *mut c_void, size: MPI_Count) -> c_int {
    buffer::attach_process(buffer, size)
}

pub unsafe fn buffer_detach(buffer_addr: *mut c_void, size: CountOut) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { buffer::detach_process(buffer_addr, size) }
}

pub unsafe fn buffer_flush() -> c_int {
    buffer::flush_process()
}

pub unsafe fn buffer_iflush(request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { buffer::iflush_process(request) }
}

pub unsafe fn comm_attach_buffer(comm: MPI_Comm, buffer: *mut c_void, size: MPI_Count) -> c_int {
    buffer::attach_comm(comm, buffer, size)
}

pub unsafe fn comm_detach_buffer(
    comm: MPI_Comm,
    buffer_addr: *mut c_void,
    size: CountOut,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { buffer::detach_comm(comm, buffer_addr, size) }
}

pub unsafe fn comm_flush_buffer(comm: MPI_Comm) -> c_int {
    buffer::flush_comm(comm)
}

pub unsafe fn comm_iflush_buffer(comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { buffer::iflush_comm(comm, request) }
}

pub unsafe fn session_attach_buffer(
    session: MPI_Session,
    buffer: *mut c_void,
    size: MPI_Count,
) -> c_int {
    buffer::attach_session(session, buffer, size)
}

pub unsafe fn session_detach_buffer(
    session: MPI_Session,
    buffer_addr: *mut c_void,
    size: CountOut,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { buffer::detach_session(session, buffer_addr, size) }
}

pub unsafe fn session_flush_buffer(session: MPI_Session) -> c_int {
    buffer::flush_session(session)
}

pub unsafe fn session_iflush_buffer(session: MPI_Session, request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { buffer::iflush_session(session, request) }
}
