//! Functions of Open MPI beyond the standard that programs use.
//!
//! Safety of every function here: the caller keeps the promises that Open MPI's manual asks for.
#![allow(non_snake_case, clippy::missing_safety_doc)]

use core::ffi::c_int;

/// Whether memory of a graphics processor may be passed to MPI: never.
#[unsafe(no_mangle)]
pub extern "C" fn MPIX_Query_cuda_support() -> c_int {
    0
}

/// The same for another kind of graphics processor.
#[unsafe(no_mangle)]
pub extern "C" fn MPIX_Query_rocm_support() -> c_int {
    0
}
