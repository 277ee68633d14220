//! The tables of `libmpi_abi.so.1`.

use core::ffi::{CStr, c_char, c_int};
use hpvm_abi::constants::{MPI_ERR_OTHER, MPI_MAX_ERROR_STRING};
use hpvm_abi::models::Models;
use hpvm_abi::onesided::{DONE, OneSided, STARTED};
use hpvm_abi::{Entries, Standard};
use std::ffi::CString;

/// The name of the function that the program called, for errors: a C string.
pub type Name = *const c_char;

unsafe extern "C" {
    static hpvm_entries_1: Entries;
    static hpvm_models_1: Models;
    static hpvm_onesided_1: OneSided;
}

/// MPI's functions.
#[inline(always)]
pub fn mpi() -> &'static Standard {
    // SAFETY: the library is linked, and never changes the table. The number in the symbol's name stands for the layout.
    unsafe { &hpvm_entries_1.standard }
}

/// One-sided operations.
#[inline(always)]
pub fn onesided() -> &'static OneSided {
    // SAFETY: as in `mpi`.
    unsafe { &hpvm_onesided_1 }
}

/// Packets of models.
#[inline(always)]
pub fn models() -> &'static Models {
    // SAFETY: as in `mpi`.
    unsafe { &hpvm_models_1 }
}

/// Whether both libraries are of one build.
pub fn fits() -> bool {
    // SAFETY: as in `mpi`.
    let sizes = unsafe { (hpvm_entries_1.size, hpvm_models_1.size, hpvm_onesided_1.size) };
    sizes == (size_of::<Entries>(), size_of::<Models>(), size_of::<OneSided>())
}

/// Says what went wrong in the function that the program called, and ends the job.
#[cold]
#[inline(never)]
#[expect(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "names come from entry points, never from programs"
)]
pub fn fail(name: Name, why: &str) -> ! {
    // SAFETY: names are C strings.
    let function = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let line = format!("{function} failed: {why}").replace('\0', " ");
    let line = CString::new(line).unwrap_or_default();
    // SAFETY: as in `mpi`; a C string.
    unsafe { (hpvm_entries_1.extra.fail)(line.as_ptr(), MPI_ERR_OTHER) }
}

/// Refuses null in the place of `len` bytes of this process.
#[inline(always)]
pub fn present(name: Name, what: &str, at: *const u8, len: usize) {
    if at.is_null() && len != 0 {
        absent(name, what, len);
    }
}

#[cold]
#[inline(never)]
fn absent(name: Name, what: &str, len: usize) -> ! {
    fail(name, &format!("the {what} is null; expected the address of {len} bytes"))
}

/// What an error code of a call means.
pub fn text(code: c_int) -> String {
    let mut buffer = [0; MPI_MAX_ERROR_STRING as usize + 1];
    let mut len = 0;
    // SAFETY: as long as MPI asks for.
    unsafe { (mpi().MPI_Error_string)(code, buffer.as_mut_ptr(), &mut len) };
    // SAFETY: the last byte stays zero.
    unsafe { CStr::from_ptr(buffer.as_ptr().cast::<c_char>()) }.to_string_lossy().into_owned()
}

/// A call of MPI, or one of the table that transfers nothing, that shall work.
#[inline(always)]
pub fn done(name: Name, code: c_int) {
    if code != 0 {
        refused(name, code)
    }
}

/// A call that starts an operation. True: it needs a flush.
#[inline(always)]
pub fn started(name: Name, code: c_int) -> bool {
    match code {
        DONE => false,
        STARTED => true,
        code => refused(name, code),
    }
}

#[cold]
fn refused(name: Name, code: c_int) -> ! {
    fail(name, &text(code))
}
