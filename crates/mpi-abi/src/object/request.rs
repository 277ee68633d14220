//! What a request handle refers to.
//!
//! A started operation of the engine has the engine's own id as its handle: always at least 2^32,
//! so that starting and completing one touches no other table. Requests that outlive an operation
//! (persistent ones) or carry functions of the program (generalised ones) are objects here.

use crate::generated::constants::*;
use core::ffi::{c_int, c_void};
use hpvm_abi::request::{index_of_short, shorten};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::Mode;
use hpvm_mpi::{Class, Error, Outcome, ReqId};
use std::sync::Arc;

use super::comm::CommObject;
use crate::body::pt2pt::Partitioned;
use crate::runtime::World;

/// A request that is more than one operation of the engine.
#[derive(Debug)]
pub enum RequestObject {
    /// A persistent operation: inactive while `active` is `None`.
    Persistent {
        template: Template,
        active: Option<Active>,
    },
    /// A generalised request; the engine's request completes with `MPI_Grequest_complete`.
    /// Once freed by the program it lives on until then.
    Generalised {
        functions: Generalised,
        id: ReqId,
        freed: bool,
    },
    Partitioned(Box<Partitioned>),
}

/// The current run of a persistent operation.
#[derive(Debug)]
pub enum Active {
    Running(ReqId),
    /// It was complete when it was started.
    Ended(Outcome),
}

/// What a persistent request starts.
#[derive(Clone, Debug)]
pub enum Template {
    Send {
        buf: usize,
        count: i64,
        ty: Arc<Datatype>,
        dest: i32,
        tag: i32,
        comm: Arc<CommObject>,
        mode: Mode,
    },
    Recv {
        buf: usize,
        count: i64,
        ty: Arc<Datatype>,
        source: i32,
        tag: i32,
        comm: Arc<CommObject>,
    },
    Collective {
        comm: Arc<CommObject>,
        plan: CollectivePlan,
    },
}

impl Template {
    /// A buffered send, which uses an attached buffer.
    pub fn is_buffered(&self) -> bool {
        matches!(self, Template::Send { mode: Mode::Buffered, .. })
    }
}

/// A collective plan, whose buffers the program promised to keep while the request lives.
#[derive(Clone, Debug)]
pub struct CollectivePlan(pub hpvm_mpi::coll::Plan);

/// The functions of a generalised request and their argument, an address that is only handed back.
#[derive(Clone, Copy, Debug)]
pub struct Generalised {
    pub query: MPI_Grequest_query_function,
    pub free: MPI_Grequest_free_function,
    pub cancel: MPI_Grequest_cancel_function,
    pub extra: *mut c_void,
}

impl Generalised {
    /// Lets the program free its state. No guard may be held.
    pub fn release(&self) -> c_int {
        match self.free {
            // SAFETY: the program's function and its own argument.
            Some(free) => unsafe { free(self.extra) },
            None => MPI_SUCCESS,
        }
    }
}

/// A request handle, sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Null,
    /// A send that was complete when its call returned.
    Sent,
    /// An operation of the engine.
    Plain(ReqId),
    /// A `RequestObject` in the table.
    Object(usize),
}

/// The request of every non-blocking send that was complete when its call returned: most are, and
/// need no place in a table. A value among those that the ABI keeps for predefined requests and
/// gives no meaning to.
pub const SENT: MPI_Request = MPI_Request(0x1ff);

/// The handle of an engine request.
pub fn handle(id: ReqId) -> MPI_Request {
    // Generations start at 1, so the number is at least 2^32.
    MPI_Request(id.number() as usize)
}

impl World {
    /// The engine's request that a handle means, in its own or in its short form; it may turn out
    /// stale when the engine is asked.
    #[inline]
    pub fn engine_request(&self, handle: MPI_Request) -> Option<ReqId> {
        if handle.0 >> 32 != 0 {
            return Some(ReqId::from_number(handle.0 as u64));
        }
        let live = self.process.requests().at(index_of_short(handle.0)?)?;
        let same = shorten(live.number() as usize) == Some(handle.0 as u32);
        same.then_some(live)
    }

    /// Sorts a request handle. A plain id may turn out stale when the engine is asked.
    #[inline]
    pub fn name_request(&self, handle: MPI_Request) -> Result<Named> {
        match handle {
            MPI_REQUEST_NULL => Ok(Named::Null),
            SENT => Ok(Named::Sent),
            other => match self.engine_request(other) {
                Some(id) => Ok(Named::Plain(id)),
                None => match self.objects.requests.get(other.0) {
                    Some(_) => Ok(Named::Object(other.0)),
                    None => Err(bad_request(handle)),
                },
            },
        }
    }
}

/// The error of a handle that is no request.
#[cold]
pub fn bad_request(handle: MPI_Request) -> Error {
    let text =
        format!("expected a request handle, found {:#x}, which is not or no longer one", handle.0);
    Error::new(Class::Request, text)
}
