//! Conversions between C and Fortran: handles are the same number, statuses the same words.
//!
//! Safety of every function here: the caller keeps the promises of the MPI standard about its
//! arguments.
#![allow(non_snake_case, clippy::missing_safety_doc)]

use crate::{Comm, Datatype, Errhandler, File, Group, Info, Message, Mpich, Op, Request, Session};
use crate::{Status, Win};
use core::ffi::c_int;
use hpvm_abi::constants::{MPI_ERR_ARG, MPI_SUCCESS};
use hpvm_foreign::Abi;
use hpvm_foreign::numbers::error_out;

macro_rules! handles {
    ($($type:ident: $($toint:ident)* = $to:ident, $($fromint:ident)* = $from:ident;)*) => {$(
        $(
            #[doc = concat!("`", stringify!($toint), "`.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $toint(handle: $type) -> c_int {
                Mpich::$to(handle)
            }
        )*
        $(
            #[doc = concat!("`", stringify!($fromint), "`.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $fromint(number: c_int) -> $type {
                Mpich::$from(number)
            }
        )*
    )*};
}

handles! {
    Comm: MPI_Comm_c2f PMPI_Comm_c2f = comm_toint, MPI_Comm_f2c PMPI_Comm_f2c = comm_fromint;
    Group: MPI_Group_c2f PMPI_Group_c2f = group_toint,
        MPI_Group_f2c PMPI_Group_f2c = group_fromint;
    Datatype: MPI_Type_c2f PMPI_Type_c2f = datatype_toint,
        MPI_Type_f2c PMPI_Type_f2c = datatype_fromint;
    Op: MPI_Op_c2f PMPI_Op_c2f = op_toint, MPI_Op_f2c PMPI_Op_f2c = op_fromint;
    Request: MPI_Request_c2f PMPI_Request_c2f = request_toint,
        MPI_Request_f2c PMPI_Request_f2c = request_fromint;
    Message: MPI_Message_c2f PMPI_Message_c2f = message_toint,
        MPI_Message_f2c PMPI_Message_f2c = message_fromint;
    Errhandler: MPI_Errhandler_c2f PMPI_Errhandler_c2f = errhandler_toint,
        MPI_Errhandler_f2c PMPI_Errhandler_f2c = errhandler_fromint;
    Info: MPI_Info_c2f PMPI_Info_c2f = info_toint, MPI_Info_f2c PMPI_Info_f2c = info_fromint;
    Win: MPI_Win_c2f PMPI_Win_c2f = win_toint, MPI_Win_f2c PMPI_Win_f2c = win_fromint;
    File: MPI_File_c2f PMPI_File_c2f = file_toint, MPI_File_f2c PMPI_File_f2c = file_fromint;
    Session: MPI_Session_c2f PMPI_Session_c2f = session_toint,
        MPI_Session_f2c PMPI_Session_f2c = session_fromint;
}

/// A copy of the words; the ignored status has none to copy.
unsafe fn copy(from: *const Status, to: *mut Status) -> c_int {
    if from.addr() <= 1 || to.is_null() {
        return error_out::<Mpich>(MPI_ERR_ARG);
    }
    // SAFETY: the caller's promise: two statuses.
    unsafe { *to = *from };
    MPI_SUCCESS
}

macro_rules! statuses {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: both forms have the same five words.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(from: *const Status, to: *mut Status) -> c_int {
            // SAFETY: the caller's promises.
            unsafe { copy(from, to) }
        }
    )*};
}

statuses! {
    MPI_Status_c2f PMPI_Status_c2f MPI_Status_f2c PMPI_Status_f2c
    MPI_Status_c2f08 PMPI_Status_c2f08 MPI_Status_f082c PMPI_Status_f082c
    MPI_Status_f2f08 PMPI_Status_f2f08 MPI_Status_f082f PMPI_Status_f082f
}
