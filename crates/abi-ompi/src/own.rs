//! Functions of the standard that differ in this ABI.
//!
//! Safety of every function here: the caller keeps the promises of the MPI standard about its
//! arguments.
#![allow(non_snake_case, clippy::missing_safety_doc)]

use crate::Ompi;
use core::ffi::{CStr, c_char, c_int};
use hpvm_abi::constants::{MPI_SUCCESS, MPI_T_pvar_handle, MPI_T_pvar_session};
use hpvm_foreign::generated::{errh, tool};

/// Error classes of this ABI that the standard does not have (they are of fault tolerance), and what
/// they mean. Nothing here returns them.
const FURTHER: [(c_int, &CStr); 3] = [
    (75, c"MPI_ERR_PROC_FAILED: a process has failed"),
    (76, c"MPI_ERR_PROC_FAILED_PENDING: a process that an operation may need has failed"),
    (77, c"MPI_ERR_REVOKED: the communicator was revoked"),
];

/// `PMPI_Error_class`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Error_class(errorcode: c_int, errorclass: *mut c_int) -> c_int {
    if !errorclass.is_null() && FURTHER.iter().any(|(class, _)| *class == errorcode) {
        // SAFETY: not null; the caller vouches for the place.
        unsafe { *errorclass = errorcode };
        return MPI_SUCCESS;
    }
    // SAFETY: the caller's promises.
    unsafe { errh::error_class::<Ompi>(errorcode, errorclass) }
}

/// Calls [`PMPI_Error_class`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Error_class(errorcode: c_int, errorclass: *mut c_int) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { PMPI_Error_class(errorcode, errorclass) }
}

/// `PMPI_Error_string`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Error_string(
    errorcode: c_int,
    string: *mut c_char,
    resultlen: *mut c_int,
) -> c_int {
    let further = FURTHER.iter().find(|(class, _)| *class == errorcode);
    let Some((_, text)) = further.filter(|_| !string.is_null() && !resultlen.is_null()) else {
        // SAFETY: the caller's promises.
        return unsafe { errh::error_string::<Ompi>(errorcode, string, resultlen) };
    };
    let text = text.to_bytes_with_nul();
    // SAFETY: the program's text has MPI_MAX_ERROR_STRING bytes, more than any of ours.
    unsafe {
        string.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        *resultlen = text.len() as c_int - 1;
    }
    MPI_SUCCESS
}

/// Calls [`PMPI_Error_string`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Error_string(
    errorcode: c_int,
    string: *mut c_char,
    resultlen: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { PMPI_Error_string(errorcode, string, resultlen) }
}

/// `MPI_T_PVAR_ALL_HANDLES` of this ABI and of the standard one.
const ALL_HANDLES: (isize, usize) = (-1, 1);

macro_rules! of_handles {
    ($($name:ident $profiled:ident $generic:ident)*) => {$(
        #[doc = concat!("`", stringify!($profiled), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $profiled(
            session: MPI_T_pvar_session,
            handle: MPI_T_pvar_handle,
        ) -> c_int {
            let all = handle.0 == ALL_HANDLES.0 as usize;
            let handle = if all { MPI_T_pvar_handle(ALL_HANDLES.1) } else { handle };
            // SAFETY: the caller's promises.
            unsafe { tool::$generic::<Ompi>(session, handle) }
        }

        #[doc = concat!("Calls [`", stringify!($profiled), "`].")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            session: MPI_T_pvar_session,
            handle: MPI_T_pvar_handle,
        ) -> c_int {
            // SAFETY: the caller's promises.
            unsafe { $profiled(session, handle) }
        }
    )*};
}

of_handles! {
    MPI_T_pvar_start PMPI_T_pvar_start pvar_start
    MPI_T_pvar_stop PMPI_T_pvar_stop pvar_stop
    MPI_T_pvar_reset PMPI_T_pvar_reset pvar_reset
}
