//! Functions that are not in the standard: callbacks with a word of state, so that one function of
//! a library for another ABI can stand for any function of a program.

use crate::constants::{MPI_Aint, MPI_Count, MPI_Datatype, MPI_Errhandler, MPI_Op, MPI_Request};
use crate::constants::{MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function};
use core::ffi::{c_char, c_int, c_void};

/// A reduction: `state`, `invec`, `inoutvec`, elements, datatype.
pub type Reduction = unsafe extern "C" fn(usize, *mut c_void, *mut c_void, MPI_Count, MPI_Datatype);

/// An error handler: `state`, the place of the object's handle (of the standard ABI), the place of
/// the error code.
pub type ErrorCall = unsafe extern "C" fn(usize, *mut usize, *mut c_int);

/// `MPI::ERRORS_THROW_EXCEPTIONS` of C++, whose bindings throw what calls return. A value among those that the standard
/// ABI keeps for error handlers and gives no meaning to.
pub const ERRORS_THROW: MPI_Errhandler = MPI_Errhandler(0x14f);

/// Moves bytes between a buffer of the program and the copy that stands for it, or frees the copy: `state`.
pub type Staging = unsafe extern "C" fn(usize);

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

/// A dimension of an array section: elements, and bytes from one to the next.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SectionDimension {
    pub extent: MPI_Aint,
    pub stride: MPI_Aint,
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
    /// attribute uses it any more. With `integers` other than 0 the functions are Fortran's: the
    /// attribute that they get is an integer in place of a pointer, and so is what they store.
    pub keyval_create: unsafe extern "C" fn(
        holder: Holder,
        integers: c_int,
        copy: MPI_Comm_copy_attr_function,
        delete: MPI_Comm_delete_attr_function,
        release: unsafe extern "C" fn(*mut c_void),
        keyval: *mut c_int,
        extra_state: *mut c_void,
    ) -> c_int,
    /// `MPI_X_set_attr` of Fortran: C gets the address of a copy of the integer.
    pub attr_set_integer: unsafe extern "C" fn(
        holder: Holder,
        handle: usize,
        keyval: c_int,
        value: MPI_Aint,
    ) -> c_int,
    /// `MPI_X_get_attr` of Fortran: what C set is its pointer as an integer, the value of a predefined
    /// attribute its address.
    pub attr_get_integer: unsafe extern "C" fn(
        holder: Holder,
        handle: usize,
        keyval: c_int,
        value: *mut MPI_Aint,
        flag: *mut c_int,
    ) -> c_int,
    /// Makes a committed datatype: `count` elements of `oldtype` in the contiguous array that the section of
    /// elements of `element` bytes would be copied to, laid out as the section. The first of the `rank` dimensions
    /// is the fastest. Without `newtype`: the error of a section where only a contiguous buffer is possible.
    pub section_type: unsafe extern "C" fn(
        element: MPI_Aint,
        rank: c_int,
        dimensions: *const SectionDimension,
        count: MPI_Count,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) -> c_int,
    /// Has a request of a collective operation keep a copy that stands for a buffer which is not contiguous: an
    /// operation that has been started uses it already and calls `empty` when it ends, at once where it has ended; a
    /// persistent one calls `fill` at each start, too. `release` is called when nothing uses the copy any more. All
    /// three get `state`, run inside the library, and may call nothing of MPI.
    pub stage: unsafe extern "C" fn(
        request: MPI_Request,
        state: usize,
        fill: Staging,
        empty: Staging,
        release: Staging,
    ) -> c_int,
    /// Raises the error that a function (of the given name, ended by a zero byte) is not available.
    pub unsupported: unsafe extern "C" fn(name: *const c_char) -> c_int,
    /// `MPI_Init` for a programming model whose programs need not call it: they may call MPI at once, and those
    /// that do call `MPI_Init` later succeed with that. Does nothing when MPI is initialized already. `adopted`, asked at
    /// the end: whether the program has called `MPI_Init`, and so has to call `MPI_Finalize` itself.
    pub init_for_model: unsafe extern "C" fn() -> c_int,
    pub adopted: unsafe extern "C" fn() -> c_int,
    /// Ends the job with a text (ended by a zero byte) for people, and a code other than 0.
    pub fail: unsafe extern "C" fn(text: *const c_char, code: c_int) -> !,
    /// Tells a partitioned request, which has not been started, that one element of `datatype` is its whole buffer: the
    /// partitions follow each other in what the datatype describes, wherever that lies.
    pub lay_out: unsafe extern "C" fn(request: MPI_Request, datatype: MPI_Datatype) -> c_int,
}
