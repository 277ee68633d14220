//! Buffers for buffered sends (MPI 5.0, section 3.6).
//!
//! The library keeps messages of its own; the attached buffer only says how much it may keep, so
//! that a program sees the limits that it set. Space counts as used until the message has left.
//!
//! A buffered send uses the buffer of its communicator, else that of the session that the
//! communicator's group comes from, else that of the process.

use crate::args::CountOut;
use crate::body::check::{out, wrong};
use crate::body::session::on_session;
use crate::body::watch::Watched;
use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::object::request::handle;
use crate::raise::{on_comm, on_world};
use crate::runtime::{Entered, World};
use core::ffi::{c_int, c_void};
use hpvm_fm::Rank;
use hpvm_mpi::engine::requests::{Operation, Requests};
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Class, ReqId};
use std::sync::Arc;

/// Turns of progress that a send gives others to make room. One would do but for packets that
/// wait for credits.
const TURNS: u32 = 64;

/// What a message costs beyond its bytes: the least `MPI_BSEND_OVERHEAD` of the ABIs (MPICH's), so
/// that programs built for any of them reserve enough.
const OVERHEAD: i64 = 96;

/// What the program attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    /// `MPI_BUFFER_AUTOMATIC`: as much as needed.
    Automatic,
    /// Address and size in bytes.
    Given(usize, i64),
}

/// A place to attach a buffer to, and the messages that use it.
#[derive(Debug, Default)]
pub struct Attached {
    space: Option<Space>,
    /// Messages under way and the bytes that each uses. The engine frees their requests.
    messages: Vec<(ReqId, i64)>,
}

impl Attached {
    fn attach(&mut self, buffer: *mut c_void, size: i64) -> Result<()> {
        if self.space.is_some() {
            let text = "a buffer is attached already: detach it first";
            return Err(wrong(Class::Buffer, text));
        }
        self.space = Some(if buffer == MPI_BUFFER_AUTOMATIC {
            Space::Automatic
        } else if size < 0 {
            return Err(wrong(Class::Arg, format!("size is {size}; expected 0 or more")));
        } else if buffer.is_null() && size > 0 {
            return Err(wrong(Class::Buffer, format!("the buffer of {size} bytes is null")));
        } else {
            Space::Given(buffer.addr(), size)
        });
        Ok(())
    }

    /// Whether there is a buffer.
    pub fn is_attached(&self) -> bool {
        self.space.is_some()
    }

    /// Forgets messages that have left.
    fn reap(&mut self, requests: &Requests) {
        self.messages.retain(|(id, _)| requests.get(*id).is_some_and(|r| !r.done));
    }

    fn has_left(&mut self, requests: &Requests) -> bool {
        self.reap(requests);
        self.messages.is_empty()
    }

    /// Whether `bytes` more fit.
    fn fits(&mut self, requests: &Requests, bytes: i64) -> bool {
        self.reap(requests);
        match self.space {
            None => false,
            Some(Space::Automatic) => true,
            Some(Space::Given(_, size)) => self.used().saturating_add(bytes) <= size,
        }
    }

    fn used(&self) -> i64 {
        self.messages.iter().map(|(_, bytes)| bytes).sum()
    }

    fn full(&self, bytes: i64) -> hpvm_mpi::Error {
        let text = match self.space {
            Some(Space::Given(_, size)) => format!(
                "a message that needs {bytes} bytes with MPI_BSEND_OVERHEAD does not fit in the \
                 attached buffer of {size} bytes, of which {} are in use",
                self.used()
            ),
            _ => "no buffer is attached: call MPI_Buffer_attach first".into(),
        };
        wrong(Class::Buffer, text)
    }
}

/// Where a buffer is attached.
#[derive(Clone)]
enum Owner {
    Process,
    Comm(Arc<CommObject>),
    Session(MPI_Session),
}

impl Owner {
    /// Whose buffer a send on `comm` uses.
    fn of(w: &Entered, comm: &Arc<CommObject>) -> Owner {
        if comm.extras().buffer.space.is_some() {
            return Owner::Comm(comm.clone());
        }
        let session = MPI_Session(comm.comm.group().origin() as usize);
        match w.objects.session(session) {
            Ok(s) if s.buffer.space.is_some() => Owner::Session(session),
            _ => Owner::Process,
        }
    }

    fn with<R>(
        &self,
        world: &mut World,
        f: impl FnOnce(&mut Attached, &Requests) -> R,
    ) -> Result<R> {
        let requests = world.process.requests();
        Ok(match self {
            Owner::Process => f(&mut world.objects.buffer, requests),
            Owner::Comm(object) => f(&mut object.extras().buffer, requests),
            Owner::Session(session) => {
                f(&mut world.objects.session_mut(*session)?.buffer, requests)
            }
        })
    }
}

/// A buffered send: the message is copied or gone when this returns.
///
/// # Safety
/// `m.buf` is valid for reads of `m.count` elements.
pub(crate) unsafe fn send(
    w: &mut Entered,
    comm: &Arc<CommObject>,
    m: Outgoing<'_>,
    dst: Rank,
    tag: i32,
) -> Result<()> {
    let owner = Owner::of(w, comm);
    let bytes = (m.packed_size() as i64).saturating_add(OVERHEAD);
    let mut turns = 0;
    while !owner.with(w, |a, requests| a.fits(requests, bytes))? {
        if turns == TURNS || !w.progress_step()? {
            return owner.with(w, |a, _| Err(a.full(bytes)))?;
        }
        turns += 1;
    }
    let context = comm.comm.context(Channel::User);
    // SAFETY: the caller's promise; in this mode the engine copies what it can't send at once.
    let started = unsafe { w.process.send(m, dst, context, tag, Mode::Buffered, None) };
    if let Started::Pending(id) = started {
        w.process.detach(id);
        owner.with(w, |a, _| a.messages.push((id, bytes)))?;
    }
    Ok(())
}

