//! `==` and `/=` of the handle types in `include/mpi_types.f90`.

hpvm_fortran::operators! {
    hpvm_comm_eq_ equal;
    hpvm_comm_ne_ unequal;
    hpvm_datatype_eq_ equal;
    hpvm_datatype_ne_ unequal;
    hpvm_errhandler_eq_ equal;
    hpvm_errhandler_ne_ unequal;
    hpvm_file_eq_ equal;
    hpvm_file_ne_ unequal;
    hpvm_group_eq_ equal;
    hpvm_group_ne_ unequal;
    hpvm_info_eq_ equal;
    hpvm_info_ne_ unequal;
    hpvm_message_eq_ equal;
    hpvm_message_ne_ unequal;
    hpvm_op_eq_ equal;
    hpvm_op_ne_ unequal;
    hpvm_request_eq_ equal;
    hpvm_request_ne_ unequal;
    hpvm_session_eq_ equal;
    hpvm_session_ne_ unequal;
    hpvm_win_eq_ equal;
    hpvm_win_ne_ unequal;
}
