//! Sizes, bounds and addresses (sections 5.1.5 to 5.1.8).

use super::any_type;
use crate::args::CountOut;
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::raise::{anywhere, on_world};
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;

pub unsafe fn type_size(datatype: MPI_Datatype, size: CountOut) -> c_int {
    on_world("MPI_Type_size", |w| {
        let bytes = any_type(w, datatype)?.size();
        // SAFETY: the caller's promise.
        unsafe { store("size", size, bytes) }
    })
}

pub unsafe fn type_get_extent(datatype: MPI_Datatype, lb: CountOut, extent: CountOut) -> c_int {
    on_world("MPI_Type_get_extent", |w| {
        let ty = any_type(w, datatype)?;
        // SAFETY: the caller's promise.
        unsafe {
            store("lb", lb, ty.lb())?;
            store("extent", extent, ty.extent())
        }
    })
}

pub unsafe fn type_get_true_extent(
    datatype: MPI_Datatype,
    true_lb: CountOut,
    true_extent: CountOut,
) -> c_int {
    on_world("MPI_Type_get_true_extent", |w| {
        let ty = any_type(w, datatype)?;
        // SAFETY: the caller's promise.
        unsafe {
            store("true_lb", true_lb, ty.true_lb())?;
            store("true_extent", true_extent, ty.true_extent())
        }
    })
}

/// # Safety
/// The place is null or may be written.
pub(super) unsafe fn store(what: &str, place: CountOut, value: i64) -> Result<()> {
    if place.is_null() {
        return Err(wrong(Class::Arg, format!("{what} is null; expected an address")));
    }
    // SAFETY: not null; the caller vouches for it.
    unsafe { place.set(value) };
    Ok(())
}

pub unsafe fn get_address(location: *const c_void, address: *mut MPI_Aint) -> c_int {
    anywhere("MPI_Get_address", || {
        out("address", address)?;
        // SAFETY: checked above. The address goes to places from where we make pointers again.
        unsafe { *address = location.expose_provenance() as MPI_Aint };
        Ok(())
    })
}

pub unsafe fn aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
    base.wrapping_add(disp)
}

pub unsafe fn aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
    addr1.wrapping_sub(addr2)
}
