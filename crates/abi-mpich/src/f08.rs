//! What programs find that MPICH's module `mpi_f08` was compiled into: variables that stand for
//! something, operators of handles, conversions of statuses, predefined functions.
#![allow(non_upper_case_globals)]

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};

use hpvm_abi::constants::MPI_SUCCESS;

use crate::fortran::Common;

/// Integers in a status.
const STATUS: usize = 5;

macro_rules! variables {
    ($($name:ident: $type:ty = $value:expr;)*) => {$(
        /// A variable of the module; only its address counts.
        #[unsafe(no_mangle)]
        pub static $name: Common<$type> = Common(UnsafeCell::new($value));
    )*};
}

variables! {
    MPIR_F08_MPI_BOTTOM: c_int = 0;
    MPIR_F08_MPI_IN_PLACE: c_int = 0;
    __mpi_f08_link_constants_MOD_mpi_errcodes_ignore: c_int = 0;
    __mpi_f08_link_constants_MOD_mpi_argv_null: u8 = 0;
    __mpi_f08_link_constants_MOD_mpi_argvs_null: u8 = 0;
    __mpi_f08_link_constants_MOD_mpi_unweighted: c_int = 0;
    __mpi_f08_link_constants_MOD_mpi_weights_empty: c_int = 0;
}

hpvm_fortran::operators! {
    __mpi_f08_types_MOD_mpi_comm_eq equal;
    __mpi_f08_types_MOD_mpi_comm_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_comm_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_comm_neq unequal;
    __mpi_f08_types_MOD_mpi_comm_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_comm_f_neq_f08 unequal;
    __mpi_f08_types_MOD_mpi_datatype_eq equal;
    __mpi_f08_types_MOD_mpi_datatype_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_datatype_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_datatype_neq unequal;
    __mpi_f08_types_MOD_mpi_datatype_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_datatype_f_neq_f08 unequal;
    __mpi_f08_types_MOD_mpi_errhandler_eq equal;
    __mpi_f08_types_MOD_mpi_errhandler_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_errhandler_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_errhandler_neq unequal;
    __mpi_f08_types_MOD_mpi_errhandler_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_errhandler_f_neq_f08 unequal;
    __mpi_f08_types_MOD_mpi_file_eq equal;
    __mpi_f08_types_MOD_mpi_file_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_file_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_file_neq unequal;
    __mpi_f08_types_MOD_mpi_file_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_file_f_neq_f08 unequal;
    __mpi_f08_types_MOD_mpi_group_eq equal;
    __mpi_f08_types_MOD_mpi_group_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_group_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_group_neq unequal;
    __mpi_f08_types_MOD_mpi_group_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_group_f_neq_f08 unequal;
    __mpi_f08_types_MOD_mpi_info_eq equal;
    __mpi_f08_types_MOD_mpi_info_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_info_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_info_neq unequal;
    __mpi_f08_types_MOD_mpi_info_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_info_f_neq_f08 unequal;
    __mpi_f08_types_MOD_mpi_message_eq equal;
    __mpi_f08_types_MOD_mpi_message_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_message_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_message_neq unequal;
    __mpi_f08_types_MOD_mpi_message_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_message_f_neq_f08 unequal;
    __mpi_f08_types_MOD_mpi_op_eq equal;
    __mpi_f08_types_MOD_mpi_op_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_op_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_op_neq unequal;
    __mpi_f08_types_MOD_mpi_op_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_op_f_neq_f08 unequal;
    __mpi_f08_types_MOD_mpi_request_eq equal;
    __mpi_f08_types_MOD_mpi_request_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_request_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_request_neq unequal;
    __mpi_f08_types_MOD_mpi_request_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_request_f_neq_f08 unequal;
    __mpi_f08_types_MOD_mpi_session_eq equal;
    __mpi_f08_types_MOD_mpi_session_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_session_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_session_neq unequal;
    __mpi_f08_types_MOD_mpi_session_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_session_f_neq_f08 unequal;
    __mpi_f08_types_MOD_mpi_win_eq equal;
    __mpi_f08_types_MOD_mpi_win_f08_eq_f equal;
    __mpi_f08_types_MOD_mpi_win_f_eq_f08 equal;
    __mpi_f08_types_MOD_mpi_win_neq unequal;
    __mpi_f08_types_MOD_mpi_win_f08_neq_f unequal;
    __mpi_f08_types_MOD_mpi_win_f_neq_f08 unequal;
}

/// Handles of C and of Fortran are the same integers; the functions get its address.
macro_rules! conversions {
    ($($name:ident)*) => {$(
        /// A conversion of handles.
        ///
        /// # Safety
        /// The argument is the address of an integer.
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: *const c_int) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { *handle }
        }
    )*};
}

conversions! {
    __mpi_f08_types_MOD_mpi_comm_c2f __mpi_f08_types_MOD_mpi_comm_f2c
    __mpi_f08_types_MOD_mpi_datatype_c2f __mpi_f08_types_MOD_mpi_datatype_f2c
    __mpi_f08_types_MOD_mpi_errhandler_c2f __mpi_f08_types_MOD_mpi_errhandler_f2c
    __mpi_f08_types_MOD_mpi_group_c2f __mpi_f08_types_MOD_mpi_group_f2c
    __mpi_f08_types_MOD_mpi_info_c2f __mpi_f08_types_MOD_mpi_info_f2c
    __mpi_f08_types_MOD_mpi_message_c2f __mpi_f08_types_MOD_mpi_message_f2c
    __mpi_f08_types_MOD_mpi_op_c2f __mpi_f08_types_MOD_mpi_op_f2c
    __mpi_f08_types_MOD_mpi_request_c2f __mpi_f08_types_MOD_mpi_request_f2c
    __mpi_f08_types_MOD_mpi_session_c2f __mpi_f08_types_MOD_mpi_session_f2c
    __mpi_f08_types_MOD_mpi_win_c2f __mpi_f08_types_MOD_mpi_win_f2c
}

