//! `libmpi_cxx.so.40`: what Open MPI's C++ bindings (those of MPI 2, removed in MPI 3) have outside of
//! their headers. Nearly all of them is inline functions that call C's, so programs bring it along;
//! here is the rest that programs refer to. What is not done says so and ends the process: there is
//! no error code that these functions could return.
//!
//! An object of the bindings is a pointer to a virtual table and a handle.

mod constants;
mod functions;
mod missing;
mod tables;

use core::ffi::c_void;

/// An object of the bindings; all classes but `Status` look like this.
#[repr(C)]
pub struct Object {
    table: *const c_void,
    handle: *mut c_void,
}
