//! Plans of the neighbourhood collectives (MPI 5.0, section 8.6).

use super::exchange::typed_data;
use super::{Data, Plan, Planner, Typed, Varied};
use crate::pt2pt::{Incoming, Outgoing};
use hpvm_coll::{Neighbours, neighbour};

impl Planner<'_> {
    /// `MPI_Neighbor_allgather`.
    pub fn neighbor_allgather(
        &self,
        neighbours: &Neighbours<'_>,
        send: Outgoing<'_>,
        recv: Incoming<'_>,
    ) -> Plan {
        let (input, data) = self.blocks(0, Some(send), Some(recv), false);
        Plan::new(neighbour::allgather(neighbours, &input), data, None)
    }

    /// `MPI_Neighbor_allgatherv`.
    pub fn neighbor_allgatherv(
        &self,
        neighbours: &Neighbours<'_>,
        send: Outgoing<'_>,
        recv: Varied<'_, *mut u8>,
    ) -> Plan {
        let (rank, size) = (self.comm.rank(), send.ty.size());
        let vectors = recv.vectors();
        let schedule = neighbour::allgatherv(neighbours, rank, send.count, size, &vectors);
        Plan::new(schedule, Data::new(send.buf, send.ty, recv.buf, recv.ty), None)
    }

    /// `MPI_Neighbor_alltoall`.
    pub fn neighbor_alltoall(
        &self,
        neighbours: &Neighbours<'_>,
        send: Outgoing<'_>,
        recv: Incoming<'_>,
    ) -> Plan {
        let (input, data) = self.blocks(0, Some(send), Some(recv), false);
        Plan::new(neighbour::alltoall(neighbours, &input), data, None)
    }

    /// `MPI_Neighbor_alltoallv`.
    pub fn neighbor_alltoallv(
        &self,
        neighbours: &Neighbours<'_>,
        send: Varied<'_, *const u8>,
        recv: Varied<'_, *mut u8>,
    ) -> Plan {
        let (out, into) = (send.vectors(), recv.vectors());
        let schedule = neighbour::alltoallv(neighbours, self.comm.rank(), &out, &into);
        Plan::new(schedule, Data::new(send.buf, send.ty, recv.buf, recv.ty), None)
    }

    /// `MPI_Neighbor_alltoallw`.
    pub fn neighbor_alltoallw(
        &self,
        neighbours: &Neighbours<'_>,
        send: Typed<*const u8>,
        recv: Typed<*mut u8>,
    ) -> Plan {
        let (out, into) = (send.sizes(), recv.sizes());
        let (sent, received) = (send.vectors(&out), recv.vectors(&into));
        let schedule = neighbour::alltoallw(neighbours, self.comm.rank(), &sent, &received);
        Plan::new(schedule, typed_data(Some(send), recv), None)
    }
}
