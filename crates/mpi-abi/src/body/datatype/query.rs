//! Sizes, bounds and addresses (sections 5.1.5 to 5.1.8).

use crate::args::CountOut;
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::datatype::named_type;
use crate::raise::{anywhere, on_world};
use crate::runtime::is_running;
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;

/// Runs the body of a question about a datatype, which need not be committed. One about a predefined type
/// does not enter the engine: programs ask for every element, and from several threads.
#[inline(always)]
fn ask(
    function: &'static str,
    datatype: MPI_Datatype,
    body: impl Fn(&Datatype) -> Result<()>,
) -> c_int {
    if let Some(ty) = named_type(datatype)
        && is_running()
        && body(ty).is_ok()
    {
        return MPI_SUCCESS;
    }
    on_world(function, |w| body(w.objects.any_type(datatype)?))
}

pub unsafe fn type_size(datatype: MPI_Datatype, size: CountOut) -> c_int {
    // SAFETY: the caller's promise.
    ask("MPI_Type_size", datatype, |ty| unsafe { store("size", size, ty.size()) })
}

pub unsafe fn type_get_extent(datatype: MPI_Datatype, lb: CountOut, extent: CountOut) -> c_int {
    // SAFETY: the caller's promise.
    ask("MPI_Type_get_extent", datatype, |ty| unsafe {
        store("lb", lb, ty.lb())?;
        store("extent", extent, ty.extent())
    })
}

pub unsafe fn type_get_true_extent(
    datatype: MPI_Datatype,
    true_lb: CountOut,
    true_extent: CountOut,
) -> c_int {
    // SAFETY: the caller's promise.
    ask("MPI_Type_get_true_extent", datatype, |ty| unsafe {
        store("true_lb", true_lb, ty.true_lb())?;
        store("true_extent", true_extent, ty.true_extent())
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
