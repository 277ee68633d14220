//! The functions of `rooted`: each collective in its three forms.

use super::rooted::{
    bcast_plan, bcast_shm_args, gather_plan, gather_shm_args, gatherv_plan, scatter_plan,
    scatter_shm_args, scatterv_plan,
};
use super::{Call, blocking, blocking_shm, nonblocking, persistent};
use crate::args::{Counts, Displs};
use crate::generated::constants::*;
use core::ffi::{c_int, c_void};

/// `MPI_Bcast`.
pub unsafe fn bcast(
    buffer: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises, for both.
    let shm_args =
        |call: Call<'_>| unsafe { bcast_shm_args(call, (buffer, count, datatype), root) };
    // SAFETY: as above.
    let plan = |call: Call<'_>| unsafe { bcast_plan(call, (buffer, count, datatype), root) };
    // SAFETY: as above.
    unsafe { blocking_shm("MPI_Bcast", comm, shm_args, plan) }
}

/// `MPI_Ibcast`.
pub unsafe fn ibcast(
    buffer: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe { bcast_plan(call, (buffer, count, datatype), root) };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Ibcast", comm, request, plan) }
}

/// `MPI_Bcast_init`.
pub unsafe fn bcast_init(
    buffer: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe { bcast_plan(call, (buffer, count, datatype), root) };
    // SAFETY: as above.
    unsafe { persistent("MPI_Bcast_init", comm, info, request, plan) }
}

/// `MPI_Gather`.
pub unsafe fn gather(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises, for both.
    let shm_args = |call: Call<'_>| unsafe {
        gather_shm_args(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root)
    };
    // SAFETY: as above.
    let plan = |call: Call<'_>| unsafe {
        gather_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root)
    };
    // SAFETY: as above.
    unsafe { blocking_shm("MPI_Gather", comm, shm_args, plan) }
}

/// `MPI_Igather`.
pub unsafe fn igather(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        gather_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root)
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Igather", comm, request, plan) }
}

/// `MPI_Gather_init`.
pub unsafe fn gather_init(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        gather_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root)
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Gather_init", comm, info, request, plan) }
}

/// `MPI_Scatter`.
pub unsafe fn scatter(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises, for both.
    let shm_args = |call: Call<'_>| unsafe {
        scatter_shm_args(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root)
    };
    // SAFETY: as above.
    let plan = |call: Call<'_>| unsafe {
        scatter_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root)
    };
    // SAFETY: as above.
    unsafe { blocking_shm("MPI_Scatter", comm, shm_args, plan) }
}

/// `MPI_Iscatter`.
pub unsafe fn iscatter(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        scatter_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root)
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Iscatter", comm, request, plan) }
}

/// `MPI_Scatter_init`.
pub unsafe fn scatter_init(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        scatter_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root)
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Scatter_init", comm, info, request, plan) }
}

/// `MPI_Gatherv`.
pub unsafe fn gatherv(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Displs,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        gatherv_plan(
            call,
            (sendbuf, sendcount, sendtype),
            (recvbuf, recvcounts, displs, recvtype),
            root,
        )
    };
    // SAFETY: as above.
    unsafe { blocking("MPI_Gatherv", comm, plan) }
}

/// `MPI_Igatherv`.
pub unsafe fn igatherv(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Displs,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        gatherv_plan(
            call,
            (sendbuf, sendcount, sendtype),
            (recvbuf, recvcounts, displs, recvtype),
            root,
        )
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Igatherv", comm, request, plan) }
}

/// `MPI_Gatherv_init`.
pub unsafe fn gatherv_init(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Displs,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        gatherv_plan(
            call,
            (sendbuf, sendcount, sendtype),
            (recvbuf, recvcounts, displs, recvtype),
            root,
        )
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Gatherv_init", comm, info, request, plan) }
}

/// `MPI_Scatterv`.
pub unsafe fn scatterv(
    sendbuf: *const c_void,
    sendcounts: Counts,
    displs: Displs,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        scatterv_plan(
            call,
            (sendbuf, sendcounts, displs, sendtype),
            (recvbuf, recvcount, recvtype),
            root,
        )
    };
    // SAFETY: as above.
    unsafe { blocking("MPI_Scatterv", comm, plan) }
}

/// `MPI_Iscatterv`.
pub unsafe fn iscatterv(
    sendbuf: *const c_void,
    sendcounts: Counts,
    displs: Displs,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        scatterv_plan(
            call,
            (sendbuf, sendcounts, displs, sendtype),
            (recvbuf, recvcount, recvtype),
            root,
        )
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Iscatterv", comm, request, plan) }
}

/// `MPI_Scatterv_init`.
pub unsafe fn scatterv_init(
    sendbuf: *const c_void,
    sendcounts: Counts,
    displs: Displs,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        scatterv_plan(
            call,
            (sendbuf, sendcounts, displs, sendtype),
            (recvbuf, recvcount, recvtype),
            root,
        )
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Scatterv_init", comm, info, request, plan) }
}
