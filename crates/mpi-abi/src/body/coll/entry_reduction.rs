//! The functions of `reduction`: each collective in its three forms.

use super::reduction::{
    allreduce_plan, allreduce_shm_args, exscan_plan, reduce_plan, reduce_scatter_block_plan,
    reduce_scatter_plan, reduce_shm_args, scan_plan,
};
use super::{Call, blocking, blocking_shm, nonblocking, persistent};
use crate::args::Counts;
use crate::generated::constants::*;
use core::ffi::{c_int, c_void};

/// `MPI_Allreduce`.
pub unsafe fn allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises, for both.
    let shm_args = |call: Call<'_>| unsafe {
        allreduce_shm_args(call, sendbuf, recvbuf, (count, datatype, op))
    };
    // SAFETY: as above.
    let plan =
        |call: Call<'_>| unsafe { allreduce_plan(call, sendbuf, recvbuf, (count, datatype, op)) };
    // SAFETY: as above.
    unsafe { blocking_shm("MPI_Allreduce", comm, shm_args, plan) }
}

/// `MPI_Iallreduce`.
pub unsafe fn iallreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan =
        |call: Call<'_>| unsafe { allreduce_plan(call, sendbuf, recvbuf, (count, datatype, op)) };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Iallreduce", comm, request, plan) }
}

/// `MPI_Allreduce_init`.
pub unsafe fn allreduce_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan =
        |call: Call<'_>| unsafe { allreduce_plan(call, sendbuf, recvbuf, (count, datatype, op)) };
    // SAFETY: as above.
    unsafe { persistent("MPI_Allreduce_init", comm, info, request, plan) }
}

/// `MPI_Scan`.
pub unsafe fn scan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe { scan_plan(call, sendbuf, recvbuf, (count, datatype, op)) };
    // SAFETY: as above.
    unsafe { blocking("MPI_Scan", comm, plan) }
}

/// `MPI_Iscan`.
pub unsafe fn iscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe { scan_plan(call, sendbuf, recvbuf, (count, datatype, op)) };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Iscan", comm, request, plan) }
}

/// `MPI_Scan_init`.
pub unsafe fn scan_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe { scan_plan(call, sendbuf, recvbuf, (count, datatype, op)) };
    // SAFETY: as above.
    unsafe { persistent("MPI_Scan_init", comm, info, request, plan) }
}

/// `MPI_Exscan`.
pub unsafe fn exscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan =
        |call: Call<'_>| unsafe { exscan_plan(call, sendbuf, recvbuf, (count, datatype, op)) };
    // SAFETY: as above.
    unsafe { blocking("MPI_Exscan", comm, plan) }
}

/// `MPI_Iexscan`.
pub unsafe fn iexscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan =
        |call: Call<'_>| unsafe { exscan_plan(call, sendbuf, recvbuf, (count, datatype, op)) };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Iexscan", comm, request, plan) }
}

/// `MPI_Exscan_init`.
pub unsafe fn exscan_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan =
        |call: Call<'_>| unsafe { exscan_plan(call, sendbuf, recvbuf, (count, datatype, op)) };
    // SAFETY: as above.
    unsafe { persistent("MPI_Exscan_init", comm, info, request, plan) }
}

/// `MPI_Reduce_scatter_block`.
pub unsafe fn reduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        reduce_scatter_block_plan(call, sendbuf, recvbuf, (count, datatype, op))
    };
    // SAFETY: as above.
    unsafe { blocking("MPI_Reduce_scatter_block", comm, plan) }
}

/// `MPI_Ireduce_scatter_block`.
pub unsafe fn ireduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        reduce_scatter_block_plan(call, sendbuf, recvbuf, (count, datatype, op))
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Ireduce_scatter_block", comm, request, plan) }
}

/// `MPI_Reduce_scatter_block_init`.
pub unsafe fn reduce_scatter_block_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        reduce_scatter_block_plan(call, sendbuf, recvbuf, (count, datatype, op))
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Reduce_scatter_block_init", comm, info, request, plan) }
}

/// `MPI_Reduce`.
pub unsafe fn reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises, for both.
    let shm_args = |call: Call<'_>| unsafe {
        reduce_shm_args(call, sendbuf, recvbuf, (count, datatype, op), root)
    };
    // SAFETY: as above.
    let plan = |call: Call<'_>| unsafe {
        reduce_plan(call, sendbuf, recvbuf, (count, datatype, op), root)
    };
    // SAFETY: as above.
    unsafe { blocking_shm("MPI_Reduce", comm, shm_args, plan) }
}

/// `MPI_Ireduce`.
pub unsafe fn ireduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        reduce_plan(call, sendbuf, recvbuf, (count, datatype, op), root)
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Ireduce", comm, request, plan) }
}

/// `MPI_Reduce_init`.
pub unsafe fn reduce_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        reduce_plan(call, sendbuf, recvbuf, (count, datatype, op), root)
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Reduce_init", comm, info, request, plan) }
}

/// `MPI_Reduce_scatter`.
pub unsafe fn reduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        reduce_scatter_plan(call, sendbuf, recvbuf, recvcounts, datatype, op)
    };
    // SAFETY: as above.
    unsafe { blocking("MPI_Reduce_scatter", comm, plan) }
}

/// `MPI_Ireduce_scatter`.
pub unsafe fn ireduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        reduce_scatter_plan(call, sendbuf, recvbuf, recvcounts, datatype, op)
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Ireduce_scatter", comm, request, plan) }
}

/// `MPI_Reduce_scatter_init`.
pub unsafe fn reduce_scatter_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        reduce_scatter_plan(call, sendbuf, recvbuf, recvcounts, datatype, op)
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Reduce_scatter_init", comm, info, request, plan) }
}
