//! Asking about Cartesian communicators (section 8.5.5).

use super::{array, member, no_topology, store};
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::comm::{CommObject, Topology};
use crate::object::topology::{coordinates, rank_at, shifted};
use crate::raise::on_comm;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;

/// The grid of a communicator: sizes, and which dimensions wrap.
pub(super) fn grid(object: &CommObject) -> Result<(Vec<c_int>, Vec<bool>)> {
    match &object.extras().topology {
        Some(Topology::Cartesian { dims, periodic }) => Ok((dims.clone(), periodic.clone())),
        _ => Err(no_topology("Cartesian")),
    }
}

/// Room for one number per dimension.
fn enough(maxdims: c_int, dims: &[c_int]) -> Result<()> {
    if maxdims as i64 >= dims.len() as i64 {
        return Ok(());
    }
    let text = format!("maxdims is {maxdims}; the grid has {} dimensions", dims.len());
    Err(wrong(Class::Arg, text))
}

pub unsafe fn cartdim_get(comm: MPI_Comm, ndims: *mut c_int) -> c_int {
    on_comm("MPI_Cartdim_get", comm, |w| {
        let (dims, _) = grid(w.objects.comm(comm)?)?;
        out("ndims", ndims)?;
        // SAFETY: checked above.
        unsafe { *ndims = dims.len() as c_int };
        Ok(())
    })
}

pub unsafe fn cart_get(
    comm: MPI_Comm,
    maxdims: c_int,
    dims: *mut c_int,
    periods: *mut c_int,
    coords: *mut c_int,
) -> c_int {
    on_comm("MPI_Cart_get", comm, |w| {
        let object = w.objects.comm(comm)?;
        let (sizes, periodic) = grid(object)?;
        enough(maxdims, &sizes)?;
        let wraps: Vec<_> = periodic.iter().map(|p| c_int::from(*p)).collect();
        let here = coordinates(object.comm.rank(), &sizes);
        // SAFETY: the caller's promise: the arrays have `maxdims` elements.
        unsafe {
            store("dims", dims, &sizes)?;
            store("periods", periods, &wraps)?;
            store("coords", coords, &here)
        }
    })
}

pub unsafe fn cart_coords(
    comm: MPI_Comm,
    rank: c_int,
    maxdims: c_int,
    coords: *mut c_int,
) -> c_int {
    on_comm("MPI_Cart_coords", comm, |w| {
        let object = w.objects.comm(comm)?;
        let (dims, _) = grid(object)?;
        let rank = member("rank", &object.comm, rank)?;
        enough(maxdims, &dims)?;
        // SAFETY: the caller's promise: the array has `maxdims` elements.
        unsafe { store("coords", coords, &coordinates(rank, &dims)) }
    })
}

pub unsafe fn cart_rank(comm: MPI_Comm, coords: *const c_int, rank: *mut c_int) -> c_int {
    on_comm("MPI_Cart_rank", comm, |w| {
        let (dims, periodic) = grid(w.objects.comm(comm)?)?;
        out("rank", rank)?;
        // SAFETY: the caller's promise: a coordinate per dimension.
        let coords = unsafe { array("coords", coords, dims.len())? };
        let found = rank_at(coords, &dims, &periodic).map_err(|dim| {
            let last = dims[dim] - 1;
            let text = format!("coords[{dim}] is {}; expected 0 to {last}", coords[dim]);
            wrong(Class::Arg, text)
        })?;
        // SAFETY: checked above.
        unsafe { *rank = found };
        Ok(())
    })
}

pub unsafe fn cart_shift(
    comm: MPI_Comm,
    direction: c_int,
    disp: c_int,
    rank_source: *mut c_int,
    rank_dest: *mut c_int,
) -> c_int {
    on_comm("MPI_Cart_shift", comm, |w| {
        let object = w.objects.comm(comm)?;
        let (dims, periodic) = grid(object)?;
        out("rank_source", rank_source)?;
        out("rank_dest", rank_dest)?;
        let dim = usize::try_from(direction).ok().filter(|dim| *dim < dims.len());
        let dim = dim.ok_or_else(|| {
            let text = format!("direction is {direction}; the grid has {} dimensions", dims.len());
            wrong(Class::Arg, text)
        })?;
        let (rank, by) = (object.comm.rank(), i64::from(disp));
        // SAFETY: checked above.
        unsafe {
            *rank_source = shifted(rank, dim, -by, &dims, &periodic);
            *rank_dest = shifted(rank, dim, by, &dims, &periodic);
        }
        Ok(())
    })
}
