//! The functions of `exchange`: each collective in its three forms.

use super::exchange::{
    allgather_plan, allgather_shm_args, allgatherv_plan, alltoall_plan, alltoall_shm_args,
    alltoallv_plan, alltoallw_plan, barrier_plan, barrier_shm_args,
};
use super::{Call, blocking, blocking_shm, nonblocking, persistent};
use crate::args::{Counts, Displs};
use crate::generated::constants::*;
use core::ffi::{c_int, c_void};

/// `MPI_Barrier`.
pub unsafe fn barrier(comm: MPI_Comm) -> c_int {
    // SAFETY: the caller's promises, for both.
    let shm_args = |call: Call<'_>| unsafe { barrier_shm_args(call) };
    // SAFETY: as above.
    let plan = |call: Call<'_>| unsafe { barrier_plan(call) };
    // SAFETY: as above.
    unsafe { blocking_shm("MPI_Barrier", comm, shm_args, plan) }
}

/// `MPI_Ibarrier`.
pub unsafe fn ibarrier(comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe { barrier_plan(call) };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Ibarrier", comm, request, plan) }
}

/// `MPI_Barrier_init`.
pub unsafe fn barrier_init(comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe { barrier_plan(call) };
    // SAFETY: as above.
    unsafe { persistent("MPI_Barrier_init", comm, info, request, plan) }
}

/// `MPI_Allgather`.
pub unsafe fn allgather(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises, for both.
    let shm_args = |call: Call<'_>| unsafe {
        allgather_shm_args(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    };
    // SAFETY: as above.
    let plan = |call: Call<'_>| unsafe {
        allgather_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    };
    // SAFETY: as above.
    unsafe { blocking_shm("MPI_Allgather", comm, shm_args, plan) }
}

/// `MPI_Iallgather`.
pub unsafe fn iallgather(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        allgather_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Iallgather", comm, request, plan) }
}

/// `MPI_Allgather_init`.
pub unsafe fn allgather_init(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        allgather_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Allgather_init", comm, info, request, plan) }
}

/// `MPI_Alltoall`.
pub unsafe fn alltoall(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises, for both.
    let shm_args = |call: Call<'_>| unsafe {
        alltoall_shm_args(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    };
    // SAFETY: as above.
    let plan = |call: Call<'_>| unsafe {
        alltoall_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    };
    // SAFETY: as above.
    unsafe { blocking_shm("MPI_Alltoall", comm, shm_args, plan) }
}

/// `MPI_Ialltoall`.
pub unsafe fn ialltoall(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        alltoall_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Ialltoall", comm, request, plan) }
}

/// `MPI_Alltoall_init`.
pub unsafe fn alltoall_init(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        alltoall_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Alltoall_init", comm, info, request, plan) }
}

/// `MPI_Allgatherv`.
pub unsafe fn allgatherv(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Displs,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        allgatherv_plan(
            call,
            (sendbuf, sendcount, sendtype),
            (recvbuf, recvcounts, displs, recvtype),
        )
    };
    // SAFETY: as above.
    unsafe { blocking("MPI_Allgatherv", comm, plan) }
}

/// `MPI_Iallgatherv`.
pub unsafe fn iallgatherv(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Displs,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        allgatherv_plan(
            call,
            (sendbuf, sendcount, sendtype),
            (recvbuf, recvcounts, displs, recvtype),
        )
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Iallgatherv", comm, request, plan) }
}

/// `MPI_Allgatherv_init`.
pub unsafe fn allgatherv_init(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Displs,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        allgatherv_plan(
            call,
            (sendbuf, sendcount, sendtype),
            (recvbuf, recvcounts, displs, recvtype),
        )
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Allgatherv_init", comm, info, request, plan) }
}

/// `MPI_Alltoallv`.
pub unsafe fn alltoallv(
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Displs,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Displs,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        alltoallv_plan(
            call,
            (sendbuf, sendcounts, sdispls, sendtype),
            (recvbuf, recvcounts, rdispls, recvtype),
        )
    };
    // SAFETY: as above.
    unsafe { blocking("MPI_Alltoallv", comm, plan) }
}

/// `MPI_Ialltoallv`.
pub unsafe fn ialltoallv(
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Displs,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Displs,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        alltoallv_plan(
            call,
            (sendbuf, sendcounts, sdispls, sendtype),
            (recvbuf, recvcounts, rdispls, recvtype),
        )
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Ialltoallv", comm, request, plan) }
}

/// `MPI_Alltoallv_init`.
pub unsafe fn alltoallv_init(
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Displs,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Displs,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        alltoallv_plan(
            call,
            (sendbuf, sendcounts, sdispls, sendtype),
            (recvbuf, recvcounts, rdispls, recvtype),
        )
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Alltoallv_init", comm, info, request, plan) }
}

/// `MPI_Alltoallw`.
pub unsafe fn alltoallw(
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Displs,
    sendtypes: *const MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Displs,
    recvtypes: *const MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        alltoallw_plan(
            call,
            (sendbuf, sendcounts, sdispls, sendtypes),
            (recvbuf, recvcounts, rdispls, recvtypes),
        )
    };
    // SAFETY: as above.
    unsafe { blocking("MPI_Alltoallw", comm, plan) }
}

/// `MPI_Ialltoallw`.
pub unsafe fn ialltoallw(
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Displs,
    sendtypes: *const MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Displs,
    recvtypes: *const MPI_Datatype,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        alltoallw_plan(
            call,
            (sendbuf, sendcounts, sdispls, sendtypes),
            (recvbuf, recvcounts, rdispls, recvtypes),
        )
    };
    // SAFETY: as above.
    unsafe { nonblocking("MPI_Ialltoallw", comm, request, plan) }
}

/// `MPI_Alltoallw_init`.
pub unsafe fn alltoallw_init(
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Displs,
    sendtypes: *const MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Displs,
    recvtypes: *const MPI_Datatype,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        alltoallw_plan(
            call,
            (sendbuf, sendcounts, sdispls, sendtypes),
            (recvbuf, recvcounts, rdispls, recvtypes),
        )
    };
    // SAFETY: as above.
    unsafe { persistent("MPI_Alltoallw_init", comm, info, request, plan) }
}
