//! Neighbourhood collectives (section 8.6).

use super::arg::{In, InV, InW, Out, OutV, OutW};
use super::{Call, forms};
use crate::args::{Counts, Displs};
use crate::body::check::wrong;
use crate::generated::constants::*;
use core::ffi::{c_int, c_void};
use hpvm_coll::Neighbours;
use hpvm_mpi::Class;
use hpvm_mpi::coll::Plan;
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

/// Whom a process receives from and whom it sends to.
struct Lists {
    sources: Vec<i32>,
    destinations: Vec<i32>,
    cartesian: bool,
}

impl Lists {
    fn as_neighbours(&self) -> Neighbours<'_> {
        let Lists { sources, destinations, cartesian } = self;
        Neighbours { sources, destinations, cartesian: *cartesian }
    }
}

impl Call<'_> {
    fn neighbours(&self) -> Result<Lists> {
        match &self.object.extras().topology {
            Some(topology) => {
                let (sources, destinations) = topology.neighbours(self.comm().rank());
                Ok(Lists { sources, destinations, cartesian: topology.is_cartesian() })
            }
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
