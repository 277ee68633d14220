//! The functions of `neighbour`: each collective in its three forms.

use super::neighbour::{
    allgather_plan, allgatherv_plan, alltoall_plan, alltoallv_plan, alltoallw_plan,
};
use super::{Call, blocking, nonblocking, persistent};
use crate::args::{Counts, Displs};
use crate::generated::constants::*;
use core::ffi::{c_int, c_void};

/// `MPI_Neighbor_allgather`.
pub unsafe fn neighbor_allgather(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        allgather_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    };
    // SAFETY: as above.
    unsafe { blocking("MPI_Neighbor_allgather", comm, plan) }
}

/// `MPI_Ineighbor_allgather`.
pub unsafe fn ineighbor_allgather(
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
    unsafe { nonblocking("MPI_Ineighbor_allgather", comm, request, plan) }
}

/// `MPI_Neighbor_allgather_init`.
pub unsafe fn neighbor_allgather_init(
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
    unsafe { persistent("MPI_Neighbor_allgather_init", comm, info, request, plan) }
}

/// `MPI_Neighbor_alltoall`.
pub unsafe fn neighbor_alltoall(
    sendbuf: *const c_void,
    sendcount: MPI_Count,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: MPI_Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    let plan = |call: Call<'_>| unsafe {
        alltoall_plan(call, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    };
    // SAFETY: as above.
    unsafe { blocking("MPI_Neighbor_alltoall", comm, plan) }
}

/// `MPI_Ineighbor_alltoall`.
pub unsafe fn ineighbor_alltoall(
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
    unsafe { nonblocking("MPI_Ineighbor_alltoall", comm, request, plan) }
}

/// `MPI_Neighbor_alltoall_init`.
pub unsafe fn neighbor_alltoall_init(
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
    unsafe { persistent("MPI_Neighbor_alltoall_init", comm, info, request, plan) }
}

/// `MPI_Neighbor_allgatherv`.
pub unsafe fn neighbor_allgatherv(
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
    unsafe { blocking("MPI_Neighbor_allgatherv", comm, plan) }
}

/// `MPI_Ineighbor_allgatherv`.
pub unsafe fn ineighbor_allgatherv(
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
    unsafe { nonblocking("MPI_Ineighbor_allgatherv", comm, request, plan) }
}

/// `MPI_Neighbor_allgatherv_init`.
pub unsafe fn neighbor_allgatherv_init(
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
    unsafe { persistent("MPI_Neighbor_allgatherv_init", comm, info, request, plan) }
}

/// `MPI_Neighbor_alltoallv`.
pub unsafe fn neighbor_alltoallv(
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
    unsafe { blocking("MPI_Neighbor_alltoallv", comm, plan) }
}

/// `MPI_Ineighbor_alltoallv`.
pub unsafe fn ineighbor_alltoallv(
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
    unsafe { nonblocking("MPI_Ineighbor_alltoallv", comm, request, plan) }
}

/// `MPI_Neighbor_alltoallv_init`.
pub unsafe fn neighbor_alltoallv_init(
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
    unsafe { persistent("MPI_Neighbor_alltoallv_init", comm, info, request, plan) }
}

/// `MPI_Neighbor_alltoallw`.
pub unsafe fn neighbor_alltoallw(
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
    unsafe { blocking("MPI_Neighbor_alltoallw", comm, plan) }
}

/// `MPI_Ineighbor_alltoallw`.
pub unsafe fn ineighbor_alltoallw(
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
    unsafe { nonblocking("MPI_Ineighbor_alltoallw", comm, request, plan) }
}

/// `MPI_Neighbor_alltoallw_init`.
pub unsafe fn neighbor_alltoallw_init(
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
    unsafe { persistent("MPI_Neighbor_alltoallw_init", comm, info, request, plan) }
}
