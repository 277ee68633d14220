//! Functions that are not done: attribute and error-handling callbacks in C++, data representations,
//! generalised requests in C++. Each says what it is and ends the process.

/// Says that `what` is not available and ends the process.
pub fn end(what: &str) -> ! {
    let bindings = "C++ bindings of Open MPI, libmpi_cxx.so.40";
    hpvm_say::line(&format!("hpvm: {what} is not available ({bindings})"));
    std::process::exit(1)
}

macro_rules! missing {
    ($($name:ident $symbol:literal $text:literal)*) => {$(
        #[doc = concat!("`", $text, "`: not done.")]
        #[unsafe(export_name = $symbol)]
        pub extern "C" fn $name() -> ! {
            end($text)
        }
    )*};
}

missing! {
    register_datarep "_ZN3MPI16Register_datarepEPKcPFiPvP15ompi_datatype_tiS2_xS2_EPFvS2_RNS_8DatatypeEiS2_xS2_EPFvRKS7_RlS2_ES2_" "MPI::Register_datarep"
    register_datarep2 "_ZN3MPI16Register_datarepEPKcPFiPvP15ompi_datatype_tiS2_xS2_ES6_PFvRKNS_8DatatypeERlS2_ES2_" "MPI::Register_datarep"
    register_datarep3 "_ZN3MPI16Register_datarepEPKcPFvPvRNS_8DatatypeEiS2_xS2_EPFiS2_P15ompi_datatype_tiS2_xS2_EPFvRKS3_RlS2_ES2_" "MPI::Register_datarep"
    register_datarep4 "_ZN3MPI16Register_datarepEPKcPFvPvRNS_8DatatypeEiS2_xS2_ES6_PFvRKS3_RlS2_ES2_" "MPI::Register_datarep"
    win_do_create_keyval "_ZN3MPI3Win16do_create_keyvalEPFiP10ompi_win_tiPvS3_S3_PiEPFiS2_iS3_S3_EPFiRKS0_iS3_S3_S3_RbEPFiRS0_iS3_S3_ES3_Ri" "MPI::Win::do_create_keyval"
    win_create_errhandler "_ZN3MPI3Win17Create_errhandlerEPFvRS0_PizE" "MPI::Win::Create_errhandler"
    comm_do_create_keyval "_ZN3MPI4Comm16do_create_keyvalEPFiP19ompi_communicator_tiPvS3_S3_PiEPFiS2_iS3_S3_EPFiRKS0_iS3_S3_S3_RbEPFiRS0_iS3_S3_ES3_Ri" "MPI::Comm::do_create_keyval"
    comm_create_errhandler "_ZN3MPI4Comm17Create_errhandlerEPFvRS0_PizE" "MPI::Comm::Create_errhandler"
    file_create_errhandler "_ZN3MPI4File17Create_errhandlerEPFvRS0_PizE" "MPI::File::Create_errhandler"
    datatype_do_create_keyval "_ZN3MPI8Datatype16do_create_keyvalEPFiP15ompi_datatype_tiPvS3_S3_PiEPFiS2_iS3_S3_EPFiRKS0_iS3_PKvS3_RbEPFiRS0_iS3_S3_ES3_Ri" "MPI::Datatype::do_create_keyval"
    c_attr_create_keyval_comm "ompi_cxx_attr_create_keyval_comm" "ompi_cxx_attr_create_keyval_comm"
    c_attr_create_keyval_type "ompi_cxx_attr_create_keyval_type" "ompi_cxx_attr_create_keyval_type"
    c_attr_create_keyval_win "ompi_cxx_attr_create_keyval_win" "ompi_cxx_attr_create_keyval_win"
    c_comm_get_type "ompi_cxx_comm_get_type" "ompi_cxx_comm_get_type"
    c_errhandler_create_comm "ompi_cxx_errhandler_create_comm" "ompi_cxx_errhandler_create_comm"
    c_errhandler_create_file "ompi_cxx_errhandler_create_file" "ompi_cxx_errhandler_create_file"
    c_errhandler_create_win "ompi_cxx_errhandler_create_win" "ompi_cxx_errhandler_create_win"
    c_errhandler_invoke_comm "ompi_cxx_errhandler_invoke_comm" "ompi_cxx_errhandler_invoke_comm"
    c_errhandler_invoke_file "ompi_cxx_errhandler_invoke_file" "ompi_cxx_errhandler_invoke_file"
    c_errhandler_set_callbacks "ompi_cxx_errhandler_set_callbacks" "ompi_cxx_errhandler_set_callbacks"
    c_new_intercept_state "ompi_cxx_new_intercept_state" "ompi_cxx_new_intercept_state"
    c_comm_copy_attr_intercept "ompi_mpi_cxx_comm_copy_attr_intercept" "ompi_mpi_cxx_comm_copy_attr_intercept"
    c_comm_delete_attr_intercept "ompi_mpi_cxx_comm_delete_attr_intercept" "ompi_mpi_cxx_comm_delete_attr_intercept"
    c_comm_errhandler_invoke "ompi_mpi_cxx_comm_errhandler_invoke" "ompi_mpi_cxx_comm_errhandler_invoke"
    c_comm_throw_excptn_fctn "ompi_mpi_cxx_comm_throw_excptn_fctn" "ompi_mpi_cxx_comm_throw_excptn_fctn"
    c_file_errhandler_invoke "ompi_mpi_cxx_file_errhandler_invoke" "ompi_mpi_cxx_file_errhandler_invoke"
    c_file_throw_excptn_fctn "ompi_mpi_cxx_file_throw_excptn_fctn" "ompi_mpi_cxx_file_throw_excptn_fctn"
    c_grequest_cancel_fn_intercept "ompi_mpi_cxx_grequest_cancel_fn_intercept" "ompi_mpi_cxx_grequest_cancel_fn_intercept"
    c_grequest_free_fn_intercept "ompi_mpi_cxx_grequest_free_fn_intercept" "ompi_mpi_cxx_grequest_free_fn_intercept"
    c_grequest_query_fn_intercept "ompi_mpi_cxx_grequest_query_fn_intercept" "ompi_mpi_cxx_grequest_query_fn_intercept"
    c_throw_exception "ompi_mpi_cxx_throw_exception" "ompi_mpi_cxx_throw_exception"
    c_type_copy_attr_intercept "ompi_mpi_cxx_type_copy_attr_intercept" "ompi_mpi_cxx_type_copy_attr_intercept"
    c_type_delete_attr_intercept "ompi_mpi_cxx_type_delete_attr_intercept" "ompi_mpi_cxx_type_delete_attr_intercept"
    c_win_copy_attr_intercept "ompi_mpi_cxx_win_copy_attr_intercept" "ompi_mpi_cxx_win_copy_attr_intercept"
    c_win_delete_attr_intercept "ompi_mpi_cxx_win_delete_attr_intercept" "ompi_mpi_cxx_win_delete_attr_intercept"
    c_win_errhandler_invoke "ompi_mpi_cxx_win_errhandler_invoke" "ompi_mpi_cxx_win_errhandler_invoke"
    c_win_throw_excptn_fctn "ompi_mpi_cxx_win_throw_excptn_fctn" "ompi_mpi_cxx_win_throw_excptn_fctn"
}
