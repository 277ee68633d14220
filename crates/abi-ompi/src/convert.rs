//! Conversions between C and Fortran, which are functions in this ABI (MPI 4.1, chapter 19).
//!
//! A status of Fortran is an array of `MPI_F_STATUS_SIZE` integers with the very bytes of the C
//! status, and so is that of the module mpi_f08.
#![allow(non_upper_case_globals, non_snake_case)]

use crate::{Handle, Ompi, Status};
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::{MPI_ERR_ARG, MPI_SUCCESS};
use hpvm_foreign::Abi;
use hpvm_foreign::numbers::error_out;

/// A status of Fortran.
pub type Integers = [c_int; 6];

const _: () = assert!(size_of::<Integers>() == size_of::<Status>());

macro_rules! handles {
    ($($c2f:ident $pc2f:ident $toint:ident $f2c:ident $pf2c:ident $fromint:ident;)*) => {$(
        #[doc = concat!("`", stringify!($c2f), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $pc2f(handle: Handle) -> c_int {
            Ompi::$toint(handle)
        }

        #[doc = concat!("`", stringify!($c2f), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $c2f(handle: Handle) -> c_int {
            Ompi::$toint(handle)
        }

        #[doc = concat!("`", stringify!($f2c), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $pf2c(number: c_int) -> Handle {
            Ompi::$fromint(number)
        }

        #[doc = concat!("`", stringify!($f2c), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $f2c(number: c_int) -> Handle {
            Ompi::$fromint(number)
        }
    )*};
}

handles! {
    MPI_Comm_c2f PMPI_Comm_c2f comm_toint MPI_Comm_f2c PMPI_Comm_f2c comm_fromint;
    MPI_Group_c2f PMPI_Group_c2f group_toint MPI_Group_f2c PMPI_Group_f2c group_fromint;
    MPI_Type_c2f PMPI_Type_c2f datatype_toint MPI_Type_f2c PMPI_Type_f2c datatype_fromint;
    MPI_Op_c2f PMPI_Op_c2f op_toint MPI_Op_f2c PMPI_Op_f2c op_fromint;
    MPI_Request_c2f PMPI_Request_c2f request_toint MPI_Request_f2c PMPI_Request_f2c request_fromint;
    MPI_Message_c2f PMPI_Message_c2f message_toint MPI_Message_f2c PMPI_Message_f2c message_fromint;
    MPI_Errhandler_c2f PMPI_Errhandler_c2f errhandler_toint
        MPI_Errhandler_f2c PMPI_Errhandler_f2c errhandler_fromint;
    MPI_Info_c2f PMPI_Info_c2f info_toint MPI_Info_f2c PMPI_Info_f2c info_fromint;
    MPI_Win_c2f PMPI_Win_c2f win_toint MPI_Win_f2c PMPI_Win_f2c win_fromint;
    MPI_File_c2f PMPI_File_c2f file_toint MPI_File_f2c PMPI_File_f2c file_fromint;
    MPI_Session_c2f PMPI_Session_c2f session_toint MPI_Session_f2c PMPI_Session_f2c session_fromint;
}

/// Where Fortran's sentinels lie, whose addresses are what counts: common blocks, of which a program with
/// `mpif.h` has its own, and variables of `mpi_f08`, which a program at a fixed address copies, so that their
/// sizes are those of Open MPI.
#[repr(transparent)]
pub struct Block<const BYTES: usize>([u8; BYTES]);

macro_rules! blocks {
    ($($name:ident $bytes:literal;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub static $name: Block<$bytes> = Block([0; $bytes]);
    )*};
}

blocks! {
    mpi_fortran_bottom_ 4;
    mpi_fortran_in_place_ 4;
    mpi_fortran_argv_null_ 1;
    mpi_fortran_argvs_null_ 1;
    mpi_fortran_errcodes_ignore_ 4;
    mpi_fortran_status_ignore_ 24;
    mpi_fortran_statuses_ignore_ 24;
    mpi_fortran_unweighted_ 4;
    mpi_fortran_weights_empty_ 4;
}

/// The address of a sentinel.
#[repr(transparent)]
pub struct SentinelAddress(*const c_void);

// SAFETY: only the address counts.
unsafe impl Sync for SentinelAddress {}

macro_rules! places {
    ($($name:ident $block:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: no status of Fortran is wanted.")]
        #[unsafe(no_mangle)]
        pub static $name: SentinelAddress = SentinelAddress((&raw const $block).cast());
    )*};
}

places! {
    MPI_F_STATUS_IGNORE mpi_fortran_status_ignore_
    MPI_F_STATUSES_IGNORE mpi_fortran_statuses_ignore_
    MPI_F08_STATUS_IGNORE mpi_fortran_status_ignore_
    MPI_F08_STATUSES_IGNORE mpi_fortran_statuses_ignore_
}

/// Copies a status; a status that is to be ignored has no content to copy.
///
/// # Safety
/// Both are null, one of the places above, or the addresses of statuses.
unsafe fn copy(from: *const Integers, to: *mut Integers) -> c_int {
    let is_place = [MPI_F_STATUS_IGNORE.0, MPI_F_STATUSES_IGNORE.0].contains(&from.cast());
    if from.is_null() || to.is_null() || is_place {
        return error_out::<Ompi>(MPI_ERR_ARG);
    }
    // SAFETY: the caller's promise; C's statuses have at least the alignment of integers.
    unsafe { *to = *from };
    MPI_SUCCESS
}

macro_rules! statuses {
    ($($name:ident $profiled:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// Null, a place that stands for no status, or statuses.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $profiled(from: *const Integers, to: *mut Integers) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { copy(from, to) }
        }

        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the profiled name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(from: *const Integers, to: *mut Integers) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { copy(from, to) }
        }
    )*};
}

statuses! {
    MPI_Status_c2f PMPI_Status_c2f
    MPI_Status_f2c PMPI_Status_f2c
    MPI_Status_c2f08 PMPI_Status_c2f08
    MPI_Status_f082c PMPI_Status_f082c
    MPI_Status_f2f08 PMPI_Status_f2f08
    MPI_Status_f082f PMPI_Status_f082f
}
