//! The predefined copy and delete functions of attributes, which are functions in this ABI. Programs
//! also call them, and an executable may know them under an address of its own, so they are not
//! recognised by their addresses but do what they are for.
#![allow(non_snake_case)]

use core::ffi::{c_int, c_void};
use hpvm_abi::constants::MPI_SUCCESS;

macro_rules! functions {
    ($($none:ident $dup:ident $delete:ident)*) => {$(
        /// An attribute that is not copied.
        ///
        /// # Safety
        /// `flag` may be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $none(
            _object: usize,
            _keyval: c_int,
            _extra_state: *mut c_void,
            _value: *mut c_void,
            _copy: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { *flag = 0 };
            MPI_SUCCESS
        }

        /// An attribute whose copy has the same value.
        ///
        /// # Safety
        /// `copy` is the place of a pointer, `flag` may be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $dup(
            _object: usize,
            _keyval: c_int,
            _extra_state: *mut c_void,
            value: *mut c_void,
            copy: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: the caller's promise.
            unsafe {
                *copy.cast::<*mut c_void>() = value;
                *flag = 1;
            }
            MPI_SUCCESS
        }

        /// An attribute that needs no care when it is deleted.
        #[unsafe(no_mangle)]
        pub extern "C" fn $delete(
            _object: usize,
            _keyval: c_int,
            _value: *mut c_void,
            _extra_state: *mut c_void,
        ) -> c_int {
            MPI_SUCCESS
        }
    )*};
}

functions! {
    OMPI_C_MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_DUP_FN OMPI_C_MPI_COMM_NULL_DELETE_FN
    OMPI_C_MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_DUP_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN
    OMPI_C_MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_DUP_FN OMPI_C_MPI_WIN_NULL_DELETE_FN
    OMPI_C_MPI_NULL_COPY_FN OMPI_C_MPI_DUP_FN OMPI_C_MPI_NULL_DELETE_FN
}
