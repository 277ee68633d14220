//! Functions of a Fortran program that the engine calls: reductions, error handlers, generalised
//! requests. They get the addresses of integers.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::transmute;

use hpvm_abi::constants::*;
use hpvm_abi::extra::{ErrorCall, Holder, Reduction};
use hpvm_foreign::entries;
use hpvm_foreign::numbers::{error_in, error_out};
use hpvm_foreign::program::{self, query_status, reduce_in_pieces, start_generalised};

use crate::Fortran;

type User = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut c_int);

/// Calls a reduction of the program.
unsafe extern "C" fn reduce<F: Fortran>(
    state: usize,
    invec: *mut c_void,
    inoutvec: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) {
    let call = |invec, inoutvec, mut len| {
        let mut own = F::datatype_toint(F::datatype_out(datatype));
        // SAFETY: `op_create` gave the address of such a function; the buffers are the engine's.
        unsafe { transmute::<usize, User>(state)(invec, inoutvec, &mut len, &mut own) };
    };
    // SAFETY: the engine's buffers hold `count` elements.
    unsafe { reduce_in_pieces(invec, inoutvec, count, datatype, call) };
}

type WideUser = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut c_int);

/// Calls a reduction of the program for large counts.
unsafe extern "C" fn reduce_c<F: Fortran>(
    state: usize,
    invec: *mut c_void,
    inoutvec: *mut c_void,
    mut count: MPI_Count,
    datatype: MPI_Datatype,
) {
    let mut own = F::datatype_toint(F::datatype_out(datatype));
    // SAFETY: `op_create_c` gave the address of such a function; the buffers hold `count` elements.
    unsafe { transmute::<usize, WideUser>(state)(invec, inoutvec, &mut count, &mut own) };
}

/// `MPI_OP_CREATE`.
pub unsafe fn op_create<F: Fortran>(
    function: *const c_void,
    commute: *const c_int,
    op: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: the program's promises, here and below in this file.
    unsafe { create_op::<F>(reduce::<F>, function, commute, op, ierror) }
}

/// `MPI_Op_create_c` of `mpi_f08`.
pub unsafe fn op_create_c<F: Fortran>(
    function: *const c_void,
    commute: *const c_int,
    op: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: as above.
    unsafe { create_op::<F>(reduce_c::<F>, function, commute, op, ierror) }
}

unsafe fn create_op<F: Fortran>(
    call: Reduction,
    function: *const c_void,
    commute: *const c_int,
    op: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: as above.
    unsafe {
        let mut own = MPI_OP_NULL;
        let create = entries().extra.op_create;
        let code = create(call, function.addr(), *commute, &mut own);
        if code == MPI_SUCCESS {
            *op = F::op_toint(F::op_out(own));
        }
        *ierror = error_out::<F>(code);
    }
}

macro_rules! error_handlers {
    ($($create:ident $call:ident $holder:ident $type:ident $out:ident $toint:ident;)*) => {$(
        unsafe extern "C" fn $call<F: Fortran>(state: usize, handle: *mut usize, code: *mut c_int) {
            type Function = unsafe extern "C" fn(*mut c_int, *mut c_int);
            // SAFETY: the state is the address of such a function; the engine's places are valid.
            unsafe {
                let mut own = F::$toint(F::$out($type(*handle)));
                let mut number = error_out::<F>(*code);
                transmute::<usize, Function>(state)(&mut own, &mut number);
                *code = error_in::<F>(number);
            }
        }

        #[doc = concat!("`MPI_", stringify!($create), "`.")]
        pub unsafe fn $create<F: Fortran>(
            function: *const c_void,
            errhandler: *mut c_int,
            ierror: *mut c_int,
        ) {
            // SAFETY: the program's promises.
            unsafe { create::<F>(Holder::$holder, $call::<F>, function, errhandler, ierror) }
        }
    )*};
}

