//! Procedures that MPI 3.0 removed and libraries still export. Addresses and attributes are plain
//! INTEGERs in them.

use core::ffi::{c_int, c_void};

use hpvm_abi::constants::{MPI_Aint, MPI_ERR_ARG, MPI_SUCCESS};
use hpvm_foreign::generated::{datatype, errh};
use hpvm_foreign::numbers::error_out;
use hpvm_foreign::removed;
use hpvm_foreign::several::length;

use crate::handle::{Handle, Handles};
use crate::{Fortran, buffer_mut};

/// Stores an address, which must fit.
unsafe fn narrow<F: Fortran>(value: MPI_Aint, place: *mut c_int) -> c_int {
    match c_int::try_from(value) {
        Ok(value) => {
            // SAFETY: the program's promise.
            unsafe { *place = value };
            MPI_SUCCESS
        }
        Err(_) => error_out::<F>(MPI_ERR_ARG),
    }
}

/// `MPI_ADDRESS`. Few addresses of a 64-bit program fit an INTEGER; the others are an error.
pub unsafe fn address<F: Fortran>(location: *mut c_void, address: *mut c_int, ierror: *mut c_int) {
    // SAFETY: the program's promises, here and below.
    unsafe {
        let mut wide = 0;
        *ierror = removed::address::<F>(buffer_mut::<F>(location), &mut wide);
        if *ierror == MPI_SUCCESS {
            *ierror = narrow::<F>(wide, address);
        }
    }
}

macro_rules! bounds {
    ($($name:ident)*) => {$(
        #[doc = concat!("`MPI_", stringify!($name), "`.")]
        pub unsafe fn $name<F: Fortran>(
            datatype: *const c_int,
            result: *mut c_int,
            ierror: *mut c_int,
        ) {
            // SAFETY: as above.
            unsafe {
                let mut wide = 0;
                *ierror = removed::$name::<F>(F::datatype_fromint(*datatype), &mut wide);
                if *ierror == MPI_SUCCESS {
                    *ierror = narrow::<F>(wide, result);
                }
            }
        }
    )*};
}

bounds! { type_extent type_lb type_ub }

/// `MPI_TYPE_HVECTOR`.
pub unsafe fn type_hvector<F: Fortran>(
    count: *const c_int,
    blocklength: *const c_int,
    stride: *const c_int,
    oldtype: *const c_int,
    newtype: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: as above.
    unsafe {
        let mut own = Handle::fresh(newtype, F::datatype_fromint);
        let old = F::datatype_fromint(*oldtype);
        let stride = *stride as MPI_Aint;
        let make = datatype::type_create_hvector::<F>;
        *ierror = make(*count, *blocklength, stride, old, own.pointer());
        own.give_if(*ierror == MPI_SUCCESS, F::datatype_toint);
    }
}

unsafe fn widened(numbers: *const c_int, count: c_int) -> Vec<MPI_Aint> {
    // SAFETY: the array has `count` elements.
    (0..length(count)).map(|i| unsafe { *numbers.add(i) } as MPI_Aint).collect()
}

/// `MPI_TYPE_HINDEXED`.
pub unsafe fn type_hindexed<F: Fortran>(
    count: *const c_int,
    lengths: *const c_int,
    displacements: *const c_int,
    oldtype: *const c_int,
    newtype: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: as above.
    unsafe {
        let displacements = widened(displacements, *count);
        let mut own = Handle::fresh(newtype, F::datatype_fromint);
        let old = F::datatype_fromint(*oldtype);
        let make = datatype::type_create_hindexed::<F>;
        *ierror = make(*count, lengths, displacements.as_ptr(), old, own.pointer());
        own.give_if(*ierror == MPI_SUCCESS, F::datatype_toint);
    }
}

/// `MPI_TYPE_STRUCT`. `MPI_LB` and `MPI_UB` among the types are refused.
pub unsafe fn type_struct<F: Fortran>(
    count: *const c_int,
    lengths: *const c_int,
    displacements: *const c_int,
    types: *const c_int,
    newtype: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: as above.
    unsafe {
        let displacements = widened(displacements, *count);
        let mut types = Handles::new(types.cast_mut(), length(*count), F::datatype_fromint);
        let mut own = Handle::fresh(newtype, F::datatype_fromint);
        let make = datatype::type_create_struct::<F>;
        *ierror = make(*count, lengths, displacements.as_ptr(), types.pointer(), own.pointer());
        own.give_if(*ierror == MPI_SUCCESS, F::datatype_toint);
    }
}

/// `MPI_ERRHANDLER_GET`.
pub unsafe fn errhandler_get<F: Fortran>(
    comm: *const c_int,
    errhandler: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: as above.
    unsafe {
        let mut own = Handle::fresh(errhandler, F::errhandler_fromint);
        *ierror = errh::comm_get_errhandler::<F>(F::comm_fromint(*comm), own.pointer());
        own.give_if(*ierror == MPI_SUCCESS, F::errhandler_toint);
    }
}

/// `MPI_ERRHANDLER_SET`.
pub unsafe fn errhandler_set<F: Fortran>(
    comm: *const c_int,
    errhandler: *const c_int,
    ierror: *mut c_int,
) {
    // SAFETY: as above.
    unsafe {
        let handler = F::errhandler_fromint(*errhandler);
        *ierror = errh::comm_set_errhandler::<F>(F::comm_fromint(*comm), handler);
    }
}
