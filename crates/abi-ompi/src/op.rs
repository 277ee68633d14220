//! Operations of the C++ bindings.
//!
//! `MPI::Op::Init` makes an operation of one function of `libmpi_cxx.so.40` and then gives the C++
//! function to `ompi_op_set_cxx_callback`; the former is called with the latter as a fifth argument.
#![allow(non_snake_case)]

use crate::{Handle, Ompi};
use core::ffi::{c_int, c_void};
use core::mem::transmute;
use hpvm_abi::constants::{MPI_Count, MPI_Datatype, MPI_Op, MPI_SUCCESS};
use hpvm_foreign::numbers::error_out;
use hpvm_foreign::out_param::OutParam;
use hpvm_foreign::program::reduce_in_pieces;
use hpvm_foreign::{Abi, by_hand, entries};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A function of `libmpi_cxx.so.40` that calls C++ functions of programs.
type Intercept =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle, *const c_void);

/// What is known of operations of C++.
struct Known {
    /// The address of the intercepting function, as everybody in the process sees it; 0 without the
    /// C++ library.
    intercept: usize,
    /// C++ functions by the number that is the state of the operation.
    functions: BTreeMap<usize, usize>,
    /// The number of the operation that has the handle now.
    numbers: BTreeMap<usize, usize>,
}

static KNOWN: Mutex<Known> =
    Mutex::new(Known { intercept: 0, functions: BTreeMap::new(), numbers: BTreeMap::new() });

fn known<T>(use_it: impl FnOnce(&mut Known) -> T) -> T {
    use_it(&mut KNOWN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Called by `libmpi_cxx.so.40` when it is loaded, with the function that `MPI::Op::Init` names.
#[unsafe(no_mangle)]
pub extern "C" fn hpvm_set_cxx_intercept(function: *const c_void) {
    known(|known| known.intercept = function.expose_provenance());
}

/// Calls the C++ function of an operation.
unsafe extern "C" fn reduce(
    state: usize,
    invec: *mut c_void,
    inoutvec: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) {
    let (intercept, function) =
        known(|known| (known.intercept, known.functions.get(&state).copied().unwrap_or(0)));
    let call = |invec, inoutvec, mut len| {
        let mut own = Ompi::datatype_out(datatype);
        // SAFETY: `op_create` saw this function's address; the buffers are the engine's.
        unsafe {
            let intercept = transmute::<usize, Intercept>(intercept);
            let function = core::ptr::with_exposed_provenance(function);
            intercept(invec, inoutvec, &mut len, &mut own, function);
        }
    };
    // SAFETY: the engine's buffers hold `count` elements.
    unsafe { reduce_in_pieces(invec, inoutvec, count, datatype, call) };
}

/// `PMPI_Op_create`.
///
/// # Safety
/// The caller keeps the promises of the MPI standard about its arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_create(
    user_fn: *const c_void,
    commute: c_int,
    op: *mut Handle,
) -> c_int {
    let of_cxx = known(|known| known.intercept != 0 && known.intercept == user_fn.addr());
    if !of_cxx {
        // SAFETY: the caller's promises.
        return unsafe { by_hand::op_create::<Ompi>(user_fn, commute, op) };
    }
    // Numbers are not used again: an operation may be in use after it was freed.
    let number = known(|known| {
        let number = known.functions.len() + 1;
        known.functions.insert(number, 0);
        number
    });
    let mut own = OutParam::<Handle, MPI_Op>::new(op);
    // SAFETY: the caller's promises.
    unsafe {
        let code = (entries().extra.op_create)(reduce, number, commute, own.pointer());
        own.give(Ompi::op_out);
        if code == MPI_SUCCESS && !op.is_null() {
            known(|known| known.numbers.insert((*op).0, number));
        }
        error_out::<Ompi>(code)
    }
}

/// `MPI_Op_create`.
///
/// # Safety
/// As for [`PMPI_Op_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Op_create(
    user_fn: *const c_void,
    commute: c_int,
    op: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { PMPI_Op_create(user_fn, commute, op) }
}

/// The C++ function of an operation that has just been made by `MPI::Op::Init`.
#[unsafe(no_mangle)]
pub extern "C" fn ompi_op_set_cxx_callback(op: Handle, function: *const c_void) {
    known(|known| {
        if let Some(number) = known.numbers.get(&op.0) {
            known.functions.insert(*number, function.expose_provenance());
        }
    });
}
