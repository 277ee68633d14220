//! Parts of arrays as datatypes (sections 5.1.3 and 5.1.4).

use super::{any_type, counts, ints, keep, length, place, slice};
use crate::args::Counts;
use crate::generated::constants::*;
use crate::raise::on_world;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::datatype::{Datatype, Distribution, Order};
use hpvm_mpi::error::Result;

pub unsafe fn type_create_subarray(
    ndims: c_int,
    array_of_sizes: Counts,
    array_of_subsizes: Counts,
    array_of_starts: Counts,
    order: c_int,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    on_world("MPI_Type_create_subarray", |w| {
        place(newtype)?;
        let n = length("ndims", i64::from(ndims), Class::Arg)?;
        let old = any_type(w, oldtype)?;
        // SAFETY: the caller's promise: each array has `ndims` elements.
        let (sizes, subsizes, starts) = unsafe {
            (
                counts("array_of_sizes", array_of_sizes, n)?,
                counts("array_of_subsizes", array_of_subsizes, n)?,
                counts("array_of_starts", array_of_starts, n)?,
            )
        };
        let ty = Datatype::subarray(&sizes, &subsizes, &starts, Order::from_abi(order)?, &old)?;
        // SAFETY: checked above; the caller vouches for the place.
        unsafe { keep(w, ty, array_of_sizes.is_wide(), newtype) }
    })
}

pub unsafe fn type_create_darray(
    size: c_int,
    rank: c_int,
    ndims: c_int,
    array_of_gsizes: Counts,
    array_of_distribs: *const c_int,
    array_of_dargs: *const c_int,
    array_of_psizes: *const c_int,
    order: c_int,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    on_world("MPI_Type_create_darray", |w| {
        place(newtype)?;
        let n = length("ndims", i64::from(ndims), Class::Arg)?;
        let old = any_type(w, oldtype)?;
        // SAFETY: the caller's promise: each array has `ndims` elements.
        let (gsizes, distribs, dargs, psizes) = unsafe {
            (
                counts("array_of_gsizes", array_of_gsizes, n)?,
                slice("array_of_distribs", array_of_distribs, n)?,
                ints("array_of_dargs", array_of_dargs, n)?,
                ints("array_of_psizes", array_of_psizes, n)?,
            )
        };
        let deal: Result<Vec<_>> = distribs.iter().map(|d| Distribution::from_abi(*d)).collect();
        let order = Order::from_abi(order)?;
        let (size, rank) = (i64::from(size), i64::from(rank));
        let ty = Datatype::darray(size, rank, &gsizes, &deal?, &dargs, &psizes, order, &old)?;
        // SAFETY: checked above; the caller vouches for the place.
        unsafe { keep(w, ty, array_of_gsizes.is_wide(), newtype) }
    })
}
