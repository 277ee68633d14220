//! Combined sends and receives as one request (section 3.10).

use super::{recv, send};
use crate::body::check::{self, out};
use crate::generated::constants::*;
use crate::object::request::handle;
use crate::raise::on_comm;
use crate::runtime::Entered;
use core::ffi::{c_int, c_void};
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing};
use hpvm_mpi::{Channel, Status};

/// Starts both halves; the request ends when both have. With `copied` the message is copied or
/// gone before the receive starts, so that both may use one buffer.
unsafe fn begin(
    w: &mut Entered,
    s: send::Args,
    r: recv::Args,
    copied: bool,
    request: *mut MPI_Request,
) -> Result<()> {
    out("request", request)?;
    let comm = w.objects.comm(s.comm)?.comm.clone();
    let out_ty = check::typed_for(&w.objects, (s.buf, s.count, s.datatype), s.dest)?;
    let in_ty = check::typed_for(&w.objects, (r.buf, r.count, r.datatype), r.source)?;
    check::send_tag(s.tag)?;
    let dst = check::destination(&comm, s.dest)?;
    let pattern = check::pattern(&comm, r.source, r.tag)?;
    let process = &mut w.process;
    let outgoing = Outgoing { buf: s.buf.cast(), count: s.count, ty: &out_ty };
    let incoming = Incoming { buf: r.buf.cast(), count: r.count, ty: &in_ty };
    let mode = if copied { Mode::Buffered } else { Mode::Standard };
    let whole = process.begin_several(&comm, 2, None);
    match dst {
        // SAFETY: the program keeps its buffers until the request completes, or writes only
        // through the receive below when the message is copied.
        Some(dst) => unsafe {
            let context = comm.context(Channel::User);
            process.send_part(whole, outgoing, dst, context, s.tag, mode);
        },
        None => process.end_part(whole, None),
    }
    match pattern {
        // SAFETY: as above.
        Some(pattern) => unsafe {
            process.recv_part(whole, incoming, &comm, Channel::User, pattern);
        },
        None => process.end_part(whole, Some(Status::FROM_NULL)),
    }
    // SAFETY: checked above.
    unsafe { *request = handle(whole) };
    Ok(())
}

pub unsafe fn isendrecv(
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
    request: *mut MPI_Request,
) -> c_int {
    let s =
        send::Args { buf: sendbuf, count: sendcount, datatype: sendtype, dest, tag: sendtag, comm };
    let r = recv::Args {
        buf: recvbuf,
        count: recvcount,
        datatype: recvtype,
        source,
        tag: recvtag,
        comm,
    };
    // SAFETY: the caller's promises.
    on_comm("MPI_Isendrecv", comm, |w| unsafe { begin(w, s, r, false, request) })
}

pub unsafe fn isendrecv_replace(
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let s = send::Args { buf, count, datatype, dest, tag: sendtag, comm };
    let r = recv::Args { buf, count, datatype, source, tag: recvtag, comm };
    // SAFETY: the caller's promises.
    on_comm("MPI_Isendrecv_replace", comm, |w| unsafe { begin(w, s, r, true, request) })
}
