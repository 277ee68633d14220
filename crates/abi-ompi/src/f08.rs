//! What programs find that Open MPI's module `mpi_f08` was compiled into: operators of handles, and predefined
//! functions. The constants (`ompi_f08_mpi_comm_world`, ...) are generated.

use core::ffi::c_void;

hpvm_fortran::operators! {
    __mpi_f08_types_MOD_ompi_comm_op_eq equal;
    __mpi_f08_types_MOD_ompi_comm_op_ne unequal;
    __mpi_f08_types_MOD_ompi_datatype_op_eq equal;
    __mpi_f08_types_MOD_ompi_datatype_op_ne unequal;
    __mpi_f08_types_MOD_ompi_errhandler_op_eq equal;
    __mpi_f08_types_MOD_ompi_errhandler_op_ne unequal;
    __mpi_f08_types_MOD_ompi_file_op_eq equal;
    __mpi_f08_types_MOD_ompi_file_op_ne unequal;
    __mpi_f08_types_MOD_ompi_group_op_eq equal;
    __mpi_f08_types_MOD_ompi_group_op_ne unequal;
    __mpi_f08_types_MOD_ompi_info_op_eq equal;
    __mpi_f08_types_MOD_ompi_info_op_ne unequal;
    __mpi_f08_types_MOD_ompi_message_op_eq equal;
    __mpi_f08_types_MOD_ompi_message_op_ne unequal;
    __mpi_f08_types_MOD_ompi_op_op_eq equal;
    __mpi_f08_types_MOD_ompi_op_op_ne unequal;
    __mpi_f08_types_MOD_ompi_request_op_eq equal;
    __mpi_f08_types_MOD_ompi_request_op_ne unequal;
    __mpi_f08_types_MOD_ompi_session_op_eq equal;
    __mpi_f08_types_MOD_ompi_session_op_ne unequal;
    __mpi_f08_types_MOD_ompi_win_op_eq equal;
    __mpi_f08_types_MOD_ompi_win_op_ne unequal;
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

/// Whether a function is it.
pub fn is_conversion_null(function: *const c_void) -> bool {
    function == __mpi_f08_callbacks_MOD_mpi_conversion_fn_null as *const c_void
}
