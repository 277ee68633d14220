//! Neighbourhood collectives (section 8.6).

use super::arg::{In, InV, InW, Out, OutV, OutW};
use super::{Call, forms};
use crate::args::{Counts, Displs};
use crate::body::check::wrong;
use crate::generated::constants::*;
use crate::object::comm::Topology;
use core::ffi::{c_int, c_void};
use hpvm_coll::Neighbours;
use hpvm_mpi::Class;
use hpvm_mpi::collective::Plan;
use hpvm_mpi::error::Result;

forms! {
    (sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype)
    as ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    allgather_plan: "Neighbor_allgather", neighbor_allgather, ineighbor_allgather,
        neighbor_allgather_init;
    alltoall_plan: "Neighbor_alltoall", neighbor_alltoall, ineighbor_alltoall,
        neighbor_alltoall_init;
}

forms! {
    (sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: Counts, displs: Displs, recvtype: MPI_Datatype)
    as ((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype));
    allgatherv_plan: "Neighbor_allgatherv", neighbor_allgatherv, ineighbor_allgatherv,
        neighbor_allgatherv_init;
}

forms! {
    (sendbuf: *const c_void, sendcounts: Counts, sdispls: Displs, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: Counts, rdispls: Displs, recvtype: MPI_Datatype)
    as ((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype));
    alltoallv_plan: "Neighbor_alltoallv", neighbor_alltoallv, ineighbor_alltoallv,
        neighbor_alltoallv_init;
}

forms! {
    (sendbuf: *const c_void, sendcounts: Counts, sdispls: Displs, sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: Counts, rdispls: Displs, recvtypes: *const MPI_Datatype)
    as ((sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes));
    alltoallw_plan: "Neighbor_alltoallw", neighbor_alltoallw, ineighbor_alltoallw,
        neighbor_alltoallw_init;
}

/// The neighbours of a process in the order that neighbourhood collectives use: whom it receives
/// from and whom it sends to. `MPI_PROC_NULL` stands where a grid ends.
pub struct Lists {
    pub sources: Vec<i32>,
    pub destinations: Vec<i32>,
    cartesian: bool,
}

impl Lists {
    fn as_neighbours(&self) -> Neighbours<'_> {
        let Lists { sources, destinations, cartesian } = self;
        Neighbours { sources, destinations, cartesian: *cartesian }
    }
}

/// The neighbours of `rank`.
pub fn neighbours(topology: &Topology, rank: u32) -> Lists {
    match topology {
        Topology::Cartesian { dims, periodic } => {
            let list = grid_neighbours(dims, periodic, rank as i32);
            Lists { sources: list.clone(), destinations: list, cartesian: true }
        }
        Topology::Graph { index, edges } => {
            let at = |place: usize| index.get(place).map_or(0, |i| *i as usize);
            let start = if rank == 0 { 0 } else { at(rank as usize - 1) };
            let list = edges.get(start..at(rank as usize)).unwrap_or(&[]).to_vec();
            Lists { sources: list.clone(), destinations: list, cartesian: false }
        }
        Topology::Distributed { sources, destinations, .. } => {
            Lists { sources: sources.clone(), destinations: destinations.clone(), cartesian: false }
        }
    }
}

/// For each dimension the neighbour below, then the one above. Ranks count row by row: the last
/// dimension varies fastest.
fn grid_neighbours(dims: &[i32], periodic: &[bool], rank: i32) -> Vec<i32> {
    let mut list = vec![MPI_PROC_NULL; 2 * dims.len()];
    let mut stride = 1;
    for (i, (&n, &wraps)) in dims.iter().zip(periodic).enumerate().rev() {
        let place = rank / stride % n;
        let at = |place: i32| rank + (place.rem_euclid(n) - rank / stride % n) * stride;
        if wraps || place > 0 {
            list[2 * i] = at(place - 1);
        }
        if wraps || place + 1 < n {
            list[2 * i + 1] = at(place + 1);
        }
        stride *= n;
    }
    list
}

impl Call<'_> {
    fn neighbours(&self) -> Result<Lists> {
        match &self.object.extras().topology {
            Some(topology) => Ok(neighbours(topology, self.comm().rank())),
            None => {
                let text = "the communicator has no process topology; make one with \
                            MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create";
                Err(wrong(Class::Topology, text))
            }
        }
    }
}

unsafe fn allgather_plan(c: Call<'_>, send: Out, recv: In) -> Result<Plan> {
    let lists = c.neighbours()?;
    let (send, recv) = (c.send(send)?, c.recv(recv)?);
    Ok(c.plan().neighbor_allgather(&lists.as_neighbours(), send, recv))
}

unsafe fn allgatherv_plan(c: Call<'_>, send: Out, recv: InV) -> Result<Plan> {
    let lists = c.neighbours()?;
    let send = c.send(send)?;
    // SAFETY: the arrays have an element for every source.
    let recv = unsafe { c.recv_v(recv, lists.sources.len())? };
    Ok(c.plan().neighbor_allgatherv(&lists.as_neighbours(), send, recv.varied()))
}

unsafe fn alltoall_plan(c: Call<'_>, send: Out, recv: In) -> Result<Plan> {
    let lists = c.neighbours()?;
    let (send, recv) = (c.send(send)?, c.recv(recv)?);
    Ok(c.plan().neighbor_alltoall(&lists.as_neighbours(), send, recv))
}

unsafe fn alltoallv_plan(c: Call<'_>, send: OutV, recv: InV) -> Result<Plan> {
    let lists = c.neighbours()?;
    // SAFETY: the arrays have an element for every destination.
    let send = unsafe { c.send_v(send, lists.destinations.len())? };
    // SAFETY: the arrays have an element for every source.
    let recv = unsafe { c.recv_v(recv, lists.sources.len())? };
    Ok(c.plan().neighbor_alltoallv(&lists.as_neighbours(), send.varied(), recv.varied()))
}

unsafe fn alltoallw_plan(c: Call<'_>, send: OutW, recv: InW) -> Result<Plan> {
    let lists = c.neighbours()?;
    // SAFETY: the arrays have an element for every destination.
    let send = unsafe { c.send_w(send, lists.destinations.len())? };
    // SAFETY: the arrays have an element for every source.
    let recv = unsafe { c.recv_w(recv, lists.sources.len())? };
    Ok(c.plan().neighbor_alltoallw(&lists.as_neighbours(), send, recv))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO: i32 = MPI_PROC_NULL;

    #[test]
    fn grids_list_below_and_above_by_dimension() {
        // 2 x 3, the second dimension wraps: rank 4 is (1, 1), rank 0 is (0, 0).
        let lists = |rank| grid_neighbours(&[2, 3], &[false, true], rank);
        assert_eq!(lists(4), [1, NO, 3, 5]);
        assert_eq!(lists(0), [NO, 3, 2, 1]);
        assert_eq!(lists(5), [2, NO, 4, 3]);
        assert_eq!(grid_neighbours(&[1], &[true], 0), [0, 0]);
        assert_eq!(grid_neighbours(&[1], &[false], 0), [NO, NO]);
        assert_eq!(grid_neighbours(&[], &[], 0), []);
    }

    #[test]
    fn graphs_list_their_edges() {
        let graph = Topology::Graph { index: vec![2, 3, 3], edges: vec![1, 2, 0] };
        assert_eq!(neighbours(&graph, 0).sources, [1, 2]);
        assert_eq!(neighbours(&graph, 1).destinations, [0]);
        assert!(neighbours(&graph, 2).sources.is_empty());
    }
}
