//! Data symbols of MPICH's library. Programs may have copies of them (copy relocations), so they
//! hold values and are never changed.
#![allow(non_upper_case_globals)]

use core::ffi::c_int;
use core::ptr::without_provenance;
use hpvm_abi::constants as standard;

/// A constant of C that is a pointer: only its value matters.
#[repr(transparent)]
pub struct Pointer(*const c_int);

// SAFETY: nobody reads through the pointer from here, and it never changes.
unsafe impl Sync for Pointer {}

/// What `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY` hold: addresses that are no memory of a program.
pub const UNWEIGHTED: usize = 10;
pub const WEIGHTS_EMPTY: usize = 11;

#[unsafe(no_mangle)]
pub static MPI_UNWEIGHTED: Pointer = Pointer(without_provenance(UNWEIGHTED));

#[unsafe(no_mangle)]
pub static MPI_WEIGHTS_EMPTY: Pointer = Pointer(without_provenance(WEIGHTS_EMPTY));

/// All handles of a performance session; the number is the standard ABI's.
#[unsafe(no_mangle)]
pub static MPI_T_PVAR_ALL_HANDLES: Pointer = Pointer(without_provenance(1));

/// The Fortran forms of `MPI_STATUS_IGNORE`, as a C program passes them to `MPI_Status_f2c`.
#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: Pointer = Pointer(without_provenance(1));

#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: Pointer = Pointer(without_provenance(1));

/// The objects that stand for the ignored status of the Fortran module `mpi_f08`.
#[unsafe(no_mangle)]
pub static MPIR_F08_MPI_STATUS_IGNORE_OBJ: [c_int; 5] = [0; 5];

#[unsafe(no_mangle)]
pub static MPIR_F08_MPI_STATUSES_IGNORE_OBJ: [c_int; 5] = [0; 5];

#[unsafe(no_mangle)]
pub static MPI_F08_STATUS_IGNORE: Pointer =
    Pointer((&raw const MPIR_F08_MPI_STATUS_IGNORE_OBJ).cast());

#[unsafe(no_mangle)]
pub static MPI_F08_STATUSES_IGNORE: Pointer =
    Pointer((&raw const MPIR_F08_MPI_STATUSES_IGNORE_OBJ).cast());

/// The engine's form of an argument that may be `MPI_UNWEIGHTED`.
pub fn weights_in(weights: *const c_int) -> *const c_int {
    match weights.addr() {
        UNWEIGHTED => standard::MPI_UNWEIGHTED,
        WEIGHTS_EMPTY => standard::MPI_WEIGHTS_EMPTY,
        _ => weights,
    }
}
