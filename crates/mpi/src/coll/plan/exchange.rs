//! Plans of operations in which all send to all.

use super::{Data, NOTHING, Plan, Planner, Stages, Typed, Varied};
use crate::datatype::Datatype;
use crate::pt2pt::{Incoming, Outgoing};
use hpvm_coll::{
    AlltoallV, AlltoallW, GatherV, Group, allgather, allgatherv, alltoall, alltoallv, alltoallw,
    barrier, hosts, inter,
};

impl Planner<'_> {
    /// `MPI_Barrier`.
    pub fn barrier(&self) -> Plan {
        let group = Group { rank: self.comm.rank(), size: self.comm.size() };
        let schedule = self.comm.barrier(|| match (self.inter(), self.hosts) {
            (None, None) => barrier::schedule(&group),
            (None, Some(hosts)) => hosts::barrier(hosts, group.rank),
            (Some(sides), _) => inter::barrier::schedule(&sides),
        });
        Plan {
            schedule,
            data: Data::none(),
            op: None,
            name: "",
            tag: None,
            staged: Stages::default(),
        }
    }

    /// `MPI_Allgather`.
    pub fn allgather(&self, send: Option<Outgoing<'_>>, recv: Incoming<'_>) -> Plan {
        let (input, data) = self.blocks(0, send, Some(recv), send.is_none());
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => allgather::schedule_with(self.tables, &input),
            (None, Some(hosts)) => hosts::allgather(self.tables, hosts, &input),
            (Some(sides), _) => inter::allgather::schedule(&sides, &input),
        };
        Plan::new(schedule, data, None)
    }

    /// `MPI_Allgatherv`.
    pub fn allgatherv(&self, send: Option<Outgoing<'_>>, recv: Varied<'_, *mut u8>) -> Plan {
        let input = GatherV {
            rank: self.comm.rank(),
            size: self.comm.peers().size(),
            root: 0,
            send_count: send.map_or(0, |m| m.count),
            send_size: send.map_or(1, |m| m.ty.size()),
            recv: recv.vectors(),
            in_place: send.is_none(),
        };
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => allgatherv::schedule_with(self.tables, &input),
            (None, Some(hosts)) => hosts::allgatherv(self.tables, hosts, &input),
            (Some(sides), _) => inter::allgather::schedule_v(&sides, &input),
        };
        let (out, send_ty) = send.map_or((NOTHING, Datatype::byte()), |m| (m.buf, m.ty));
        Plan::new(schedule, Data::new(out, send_ty, recv.buf, recv.ty), None)
    }

    /// `MPI_Alltoall`.
    pub fn alltoall(&self, send: Option<Outgoing<'_>>, recv: Incoming<'_>) -> Plan {
        let (input, data) = self.blocks(0, send, Some(recv), send.is_none());
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => alltoall::schedule_with(self.tables, &input),
            (None, Some(hosts)) => hosts::alltoall(self.tables, hosts, &input),
            (Some(sides), _) => inter::alltoall::schedule(&sides, &input),
        };
        Plan::new(schedule, data, None)
    }

    /// `MPI_Alltoallv`.
    pub fn alltoallv(
        &self,
        send: Option<Varied<'_, *const u8>>,
        recv: Varied<'_, *mut u8>,
    ) -> Plan {
        let input = AlltoallV {
            rank: self.comm.rank(),
            size: self.comm.peers().size(),
            send: send.as_ref().map_or_else(|| recv.vectors(), Varied::vectors),
            recv: recv.vectors(),
            in_place: send.is_none(),
        };
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => alltoallv::schedule(&input),
            (None, Some(hosts)) => hosts::alltoallv(hosts, &input),
            (Some(sides), _) => inter::alltoall::schedule_v(&sides, &input),
        };
        let (out, send_ty) = send.map_or((NOTHING, Datatype::byte()), |m| (m.buf, m.ty));
        Plan::new(schedule, Data::new(out, send_ty, recv.buf, recv.ty), None)
    }

    /// `MPI_Alltoallw`.
    pub fn alltoallw(&self, send: Option<Typed<*const u8>>, recv: Typed<*mut u8>) -> Plan {
        let into = recv.sizes();
        let out = send.as_ref().map(Typed::sizes);
        let sent = match (&send, &out) {
            (Some(send), Some(sizes)) => send.vectors(sizes),
            _ => recv.vectors(&into),
        };
        let input = AlltoallW {
            rank: self.comm.rank(),
            size: self.comm.peers().size(),
            send: sent,
            recv: recv.vectors(&into),
            in_place: send.is_none(),
        };
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => alltoallw::schedule(&input),
            (None, Some(hosts)) => hosts::alltoallw(hosts, &input),
            (Some(sides), _) => inter::alltoall::schedule_w(&sides, &input),
        };
        Plan::new(schedule, typed_data(send, recv), None)
    }
}

/// The buffers of a `w` operation, with the types that the schedule names by peer.
pub(super) fn typed_data(send: Option<Typed<*const u8>>, recv: Typed<*mut u8>) -> Data {
    let byte = Datatype::byte();
    let (out, send_types) = send.map_or((NOTHING, Vec::new()), |m| (m.buf, m.types));
    let data = Data::new(out, byte, recv.buf, byte);
    Data { send_types, recv_types: recv.types, ..data }
}
