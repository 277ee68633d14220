//! Making Cartesian communicators (sections 8.5.1, 8.5.6 and 8.5.7).

use super::cart::grid;
use super::{array, create, keep, mapped, natural, parent, parts};
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::comm::Topology;
use crate::object::topology::coordinates;
use crate::raise::on_comm;
use core::ffi::c_int;
use hpvm_mpi::comm::reorder::{self, Order, Parts};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, build};

pub unsafe fn cart_create(
    comm_old: MPI_Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    reorder: c_int,
    comm_cart: *mut MPI_Comm,
) -> c_int {
    on_comm("MPI_Cart_create", comm_old, |w| {
        let old = parent(w, comm_old)?;
        out("comm_cart", comm_cart)?;
        let n = natural("ndims", ndims, Class::Dims)?;
        // SAFETY: the caller's promise: both arrays have `ndims` elements.
        let (dims, periods) = unsafe { (array("dims", dims, n)?, array("periods", periods, n)?) };
        let members = members(&old.comm, dims, 1)?;
        let periodic: Vec<bool> = periods.iter().map(|p| *p != 0).collect();
        let order = match reorder != 0 {
            true => order(&parts::told(w, &old.comm, members)?, dims, &periodic),
            false => None,
        };
        let topology = Topology::Cartesian { dims: dims.into(), periodic };
        // SAFETY: checked above; the caller vouches for the place.
        unsafe { create(w, &old, members, order, topology, comm_cart) }
    })
}

/// An order for a grid of as many processes as it has places that is better than theirs.
fn order(parts: &Parts, dims: &[c_int], periodic: &[bool]) -> Option<Order> {
    reorder::grid(parts, reorder::Grid { dims, periodic })
}

/// Processes of a grid, at most those of the communicator; every size is at least `least`.
fn members(comm: &Comm, dims: &[c_int], least: u32) -> Result<u32> {
    let refusal = || {
        let text = format!(
            "a grid of {dims:?} processes; expected numbers from {least} whose product is at most \
             the {} processes of the communicator",
            comm.size()
        );
        wrong(Class::Dims, text)
    };
    let mut product = 1u64;
    for dim in dims {
        let size = u64::try_from(*dim).ok().filter(|size| *size >= u64::from(least));
        product = product.saturating_mul(size.ok_or_else(refusal)?);
    }
    u32::try_from(product).ok().filter(|all| *all <= comm.size()).ok_or_else(refusal)
}

pub unsafe fn cart_map(
    comm: MPI_Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    newrank: *mut c_int,
) -> c_int {
    on_comm("MPI_Cart_map", comm, |w| {
        let old = parent(w, comm)?;
        out("newrank", newrank)?;
        let n = natural("ndims", ndims, Class::Dims)?;
        // SAFETY: the caller's promise: both arrays have `ndims` elements.
        let (dims, periods) = unsafe { (array("dims", dims, n)?, array("periods", periods, n)?) };
        // The standard does not forbid a grid of no processes; no rank has a place in it then.
        let members = members(&old.comm, dims, 0)?;
        let periodic: Vec<bool> = periods.iter().map(|p| *p != 0).collect();
        let order = order(&parts::known(w, &old.comm, members), dims, &periodic);
        // SAFETY: checked above.
        unsafe { *newrank = mapped(old.comm.rank(), members, order.as_ref()) };
        Ok(())
    })
}

pub unsafe fn cart_sub(comm: MPI_Comm, remain_dims: *const c_int, newcomm: *mut MPI_Comm) -> c_int {
    on_comm("MPI_Cart_sub", comm, |w| {
        let old = w.objects.comm(comm)?.clone();
        let (dims, periodic) = grid(&old)?;
        out("newcomm", newcomm)?;
        // SAFETY: the caller's promise: an element per dimension.
        let remain = unsafe { array("remain_dims", remain_dims, dims.len())? };
        // Processes that agree in the dropped coordinates stay together, in the order of the rest.
        let (mut colour, mut key) = (0, 0);
        let mut kept = (Vec::new(), Vec::new());
        for (dim, place) in coordinates(old.comm.rank(), &dims).into_iter().enumerate() {
            if remain[dim] != 0 {
                key = key * dims[dim] + place;
                kept.0.push(dims[dim]);
                kept.1.push(periodic[dim]);
            } else {
                colour = colour * dims[dim] + place;
            }
        }
        let made = build::split(w, &old.comm, Some(colour), key)?;
        let topology = Topology::Cartesian { dims: kept.0, periodic: kept.1 };
        // SAFETY: checked above; the caller vouches for the place.
        unsafe { keep(w, &old, made, topology, newcomm) }
    })
}
