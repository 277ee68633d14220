//! Process topologies (chapter 8). Where the program allows it, ranks are reordered so that few neighbours are on
//! different hosts, and of these few in different parts of a host.

mod cart;
mod cart_create;
mod dims;
mod dist_graph;
mod dist_order;
mod graph;
mod parts;

pub use cart::*;
pub use cart_create::*;
pub use dims::*;
pub use dist_graph::*;
pub use graph::*;
pub(crate) use parts::ReadLocalities;

use crate::body::check::{out, wrong};
use crate::body::comm;
use crate::generated::constants::*;
use crate::object::comm::{CommObject, Extras, Topology};
use crate::raise::on_comm;
use crate::runtime::Entered;
use core::ffi::c_int;
use hpvm_mpi::comm::reorder::Order;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, Error, build};
use std::sync::Arc;

pub unsafe fn topo_test(comm: MPI_Comm, status: *mut c_int) -> c_int {
    on_comm("MPI_Topo_test", comm, |w| {
        let object = w.objects.comm(comm)?;
        out("status", status)?;
        let kind = match object.extras().topology {
            None => MPI_UNDEFINED,
            Some(Topology::Cartesian { .. }) => MPI_CART,
            Some(Topology::Graph { .. }) => MPI_GRAPH,
            Some(Topology::Distributed { .. }) => MPI_DIST_GRAPH,
        };
        // SAFETY: checked above.
        unsafe { *status = kind };
        Ok(())
    })
}

/// The communicator that a topology is made from.
fn parent(w: &Entered, comm: MPI_Comm) -> Result<Arc<CommObject>> {
    let object = w.objects.comm(comm)?.clone();
    match object.comm.is_inter() {
        true => Err(wrong(Class::Comm, "an intercommunicator has no topology")),
        false => Ok(object),
    }
}

/// The rank that a process gets by an order, `None` for its own; `MPI_UNDEFINED` if it is not among the `members`.
fn mapped(rank: u32, members: u32, order: Option<&Order>) -> c_int {
    match order {
        _ if rank >= members => MPI_UNDEFINED,
        None => rank as c_int,
        Some(order) => {
            let place = order.iter().position(|old| *old == rank);
            place.map_or(MPI_UNDEFINED, |place| place as c_int)
        }
    }
}

/// Makes a communicator of the first `members` processes of `old`, in an order that all of them have found alike, and
/// gives it a topology; the others get `MPI_COMM_NULL`. Collective.
///
/// # Safety
/// `newcomm` may be written.
unsafe fn create(
    w: &mut Entered,
    old: &CommObject,
    members: u32,
    order: Option<Order>,
    topology: Topology,
    newcomm: *mut MPI_Comm,
) -> Result<()> {
    let all = old.comm.group();
    let group = match order {
        Some(order) => Some(all.part(order.iter().filter_map(|rank| all.process(*rank)).collect())),
        None if members == old.comm.size() => None,
        None => Some(all.part(all.processes().take(members as usize).collect())),
    };
    let made = match group {
        None => Some(build::dup(w, &old.comm)?),
        Some(group) => build::create(w, &old.comm, &group)?,
    };
    // SAFETY: the caller's promise.
    unsafe { keep(w, old, made, topology, newcomm) }
}

/// Keeps a new communicator, if this process is in it.
///
/// # Safety
/// `newcomm` may be written.
unsafe fn keep(
    w: &mut Entered,
    old: &CommObject,
    made: Option<Arc<Comm>>,
    topology: Topology,
    newcomm: *mut MPI_Comm,
) -> Result<()> {
    let handle = match made {
        None => MPI_COMM_NULL,
        Some(comm) => {
            // New communicators inherit the error handler (section 9.3).
            let handler = old.extras().handler;
            let extras = Extras { handler, topology: Some(topology), ..Extras::default() };
            comm::add(w, comm, extras)?
        }
    };
    // SAFETY: the caller's promise.
    unsafe { *newcomm = handle };
    Ok(())
}

#[cold]
fn no_topology(kind: &str) -> Error {
    wrong(Class::Topology, format!("the communicator has no {kind} topology"))
}

/// An array argument of `n` elements.
///
/// # Safety
/// The array is null or has at least `n` elements, which stay unchanged during the call.
unsafe fn array<'a>(what: &str, first: *const c_int, n: usize) -> Result<&'a [c_int]> {
    if n == 0 {
        return Ok(&[]);
    }
    out(what, first.cast_mut())?;
    // SAFETY: not null; the caller vouches for the length.
    Ok(unsafe { core::slice::from_raw_parts(first, n) })
}

/// Stores `values` in an array of the program.
///
/// # Safety
/// The array is null or has room for all of them.
unsafe fn store(what: &str, first: *mut c_int, values: &[c_int]) -> Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    out(what, first)?;
    // SAFETY: not null; the caller vouches for the room.
    unsafe { core::ptr::copy_nonoverlapping(values.as_ptr(), first, values.len()) };
    Ok(())
}

/// An argument that must not be negative.
fn natural(what: &str, value: c_int, class: Class) -> Result<usize> {
    let text = || format!("{what} is {value}; expected 0 or more");
    usize::try_from(value).map_err(|_| wrong(class, text()))
}

/// A rank of the communicator.
fn member(what: &str, comm: &Comm, rank: c_int) -> Result<u32> {
    let size = comm.size();
    let found = u32::try_from(rank).ok().filter(|rank| *rank < size);
    found.ok_or_else(|| {
        let text = format!("{what} is {rank}; expected 0 to {}", size.saturating_sub(1));
        wrong(Class::Rank, text)
    })
}
