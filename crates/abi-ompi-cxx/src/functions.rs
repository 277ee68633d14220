//! Functions that are not inline in the headers.

use crate::{Object, tables};
use core::ffi::{c_int, c_void};

type Callback = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, *const Object);

#[link(name = "mpi")]
unsafe extern "C" {
    static ompi_mpi_comm_null: c_void;
    fn MPI_Type_free(datatype: *mut *mut c_void) -> c_int;
    fn MPI_Win_free(win: *mut *mut c_void) -> c_int;
    fn MPI_File_close(file: *mut *mut c_void) -> c_int;
    fn hpvm_set_cxx_intercept(function: *const c_void);
}

/// Tells libmpi which function operations of the bindings are made of. An executable may know it under
/// an address of its own, which is then the one that everybody gets.
extern "C" fn register() {
    // SAFETY: no preconditions.
    unsafe { hpvm_set_cxx_intercept(ompi_mpi_cxx_op_intercept as *const c_void) }
}

/// Called when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = register;

/// `MPI::Comm::Comm()`, part of constructors that set the table of their own class.
///
/// # Safety
/// `this` is memory for an object.
#[unsafe(export_name = "_ZN3MPI4CommC2Ev")]
pub unsafe extern "C" fn comm(this: *mut Object) {
    let handle = (&raw const ompi_mpi_comm_null).cast_mut();
    // SAFETY: the caller's promise.
    unsafe { this.write(Object { table: tables::find(c"_ZTVN3MPI4CommE"), handle }) }
}

/// The same under the name of a complete object's constructor.
///
/// # Safety
/// As for [`comm`].
#[unsafe(export_name = "_ZN3MPI4CommC1Ev")]
pub unsafe extern "C" fn whole_comm(this: *mut Object) {
    // SAFETY: the caller's promise.
    unsafe { comm(this) }
}

/// `MPI::Comm::Comm(const MPI::Comm_Null &)`.
///
/// # Safety
/// `this` is memory for an object, `other` an object.
#[unsafe(export_name = "_ZN3MPI4CommC2ERKNS_9Comm_NullE")]
pub unsafe extern "C" fn comm_from(this: *mut Object, other: *const Object) {
    // SAFETY: the caller's promise.
    unsafe {
        let handle = (*other).handle;
        this.write(Object { table: tables::find(c"_ZTVN3MPI4CommE"), handle });
    }
}

/// The same under the name of a complete object's constructor.
///
/// # Safety
/// As for [`comm_from`].
#[unsafe(export_name = "_ZN3MPI4CommC1ERKNS_9Comm_NullE")]
pub unsafe extern "C" fn whole_comm_from(this: *mut Object, other: *const Object) {
    // SAFETY: the caller's promise.
    unsafe { comm_from(this, other) }
}

/// `MPI::Datatype::Free()`.
///
/// # Safety
/// `this` is an object.
#[unsafe(export_name = "_ZN3MPI8Datatype4FreeEv")]
pub unsafe extern "C" fn datatype_free(this: *mut Object) {
    // SAFETY: the caller's promise. An error went to the error handler.
    unsafe { MPI_Type_free(&raw mut (*this).handle) };
}

/// `MPI::Win::Free()`.
///
/// # Safety
/// `this` is an object.
#[unsafe(export_name = "_ZN3MPI3Win4FreeEv")]
pub unsafe extern "C" fn win_free(this: *mut Object) {
    // SAFETY: the caller's promise. An error went to the error handler.
    unsafe { MPI_Win_free(&raw mut (*this).handle) };
}

/// `MPI::File::Close()`.
///
/// # Safety
/// `this` is an object.
#[unsafe(export_name = "_ZN3MPI4File5CloseEv")]
pub unsafe extern "C" fn file_close(this: *mut Object) {
    // SAFETY: the caller's promise. An error went to the error handler.
    unsafe { MPI_File_close(&raw mut (*this).handle) };
}

/// `MPI::InitializeIntercepts()`, which `MPI::Init` calls: here is nothing to prepare.
#[unsafe(export_name = "_ZN3MPI20InitializeInterceptsEv")]
pub extern "C" fn initialize_intercepts() {}

/// Calls the C++ function of a reduction. `MPI::Op::Init` makes an operation of this function and
/// gives libmpi the C++ one, which arrives here as the fifth argument.
///
/// # Safety
/// As for any function of a reduction; `call` is the C++ function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_mpi_cxx_op_intercept(
    invec: *mut c_void,
    inoutvec: *mut c_void,
    len: *mut c_int,
    datatype: *mut *mut c_void,
    call: Option<Callback>,
) {
    let Some(call) = call else {
        crate::missing::end("an operation of MPI::Op::Init whose C++ function is not known")
    };
    // SAFETY: the caller's promise.
    unsafe {
        let datatype = Object { table: tables::find(c"_ZTVN3MPI8DatatypeE"), handle: *datatype };
        call(invec, inoutvec, *len, &raw const datatype);
    }
}
