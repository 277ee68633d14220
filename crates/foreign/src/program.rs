//! What functions of the program need, in whatever language they are written: reductions, attributes
//! and generalised requests. How such a function is called is up to who translates for its language.

use crate::numbers::{error_in, error_out};
use crate::status::{status_in, status_out};
use crate::{Abi, entries};
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use hpvm_abi::constants::*;
use hpvm_abi::extra::Holder;

/// Calls a reduction (`invec`, `inoutvec`, elements) as often as its `int` needs for `count` elements.
///
/// # Safety
/// The buffers hold `count` elements of the datatype.
pub unsafe fn reduce_in_pieces(
    mut invec: *mut c_void,
    mut inoutvec: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    call: impl Fn(*mut c_void, *mut c_void, c_int),
) {
    let mut left = count;
    while left > 0 {
        let piece = left.min(MPI_Count::from(c_int::MAX));
        call(invec, inoutvec, piece as c_int);
        left -= piece;
        if left > 0 {
            let (mut lb, mut extent) = (0, 0);
            // SAFETY: the places are local variables; the elements are within the buffers.
            unsafe {
                (entries().standard.MPI_Type_get_extent)(datatype, &mut lb, &mut extent);
                invec = invec.byte_offset(extent * piece as isize);
                inoutvec = inoutvec.byte_offset(extent * piece as isize);
            }
        }
    }
}

/// What a program gave with an attribute key: addresses of its functions, and its state.
pub struct Key<E> {
    pub copy: usize,
    pub delete: usize,
    pub extra: E,
}

unsafe extern "C" fn release_key<E>(key: *mut c_void) {
    // SAFETY: the engine hands back what `create_keyval` made, once.
    drop(unsafe { Box::from_raw(key.cast::<Key<E>>()) });
}

/// Makes an attribute key whose functions are `copy` and `delete`; they get the address of `key` as
/// their state. `integers`: they are Fortran's. Returns an error of the ABI.
///
/// # Safety
/// The functions are null, the standard's numbers for predefined ones, or have the signatures of the
/// standard up to the handle, a word. `keyval` is null or may be written.
pub unsafe fn create_keyval<A: Abi, E>(
    holder: Holder,
    integers: bool,
    key: Key<E>,
    (copy, delete): (*const c_void, *const c_void),
    keyval: *mut c_int,
) -> c_int {
    let key = Box::into_raw(Box::new(key)).cast();
    // SAFETY: the caller's promises. The engine takes over the box unless it fails.
    unsafe {
        let copy = transmute::<*const c_void, MPI_Comm_copy_attr_function>(copy);
        let delete = transmute::<*const c_void, MPI_Comm_delete_attr_function>(delete);
        let create = entries().extra.keyval_create;
        let integers = c_int::from(integers);
        let code = create(holder, integers, copy, delete, release_key::<E>, keyval, key);
        if code != MPI_SUCCESS {
            release_key::<E>(key);
        }
        error_out::<A>(code)
    }
}

/// A generalised request: addresses of the program's functions, and its state.
pub struct Generalised<E> {
    pub query: usize,
    pub free: usize,
    pub cancel: usize,
    pub extra: E,
}

/// Functions of ours that the engine calls with the address of a [`Generalised`]; `free` ends it.
pub type GeneralisedCalls =
    (MPI_Grequest_query_function, MPI_Grequest_free_function, MPI_Grequest_cancel_function);

/// Starts a generalised request. Returns an error of the standard.
///
/// # Safety
/// `request` is null or may be written.
pub unsafe fn start_generalised<E>(
    functions: Generalised<E>,
    (query, free, cancel): GeneralisedCalls,
    request: *mut MPI_Request,
) -> c_int {
    let state = Box::into_raw(Box::new(functions));
    // SAFETY: the caller's promises; the engine takes over the state unless it fails.
    unsafe {
        let start = entries().standard.MPI_Grequest_start;
        let code = start(query, free, cancel, state.cast(), request);
        if code != MPI_SUCCESS {
            drop(Box::from_raw(state));
        }
        code
    }
}

/// Lets a query function of the program, `call`, fill in the engine's status through one of its own
/// ABI. Both the returned code and the one of `call`: the engine's and the ABI's.
///
/// # Safety
/// `status` holds a status.
pub unsafe fn query_status<A: Abi>(
    status: *mut MPI_Status,
    call: impl FnOnce(*mut A::Status) -> c_int,
) -> c_int {
    let mut own = MaybeUninit::<A::Status>::zeroed();
    // SAFETY: the caller's promise; a status consists of numbers, for which zero is a value.
    unsafe {
        status_out::<A>(&*status, own.as_mut_ptr());
        let code = call(own.as_mut_ptr());
        let error = (*status).MPI_ERROR;
        *status = MPI_Status { MPI_ERROR: error, ..status_in::<A>(own.assume_init_ref()) };
        error_in::<A>(code)
    }
}
