//! What MPICH's C++ bindings (`libmpicxx.so.12`, Debian's `libmpichcxx.so.12`) call beside MPI's own functions: right after
//! they have given C a function of the program, they name the function of theirs through which it has to be called.

use core::ffi::c_int;
use hpvm_foreign::bindings::called_through;

/// `MPI::ERRORS_THROW_EXCEPTIONS`.
pub const ERRORS_THROW: c_int = 0x5400_0002;

/// The error handler that has just been made is called through `call`.
#[unsafe(no_mangle)]
pub extern "C" fn MPII_Errhandler_set_cxx(_errhandler: c_int, call: usize) {
    called_through([call, 0]);
}

/// The same for an operation.
#[unsafe(no_mangle)]
pub extern "C" fn MPII_Op_set_cxx(_op: c_int, call: usize) {
    called_through([call, 0]);
}

/// The same for both functions of a key of attributes.
#[unsafe(no_mangle)]
pub extern "C" fn MPII_Keyval_set_proxy(_keyval: c_int, copy: usize, delete: usize) {
    called_through([copy, delete]);
}