macro_rules! statuses {
    ($($name:ident)*) => {$(
        /// Copies a status: all forms have the same words.
        ///
        /// # Safety
        /// The arguments are the addresses of statuses, and of an integer or null.
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            from: *const c_int,
            to: *mut c_int,
            ierror: *mut c_int,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                from.copy_to(to, STATUS);
                if !ierror.is_null() {
                    *ierror = MPI_SUCCESS;
                }
            }
        }
    )*};
}

statuses! {
    __mpi_f08_types_MOD_mpi_status_f082f __mpi_f08_types_MOD_mpi_status_f2f08
}

macro_rules! assignments {
    ($($name:ident)*) => {$(
        /// An assignment: the first argument gets the second.
        ///
        /// # Safety
        /// Both are the addresses of statuses.
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(to: *mut c_int, from: *const c_int) {
            // SAFETY: the caller's promise.
            unsafe { from.copy_to(to, STATUS) };
        }
    )*};
}

assignments! {
    __mpi_f08_types_MOD_mpi_status_f08_assign_c __mpi_f08_types_MOD_mpi_status_c_assign_f08
}

hpvm_fortran::predefined_functions! {
    __mpi_f08_callbacks_MOD_mpi_comm_dup_fn dup_fn
    __mpi_f08_callbacks_MOD_mpi_comm_null_copy_fn null_copy_fn
    __mpi_f08_callbacks_MOD_mpi_type_dup_fn dup_fn
    __mpi_f08_callbacks_MOD_mpi_type_null_copy_fn null_copy_fn
    __mpi_f08_callbacks_MOD_mpi_win_dup_fn dup_fn
    __mpi_f08_callbacks_MOD_mpi_win_null_copy_fn null_copy_fn
    ;
    __mpi_f08_callbacks_MOD_mpi_comm_null_delete_fn
    __mpi_f08_callbacks_MOD_mpi_type_null_delete_fn
    __mpi_f08_callbacks_MOD_mpi_win_null_delete_fn
}

/// `MPI_CONVERSION_FN_NULL`: only its address counts.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub extern "C" fn __mpi_f08_callbacks_MOD_mpi_conversion_fn_null() {}

/// Its form for large counts.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub extern "C" fn __mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c() {}

/// Whether a function is one of the two.
pub fn is_conversion_null(function: *const c_void) -> bool {
    let known = [
        __mpi_f08_callbacks_MOD_mpi_conversion_fn_null as *const c_void,
        __mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c as *const c_void,
    ];
    known.contains(&function)
}

// `MPI_SIZEOF` of both modules.
hpvm_fortran::sizeofs! {
    __mpi_f08_types_MOD_mpi_sizeof_character 1;
    __mpi_f08_types_MOD_mpi_sizeof_logical 4;
    __mpi_f08_types_MOD_mpi_sizeof_xint8 1;
    __mpi_f08_types_MOD_mpi_sizeof_xint16 2;
    __mpi_f08_types_MOD_mpi_sizeof_xint32 4;
    __mpi_f08_types_MOD_mpi_sizeof_xint64 8;
    __mpi_f08_types_MOD_mpi_sizeof_xreal32 4;
    __mpi_f08_types_MOD_mpi_sizeof_xreal64 8;
    __mpi_f08_types_MOD_mpi_sizeof_xreal128 16;
    __mpi_f08_types_MOD_mpi_sizeof_xcomplex32 8;
    __mpi_f08_types_MOD_mpi_sizeof_xcomplex64 16;
    __mpi_f08_types_MOD_mpi_sizeof_xcomplex128 32;
    __mpi_sizeofs_MOD_mpi_sizeof_ch 1;
    __mpi_sizeofs_MOD_mpi_sizeof_chv 1;
    __mpi_sizeofs_MOD_mpi_sizeof_l 4;
    __mpi_sizeofs_MOD_mpi_sizeof_lv 4;
    __mpi_sizeofs_MOD_mpi_sizeof_i 4;
    __mpi_sizeofs_MOD_mpi_sizeof_iv 4;
    __mpi_sizeofs_MOD_mpi_sizeof_i1 1;
    __mpi_sizeofs_MOD_mpi_sizeof_i1v 1;
    __mpi_sizeofs_MOD_mpi_sizeof_i2 2;
    __mpi_sizeofs_MOD_mpi_sizeof_i2v 2;
    __mpi_sizeofs_MOD_mpi_sizeof_i8 8;
    __mpi_sizeofs_MOD_mpi_sizeof_i8v 8;
    __mpi_sizeofs_MOD_mpi_sizeof_r 4;
    __mpi_sizeofs_MOD_mpi_sizeof_rv 4;
    __mpi_sizeofs_MOD_mpi_sizeof_d 8;
    __mpi_sizeofs_MOD_mpi_sizeof_dv 8;
    __mpi_sizeofs_MOD_mpi_sizeof_cx 8;
    __mpi_sizeofs_MOD_mpi_sizeof_cxv 8;
}
