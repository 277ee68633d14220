//! Functions that MPI 3.0 removed from the standard, and that libraries still export.
//!
//! Safety of every function here: the caller keeps the promises of the MPI standard about its
//! arguments, in the form of its own ABI.
#![allow(clippy::missing_safety_doc)]

use crate::Abi;
use crate::generated::{datatype, errh};
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::{MPI_Aint, MPI_SUCCESS};

/// `MPI_Address`.
pub unsafe fn address<A: Abi>(location: *mut c_void, address: *mut MPI_Aint) -> c_int {
    // SAFETY: the caller's promises, here and below.
    unsafe { datatype::get_address::<A>(location, address) }
}

/// `MPI_Errhandler_create`.
pub unsafe fn errhandler_create<A: Abi>(
    function: *const c_void,
    errhandler: *mut A::Errhandler,
) -> c_int {
    // SAFETY: as above.
    unsafe { crate::by_hand::comm_create_errhandler::<A>(function, errhandler) }
}

/// `MPI_Errhandler_get`.
pub unsafe fn errhandler_get<A: Abi>(comm: A::Comm, errhandler: *mut A::Errhandler) -> c_int {
    // SAFETY: as above.
    unsafe { errh::comm_get_errhandler::<A>(comm, errhandler) }
}

/// `MPI_Errhandler_set`.
pub unsafe fn errhandler_set<A: Abi>(comm: A::Comm, errhandler: A::Errhandler) -> c_int {
    // SAFETY: as above.
    unsafe { errh::comm_set_errhandler::<A>(comm, errhandler) }
}

/// Stores what is computed from lower bound and extent.
unsafe fn bounds<A: Abi>(
    datatype: A::Datatype,
    place: *mut MPI_Aint,
    value: impl Fn(MPI_Aint, MPI_Aint) -> MPI_Aint,
) -> c_int {
    let (mut lb, mut extent) = (0, 0);
    // SAFETY: as above; the places are local variables.
    unsafe {
        let code = datatype::type_get_extent::<A>(datatype, &mut lb, &mut extent);
        if code == MPI_SUCCESS && !place.is_null() {
            *place = value(lb, extent);
        }
        code
    }
}

/// `MPI_Type_extent`.
pub unsafe fn type_extent<A: Abi>(datatype: A::Datatype, extent: *mut MPI_Aint) -> c_int {
    // SAFETY: as above.
    unsafe { bounds::<A>(datatype, extent, |_, extent| extent) }
}

/// `MPI_Type_lb`.
pub unsafe fn type_lb<A: Abi>(datatype: A::Datatype, displacement: *mut MPI_Aint) -> c_int {
    // SAFETY: as above.
    unsafe { bounds::<A>(datatype, displacement, |lb, _| lb) }
}

/// `MPI_Type_ub`.
pub unsafe fn type_ub<A: Abi>(datatype: A::Datatype, displacement: *mut MPI_Aint) -> c_int {
    // SAFETY: as above.
    unsafe { bounds::<A>(datatype, displacement, |lb, extent| lb.wrapping_add(extent)) }
}

/// `MPI_Type_hindexed`.
pub unsafe fn type_hindexed<A: Abi>(
    count: c_int,
    lengths: *const c_int,
    displacements: *const MPI_Aint,
    oldtype: A::Datatype,
    newtype: *mut A::Datatype,
) -> c_int {
    // SAFETY: as above.
    unsafe { datatype::type_create_hindexed::<A>(count, lengths, displacements, oldtype, newtype) }
}

/// `MPI_Type_hvector`.
pub unsafe fn type_hvector<A: Abi>(
    count: c_int,
    blocklength: c_int,
    stride: MPI_Aint,
    oldtype: A::Datatype,
    newtype: *mut A::Datatype,
) -> c_int {
    // SAFETY: as above.
    unsafe { datatype::type_create_hvector::<A>(count, blocklength, stride, oldtype, newtype) }
}

/// `MPI_Type_struct`. `MPI_LB` and `MPI_UB` among the types, which MPI 3.0 removed, are refused.
pub unsafe fn type_struct<A: Abi>(
    count: c_int,
    lengths: *const c_int,
    displacements: *const MPI_Aint,
    types: *const A::Datatype,
    newtype: *mut A::Datatype,
) -> c_int {
    // SAFETY: as above.
    unsafe { datatype::type_create_struct::<A>(count, lengths, displacements, types, newtype) }
}
