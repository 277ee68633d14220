//! Functions of MPICH beyond the standard that programs use.
//!
//! Safety of every function here: the caller keeps the promises that MPICH's manual asks for.
#![allow(non_snake_case, clippy::missing_safety_doc)]

use crate::{Comm, Mpich, Request};
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::MPI_SUCCESS;
use hpvm_foreign::generated::pt2pt;

/// `MPI_COMM_DUP_FN` and its kin: copies the attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _comm: Comm,
    _keyval: c_int,
    _extra_state: *mut c_void,
    value_in: *mut c_void,
    value_out: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: both places are those of a copy function.
    unsafe {
        *value_out.cast::<*mut c_void>() = value_in;
        *flag = 1;
    }
    MPI_SUCCESS
}

/// Whether memory of a kind of graphics processor may be passed to MPI: never.
unsafe fn none(_kind: c_int, supported: *mut c_int) -> c_int {
    if !supported.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *supported = 0 };
    }
    MPI_SUCCESS
}

macro_rules! extensions {
    ($($name:ident($($argument:ident: $type:ty),*) $body:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            $body
        }
    )*};
}

/// Whether a request is complete, without completing it.
unsafe fn is_complete(request: Request) -> c_int {
    let mut flag = 0;
    // SAFETY: the caller's promise; the status is MPI_STATUS_IGNORE.
    unsafe {
        let ignore = core::ptr::without_provenance_mut(1);
        pt2pt::request_get_status::<Mpich>(request, &mut flag, ignore);
    }
    flag
}

extensions! {
    // SAFETY: the caller's promises.
    MPIX_GPU_query_support(kind: c_int, supported: *mut c_int) unsafe { none(kind, supported) };
    // SAFETY: the caller's promises.
    PMPIX_GPU_query_support(kind: c_int, supported: *mut c_int) unsafe { none(kind, supported) };
    MPIX_Query_cuda_support() 0;
    PMPIX_Query_cuda_support() 0;
    MPIX_Query_hip_support() 0;
    PMPIX_Query_hip_support() 0;
    MPIX_Query_ze_support() 0;
    PMPIX_Query_ze_support() 0;
    // SAFETY: the caller's promises.
    MPIX_Request_is_complete(request: Request) unsafe { is_complete(request) };
    // SAFETY: the caller's promises.
    PMPIX_Request_is_complete(request: Request) unsafe { is_complete(request) };
}
