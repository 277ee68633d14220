//! The Fortran side (`libmpifort.so.12`, which is this library by another name): the entry points,
//! and the variables in common blocks that stand for `MPI_BOTTOM` and its like.
//!
//! A program has the common blocks of mpif.h itself; its dynamic symbols hide ours, so that every
//! use here (through the global offset table) finds the program's. Only addresses count.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::ptr::dangling;

use hpvm_foreign::Numbers;
use hpvm_fortran::{Fortran, Sentinels};

use crate::f08::*;

use crate::Mpich;
use crate::data::{
    MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ, UNWEIGHTED, WEIGHTS_EMPTY,
};

/// A common block; nobody reads or writes it.
#[repr(transparent)]
pub struct Common<T>(pub UnsafeCell<T>);

// SAFETY: only the address is used.
unsafe impl<T> Sync for Common<T> {}

/// `MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE(5)`.
#[unsafe(no_mangle)]
pub static mpipriv1_: Common<[c_int; 7]> = Common(UnsafeCell::new([0; 7]));

/// `MPI_STATUSES_IGNORE(5,1), MPI_ERRCODES_IGNORE(1)`.
#[unsafe(no_mangle)]
pub static mpipriv2_: Common<[c_int; 6]> = Common(UnsafeCell::new([0; 6]));

/// `MPI_ARGVS_NULL(1,1), MPI_ARGV_NULL(1)`.
#[unsafe(no_mangle)]
pub static mpiprivc_: Common<[u8; 2]> = Common(UnsafeCell::new([0; 2]));

/// `MPI_UNWEIGHTED`.
#[unsafe(no_mangle)]
pub static mpifcmb5_: Common<c_int> = Common(UnsafeCell::new(0));

/// `MPI_WEIGHTS_EMPTY`.
#[unsafe(no_mangle)]
pub static mpifcmb9_: Common<c_int> = Common(UnsafeCell::new(0));

impl Fortran for Mpich {
    #[inline(always)]
    fn sentinels() -> Sentinels {
        let first = (&raw const mpipriv1_).cast::<c_int>();
        let second = (&raw const mpipriv2_).cast::<c_int>();
        let third = (&raw const mpiprivc_).cast::<u8>();
        Sentinels {
            bottom: [first.cast(), (&raw const MPIR_F08_MPI_BOTTOM).cast()],
            in_place: [first.wrapping_add(1).cast(), (&raw const MPIR_F08_MPI_IN_PLACE).cast()],
            // MPICH 4.0 has none.
            buffer_automatic: [dangling::<u128>().cast(); 2],
            status_ignore: [
                first.wrapping_add(2).cast(),
                (&raw const MPIR_F08_MPI_STATUS_IGNORE_OBJ).cast(),
            ],
            statuses_ignore: [second.cast(), (&raw const MPIR_F08_MPI_STATUSES_IGNORE_OBJ).cast()],
            errcodes_ignore: [
                second.wrapping_add(5).cast(),
                (&raw const __mpi_f08_link_constants_MOD_mpi_errcodes_ignore).cast(),
            ],
            argvs_null: [
                third.cast(),
                (&raw const __mpi_f08_link_constants_MOD_mpi_argvs_null).cast(),
            ],
            argv_null: [
                third.wrapping_add(1).cast::<c_void>(),
                (&raw const __mpi_f08_link_constants_MOD_mpi_argv_null).cast(),
            ],
            unweighted: [
                (&raw const mpifcmb5_).cast(),
                (&raw const __mpi_f08_link_constants_MOD_mpi_unweighted).cast(),
            ],
            weights_empty: [
                (&raw const mpifcmb9_).cast(),
                (&raw const __mpi_f08_link_constants_MOD_mpi_weights_empty).cast(),
            ],
        }
    }

    fn c_weights() -> (*const c_int, *const c_int) {
        let address = core::ptr::without_provenance;
        (address(UNWEIGHTED), address(WEIGHTS_EMPTY))
    }

    fn is_conversion_null(function: *const c_void) -> bool {
        is_conversion_null(function)
    }

    /// Fortran's keys are the next numbers: in C the value is an address, here a number.
    fn keyval_in(keyval: c_int) -> c_int {
        let c = keyval.wrapping_sub(1);
        if Self::KEYVAL.iter().any(|pair| pair.0 == c) { c } else { keyval }
    }
}

hpvm_fortran::entry_points!(Mpich);
hpvm_fortran::descriptor_entry_points!(Mpich);
