//! Functions that are not in the standard: callbacks with a word of state, so that one function of
//! a library for another ABI can stand for any function of a program.

use crate::constants::{MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function};
use crate::constants::{MPI_Count, MPI_Datatype, MPI_Errhandler, MPI_Op};
use core::ffi::{c_char, c_int, c_void};

/// A reduction: `state`, `invec`, `inoutvec`, elements, datatype.
pub type Reduction = unsafe extern "C" fn(usize, *mut c_void, *mut c_void, MPI_Count, MPI_Datatype);

/// An error handler: `state`, the place of the object's handle (of the standard ABI), the place of
/// the error code.
pub type ErrorCall = unsafe extern "C" fn(usize, *mut usize, *mut c_int);

/// The kinds of object that error handlers and attributes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Holder {
    Comm,
    Datatype,
    Window,
    File,
    Session,
}

/// Functions beyond the standard ABI. All return an error code of it.
#[repr(C)]
pub struct Extra {
    /// `MPI_Op_create`; `state` must stay valid while the operation is in use.
    pub op_create: unsafe extern "C" fn(
        call: Reduction,
        state: usize,
        commute: c_int,
        op: *mut MPI_Op,
    ) -> c_int,
    /// `MPI_X_create_errhandler`. Two handlers of one kind with the same `state` are the same.
    pub errhandler_create: unsafe extern "C" fn(
        holder: Holder,
        call: ErrorCall,
        state: usize,
        errhandler: *mut MPI_Errhandler,
    ) -> c_int,
    /// `MPI_X_create_keyval`. `release` is called with `extra_state` when the key was freed and no
    /// attribute uses it any more.
    pub keyval_create: unsafe extern "C" fn(
        holder: Holder,
        copy: MPI_Comm_copy_attr_function,
        delete: MPI_Comm_delete_attr_function,
        release: unsafe extern "C" fn(*mut c_void),
        keyval: *mut c_int,
        extra_state: *mut c_void,
    ) -> c_int,
    /// Raises the error that a function (of the given name, ended by a zero byte) is not available.
    pub unsupported: unsafe extern "C" fn(name: *const c_char) -> c_int,
}
