//! Lengths of arrays that follow from a communicator.

use crate::entries;
use core::ffi::c_int;
use hpvm_abi::constants::*;

/// A number that a function of the engine stores; 0 when it fails, and the call that needs it
/// will say why.
fn ask(call: impl FnOnce(*mut c_int) -> c_int) -> usize {
    let mut value = 0;
    let failed = call(&mut value) != MPI_SUCCESS;
    if failed { 0 } else { usize::try_from(value).unwrap_or(0) }
}

/// Elements in each array of `MPI_Alltoallw`: members of the group that one talks to.
///
/// # Safety
/// MPI runs.
pub unsafe fn members(comm: MPI_Comm) -> usize {
    let standard = &entries().standard;
    let mut inter = 0;
    // SAFETY: the places are local variables, here and below.
    if unsafe { (standard.MPI_Comm_test_inter)(comm, &mut inter) } != MPI_SUCCESS {
        return 0;
    }
    // SAFETY: as above.
    ask(|size| unsafe {
        match inter {
            0 => (standard.MPI_Comm_size)(comm, size),
            _ => (standard.MPI_Comm_remote_size)(comm, size),
        }
    })
}

/// Neighbours that one sends to (`true`) or receives from, for `MPI_Neighbor_alltoallw`.
///
/// # Safety
/// MPI runs.
pub unsafe fn neighbours(comm: MPI_Comm, outgoing: bool) -> usize {
    let standard = &entries().standard;
    let mut topology = MPI_UNDEFINED;
    // SAFETY: the places are local variables, here and below.
    let tested = unsafe { (standard.MPI_Topo_test)(comm, &mut topology) };
    match topology {
        _ if tested != MPI_SUCCESS => 0,
        // SAFETY: as above.
        MPI_CART => 2 * ask(|n| unsafe { (standard.MPI_Cartdim_get)(comm, n) }),
        MPI_GRAPH => {
            let mut rank = 0;
            // SAFETY: as above.
            unsafe { (standard.MPI_Comm_rank)(comm, &mut rank) };
            // SAFETY: as above.
            ask(|n| unsafe { (standard.MPI_Graph_neighbors_count)(comm, rank, n) })
        }
        MPI_DIST_GRAPH => {
            let mut other = 0;
            let mut weighted = 0;
            // SAFETY: as above.
            ask(|n| unsafe {
                let (to, from) = if outgoing { (n, &raw mut other) } else { (&raw mut other, n) };
                (standard.MPI_Dist_graph_neighbors_count)(comm, from, to, &mut weighted)
            })
        }
        _ => 0,
    }
}