/// Blocks until all messages have left, and gives the buffer back.
unsafe fn detach(
    w: &mut Entered,
    owner: &Owner,
    address: *mut c_void,
    size: CountOut,
) -> Result<()> {
    out("buffer_addr", address)?;
    flush(w, owner)?;
    let space = owner.with(w, |a, _| a.space.take())?;
    let (found, bytes) = match space {
        None => (core::ptr::null_mut(), 0),
        Some(Space::Automatic) => (MPI_BUFFER_AUTOMATIC, 0),
        Some(Space::Given(address, bytes)) => (address as *mut c_void, bytes),
    };
    // SAFETY: `address` is where the program wants the pointer, `size` where it wants the size.
    unsafe {
        *address.cast::<*mut c_void>() = found;
        size.set(bytes);
    }
    Ok(())
}

fn flush(w: &mut Entered, owner: &Owner) -> Result<()> {
    let mut failed = Ok(());
    w.wait_until(|w| {
        owner.with(w, |a, requests| a.has_left(requests)).unwrap_or_else(|error| {
            failed = Err(error);
            true
        })
    })?;
    failed
}

unsafe fn iflush(w: &mut Entered, owner: &Owner, request: *mut MPI_Request) -> Result<()> {
    out("request", request)?;
    let messages = owner.with(w, |a, requests| {
        a.reap(requests);
        a.messages.iter().map(|(id, _)| *id).collect::<Vec<_>>()
    })?;
    let id = w.process.requests_mut().insert(Operation::External, None);
    match messages.is_empty() {
        true => w.process.complete_external(id),
        false => w.objects.watched.push(Watched::Flush { request: id, messages }),
    }
    // SAFETY: checked above.
    unsafe { *request = handle(id) };
    Ok(())
}

pub(crate) fn attach_process(buffer: *mut c_void, size: MPI_Count) -> c_int {
    on_world("MPI_Buffer_attach", |w| w.objects.buffer.attach(buffer, size))
}

pub(crate) unsafe fn detach_process(address: *mut c_void, size: CountOut) -> c_int {
    // SAFETY: the caller's promises.
    on_world("MPI_Buffer_detach", |w| unsafe { detach(w, &Owner::Process, address, size) })
}

pub(crate) fn flush_process() -> c_int {
    on_world("MPI_Buffer_flush", |w| flush(w, &Owner::Process))
}

pub(crate) unsafe fn iflush_process(request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller's promises.
    on_world("MPI_Buffer_iflush", |w| unsafe { iflush(w, &Owner::Process, request) })
}

fn of_comm(w: &Entered, comm: MPI_Comm) -> Result<Owner> {
    Ok(Owner::Comm(w.objects.comm(comm)?.clone()))
}

pub(crate) fn attach_comm(comm: MPI_Comm, buffer: *mut c_void, size: MPI_Count) -> c_int {
    on_comm("MPI_Comm_attach_buffer", comm, |w| {
        w.objects.comm(comm)?.extras().buffer.attach(buffer, size)
    })
}

pub(crate) unsafe fn detach_comm(comm: MPI_Comm, address: *mut c_void, size: CountOut) -> c_int {
    on_comm("MPI_Comm_detach_buffer", comm, |w| {
        let owner = of_comm(w, comm)?;
        // SAFETY: the caller's promises.
        unsafe { detach(w, &owner, address, size) }
    })
}

pub(crate) fn flush_comm(comm: MPI_Comm) -> c_int {
    on_comm("MPI_Comm_flush_buffer", comm, |w| {
        let owner = of_comm(w, comm)?;
        flush(w, &owner)
    })
}

pub(crate) unsafe fn iflush_comm(comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
    on_comm("MPI_Comm_iflush_buffer", comm, |w| {
        let owner = of_comm(w, comm)?;
        // SAFETY: the caller's promises.
        unsafe { iflush(w, &owner, request) }
    })
}

pub(crate) fn attach_session(session: MPI_Session, buffer: *mut c_void, size: MPI_Count) -> c_int {
    on_session("MPI_Session_attach_buffer", session, |w| {
        w.objects.session_mut(session)?.buffer.attach(buffer, size)
    })
}

pub(crate) unsafe fn detach_session(
    session: MPI_Session,
    address: *mut c_void,
    size: CountOut,
) -> c_int {
    on_session("MPI_Session_detach_buffer", session, |w| {
        // SAFETY: the caller's promises.
        unsafe { detach(w, &Owner::Session(session), address, size) }
    })
}

pub(crate) fn flush_session(session: MPI_Session) -> c_int {
    on_session("MPI_Session_flush_buffer", session, |w| flush(w, &Owner::Session(session)))
}

pub(crate) unsafe fn iflush_session(session: MPI_Session, request: *mut MPI_Request) -> c_int {
    on_session("MPI_Session_iflush_buffer", session, |w| {
        // SAFETY: the caller's promises.
        unsafe { iflush(w, &Owner::Session(session), request) }
    })
}
