//! Begin and end of MPI, and communicators that come and go.

use crate::state::{begin, end, enter, leave};
use crate::{is_right, mpi};
use core::ffi::{c_char, c_int};
use hpvm_abi::constants::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Init)(argc, argv) };
    if is_right(code) {
        begin();
    }
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init_thread(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Init_thread)(argc, argv, required, provided) };
    if is_right(code) {
        begin();
    }
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Finalize() -> c_int {
    end();
    // SAFETY: as the program calls it.
    unsafe { (mpi().MPI_Finalize)() }
}

/// `MPI_Pcontrol(1)` writes a mark.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Pcontrol(level: c_int) -> c_int {
    enter();
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Pcontrol)(level) };
    leave(code, |state| {
        if level == 1 {
            state.log.mark();
        }
    });
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_free(comm: *mut MPI_Comm) -> c_int {
    enter();
    // SAFETY: the program points to a handle.
    let handle = if comm.is_null() { MPI_COMM_NULL } else { unsafe { *comm } };
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Comm_free)(comm) };
    leave(code, |state| state.parts.forget(handle));
    code
}

/// Functions whose last argument is where a new communicator goes.
macro_rules! makes {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty,)* made: *mut MPI_Comm) -> c_int {
            enter();
            // SAFETY: as the program calls it.
            let code = unsafe { (mpi().$name)($($arg,)* made) };
            // SAFETY: a call that has ended well has written there.
            leave(code, |state| state.made(unsafe { *made }));
            code
        }
    )*};
}

makes! {
    MPI_Comm_dup(comm: MPI_Comm);
    MPI_Comm_dup_with_info(comm: MPI_Comm, info: MPI_Info);
    MPI_Comm_split(comm: MPI_Comm, color: c_int, key: c_int);
    MPI_Comm_split_type(comm: MPI_Comm, split_type: c_int, key: c_int, info: MPI_Info);
    MPI_Comm_create(comm: MPI_Comm, group: MPI_Group);
    MPI_Comm_create_group(comm: MPI_Comm, group: MPI_Group, tag: c_int);
    MPI_Intercomm_merge(comm: MPI_Comm, high: c_int);
    MPI_Cart_create(comm: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, reorder: c_int);
    MPI_Cart_sub(comm: MPI_Comm, remain: *const c_int);
    MPI_Graph_create(comm: MPI_Comm, nodes: c_int, index: *const c_int, edges: *const c_int, reorder: c_int);
    MPI_Dist_graph_create(
        comm: MPI_Comm, n: c_int, sources: *const c_int, degrees: *const c_int, destinations: *const c_int,
        weights: *const c_int, info: MPI_Info, reorder: c_int
    );
    MPI_Dist_graph_create_adjacent(
        comm: MPI_Comm, indegree: c_int, sources: *const c_int, source_weights: *const c_int, outdegree: c_int,
        destinations: *const c_int, weights: *const c_int, info: MPI_Info, reorder: c_int
    );
}
