//! Persistent requests (section 3.9).

use super::partitioned::start_partitioned;
use crate::body::buffer;
use crate::body::check::{self, out, wrong};
use crate::generated::constants::*;
use crate::object::request::{Active, RequestObject, Template, bad_request};
use crate::object::too_many;
use crate::raise::{on_comm, on_world};
use crate::runtime::{Entered, World};
use core::ffi::{c_int, c_void};
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Class, Outcome, Status};

/// Keeps a template as an inactive request.
///
/// # Safety
/// `request` may be written.
pub(crate) unsafe fn keep(
    w: &mut Entered,
    template: Template,
    request: *mut MPI_Request,
) -> Result<()> {
    out("request", request)?;
    let object = RequestObject::Persistent { template, active: None };
    let handle = w.objects.requests.insert(object).ok_or_else(|| too_many("requests"))?;
    // SAFETY: checked above.
    unsafe { *request = MPI_Request(handle) };
    Ok(())
}

unsafe fn send_template(
    function: &'static str,
    (buf, count, datatype): (*const c_void, MPI_Count, MPI_Datatype),
    (dest, tag, comm): (c_int, c_int, MPI_Comm),
    mode: Mode,
    request: *mut MPI_Request,
) -> c_int {
    on_comm(function, comm, |w| {
        let object = w.objects.comm(comm)?.clone();
        let ty = check::typed_for(&w.objects, (buf, count, datatype), dest)?;
        check::send_tag(tag)?;
        check::destination(&object.comm, dest)?;
        let template = Template::Send { buf: buf.addr(), count, ty, dest, tag, comm: object, mode };
        // SAFETY: the caller's promise.
        unsafe { keep(w, template, request) }
    })
}

macro_rules! send_inits {
    ($(fn $function:ident, $name:literal, $mode:expr;)*) => {$(
        pub unsafe fn $function(buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
            dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
            let (message, envelope) = ((buf, count, datatype), (dest, tag, comm));
            // SAFETY: the caller's promises.
            unsafe { send_template($name, message, envelope, $mode, request) }
        }
    )*};
}

send_inits! {
    fn send_init, "MPI_Send_init", Mode::Standard;
    fn ssend_init, "MPI_Ssend_init", Mode::Synchronous;
    fn rsend_init, "MPI_Rsend_init", Mode::Standard;
    fn bsend_init, "MPI_Bsend_init", Mode::Buffered;
}

pub unsafe fn recv_init(
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    on_comm("MPI_Recv_init", comm, |w| {
        let object = w.objects.comm(comm)?.clone();
        let ty = check::typed_for(&w.objects, (buf, count, datatype), source)?;
        check::pattern(&object.comm, source, tag)?;
        let template = Template::Recv { buf: buf.addr(), count, ty, source, tag, comm: object };
        // SAFETY: the caller's promise.
        unsafe { keep(w, template, request) }
    })
}

/// Starts an inactive persistent request.
pub(crate) fn start_one(w: &mut Entered, request: MPI_Request) -> Result<()> {
    match w.objects.requests.get(request.0) {
        Some(RequestObject::Partitioned(_)) => return start_partitioned(w, request),
        Some(RequestObject::Persistent { template, active: None }) if template.is_buffered() => {
            let template = template.clone();
            return start_buffered(w, request, template);
        }
        _ => {}
    }
    let World { objects, process, .. } = &mut **w;
    let Some(RequestObject::Persistent { template, active }) = objects.requests.get_mut(request.0)
    else {
        return Err(match request {
            MPI_REQUEST_NULL => wrong(Class::Request, "the request is null"),
            _ => bad_request(request),
        });
    };
    if active.is_some() {
        return Err(wrong(Class::Request, "the request is active already"));
    }
    let ended = |status| Active::Ended(Outcome { status, ..Outcome::EMPTY });
    *active = Some(match template {
        Template::Send { buf, count, ty, dest, tag, comm, mode } => {
            let m = Outgoing { buf: *buf as *const u8, count: *count, ty };
            match check::destination(&comm.comm, *dest)? {
                None => ended(Status::EMPTY),
                Some(dst) => {
                    let context = comm.comm.context(Channel::User);
                    // SAFETY: the program keeps the buffer while the request is active.
                    match unsafe { process.send(m, dst, context, *tag, *mode, None) } {
                        Started::Done => ended(Status::EMPTY),
                        Started::Pending(id) => Active::Running(id),
                    }
                }
            }
        }
        Template::Recv { buf, count, ty, source, tag, comm } => {
            let m = Incoming { buf: *buf as *mut u8, count: *count, ty };
            match check::pattern(&comm.comm, *source, *tag)? {
                None => ended(Status::FROM_NULL),
                Some(pattern) => {
                    // SAFETY: as above.
                    Active::Running(unsafe {
                        process.recv(m, &comm.comm, Channel::User, pattern, None)
                    })
                }
            }
        }
        Template::Collective { comm, plan } => {
            // SAFETY: as above, for all buffers of the plan.
            Active::Running(unsafe { process.start_collective(&comm.comm, plan.0.clone()) })
        }
    });
    Ok(())
}

/// A buffered send is complete once its message is in the buffer.
fn start_buffered(w: &mut Entered, request: MPI_Request, template: Template) -> Result<()> {
    if let Template::Send { buf, count, ty, dest, tag, comm, .. } = template
        && let Some(dst) = check::destination(&comm.comm, dest)?
    {
        let m = Outgoing { buf: buf as *const u8, count, ty: &ty };
        // SAFETY: the program keeps the buffer while the request is active.
        unsafe { buffer::send(w, &comm, m, dst, tag)? };
    }
    if let Some(RequestObject::Persistent { active, .. }) = w.objects.requests.get_mut(request.0) {
        *active = Some(Active::Ended(Outcome::EMPTY));
    }
    Ok(())
}

pub unsafe fn start(request: *mut MPI_Request) -> c_int {
    on_world("MPI_Start", |w| {
        out("request", request)?;
        // SAFETY: checked above.
        start_one(w, unsafe { *request })
    })
}

pub unsafe fn startall(count: c_int, requests: *mut MPI_Request) -> c_int {
    on_world("MPI_Startall", |w| {
        if count > 0 {
            out("array_of_requests", requests)?;
        }
        for i in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the caller gave `count` requests.
            start_one(w, unsafe { *requests.add(i) })?;
        }
        Ok(())
    })
}