error_handlers! {
    comm_create_errhandler error_on_comm Comm MPI_Comm comm_out comm_toint;
    win_create_errhandler error_on_win Window MPI_Win win_out win_toint;
    file_create_errhandler error_on_file File MPI_File file_out file_toint;
    session_create_errhandler error_on_session Session MPI_Session session_out session_toint;
}

unsafe fn create<F: Fortran>(
    holder: Holder,
    call: ErrorCall,
    function: *const c_void,
    errhandler: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: the program's promises.
    unsafe {
        let mut own = MPI_ERRHANDLER_NULL;
        let code = (entries().extra.errhandler_create)(holder, call, function.addr(), &mut own);
        if code == MPI_SUCCESS {
            *errhandler = F::errhandler_toint(F::errhandler_out(own));
        }
        *ierror = error_out::<F>(code);
    }
}

/// The program's word of state: a copy, because the variable may be gone when a function is called, and the
/// variable, which the last function, `free`, may change, as it can in MPICH and Open MPI.
struct State {
    copy: UnsafeCell<MPI_Aint>,
    variable: *mut MPI_Aint,
}

/// A generalised request with the program's state.
type Generalised = program::Generalised<State>;

unsafe extern "C" fn query<F: Fortran>(state: *mut c_void, status: *mut MPI_Status) -> c_int {
    type Function = unsafe extern "C" fn(*mut MPI_Aint, *mut c_int, *mut c_int);
    // SAFETY: the state is the box of `grequest_start` and lives until `free`, with the address of
    // such a function; the engine's status is valid, and has the same words in Fortran as in C.
    unsafe {
        let functions = &*state.cast::<Generalised>();
        let function = transmute::<usize, Function>(functions.query);
        query_status::<F>(status, |own| {
            let mut code = 0;
            function(functions.extra.copy.get(), own.cast(), &mut code);
            code
        })
    }
}

unsafe extern "C" fn free<F: Fortran>(state: *mut c_void) -> c_int {
    type Function = unsafe extern "C" fn(*mut MPI_Aint, *mut c_int);
    // SAFETY: the engine frees a request once, and does not use the state after it.
    let functions = unsafe { Box::from_raw(state.cast::<Generalised>()) };
    let State { copy, variable } = &functions.extra;
    let mut code = 0;
    // SAFETY: the program gave the address of such a function; one that changes the state has a variable
    // for it.
    unsafe {
        let before = *copy.get();
        transmute::<usize, Function>(functions.free)(copy.get(), &mut code);
        if *copy.get() != before {
            variable.write_unaligned(*copy.get());
        }
    }
    error_in::<F>(code)
}

unsafe extern "C" fn cancel<F: Fortran>(state: *mut c_void, complete: c_int) -> c_int {
    type Function = unsafe extern "C" fn(*mut MPI_Aint, *const c_int, *mut c_int);
    let mut code = 0;
    // SAFETY: as in `query`.
    unsafe {
        let functions = &*state.cast::<Generalised>();
        let function = transmute::<usize, Function>(functions.cancel);
        function(functions.extra.copy.get(), &complete, &mut code);
    }
    error_in::<F>(code)
}

/// `MPI_GREQUEST_START`.
pub unsafe fn grequest_start<F: Fortran>(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *const MPI_Aint,
    request: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: the program's promises.
    unsafe {
        let functions = Generalised {
            query: query_fn.addr(),
            free: free_fn.addr(),
            cancel: cancel_fn.addr(),
            extra: State {
                copy: UnsafeCell::new(extra_state.read_unaligned()),
                variable: extra_state.cast_mut(),
            },
        };
        let mut own = MPI_REQUEST_NULL;
        let calls = (Some(query::<F> as _), Some(free::<F> as _), Some(cancel::<F> as _));
        let code = start_generalised(functions, calls, &mut own);
        if code == MPI_SUCCESS {
            *request = F::request_toint(F::request_out(own));
        }
        *ierror = error_out::<F>(code);
    }
}
