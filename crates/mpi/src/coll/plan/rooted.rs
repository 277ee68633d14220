//! Plans of operations with a root.

use super::{Data, NOTHING, Plan, Planner, Root, Varied, rank, role};
use crate::datatype::Datatype;
use crate::pt2pt::{Incoming, Outgoing};
use hpvm_coll::{Broadcast, GatherV, ScatterV, Vectors, bcast, gather, hosts, inter, scatter};

/// The vectors of a rank on which they are not significant.
const NONE: Vectors<'static> = Vectors { counts: &[], displs: &[], extent: 1, size_bytes: 1 };

impl Planner<'_> {
    /// `MPI_Bcast`.
    pub fn bcast(&self, root: Root, m: Incoming<'_>) -> Plan {
        let input = Broadcast {
            rank: self.comm.rank(),
            size: self.comm.size(),
            root: rank(root),
            count: m.count,
            size_bytes: m.ty.size(),
            contiguous: matches!(m.ty.as_run(m.count), Some((0, _))),
        };
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => bcast::schedule_with(self.tables, &input),
            (None, Some(hosts)) => hosts::bcast(self.tables, hosts, &input),
            (Some(_), _) => inter::bcast::schedule(role(root), &input),
        };
        Plan::new(schedule, Data::new(NOTHING, m.ty, m.buf, m.ty), None)
    }

    /// `MPI_Gather`.
    pub fn gather(
        &self,
        root: Root,
        send: Option<Outgoing<'_>>,
        recv: Option<Incoming<'_>>,
    ) -> Plan {
        let in_place = self.is_root(root) && send.is_none();
        let (input, data) = self.blocks(rank(root), send, recv, in_place);
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => gather::schedule_with(self.tables, &input),
            (None, Some(hosts)) => hosts::gather(self.tables, hosts, &input),
            (Some(sides), _) => {
                inter::gather::schedule_with(self.tables, &sides, role(root), &input)
            }
        };
        Plan::new(schedule, data, None)
    }

    /// `MPI_Gatherv`.
    pub fn gatherv(
        &self,
        root: Root,
        send: Option<Outgoing<'_>>,
        recv: Option<Varied<'_, *mut u8>>,
    ) -> Plan {
        let byte = Datatype::byte();
        let input = GatherV {
            rank: self.comm.rank(),
            size: self.comm.peers().size(),
            root: rank(root),
            send_count: send.map_or(0, |m| m.count),
            send_size: send.map_or(1, |m| m.ty.size()),
            recv: recv.as_ref().map_or(NONE, Varied::vectors),
            in_place: self.is_root(root) && send.is_none(),
        };
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => gather::schedule_v(&input),
            (None, Some(hosts)) => hosts::gatherv(hosts, &input),
            (Some(sides), _) => inter::gather::schedule_v(&sides, role(root), &input),
        };
        let (out, send_ty) = send.map_or((NOTHING, byte), |m| (m.buf, m.ty));
        let (into, recv_ty) = recv.map_or((core::ptr::null_mut(), byte), |m| (m.buf, m.ty));
        Plan::new(schedule, Data::new(out, send_ty, into, recv_ty), None)
    }

    /// `MPI_Scatter`.
    pub fn scatter(
        &self,
        root: Root,
        send: Option<Outgoing<'_>>,
        recv: Option<Incoming<'_>>,
    ) -> Plan {
        let in_place = self.is_root(root) && recv.is_none();
        let (input, data) = self.blocks(rank(root), send, recv, in_place);
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => scatter::schedule_with(self.tables, &input),
            (None, Some(hosts)) => hosts::scatter(self.tables, hosts, &input),
            (Some(sides), _) => {
                inter::scatter::schedule_with(self.tables, &sides, role(root), &input)
            }
        };
        Plan::new(schedule, data, None)
    }

    /// `MPI_Scatterv`.
    pub fn scatterv(
        &self,
        root: Root,
        send: Option<Varied<'_, *const u8>>,
        recv: Option<Incoming<'_>>,
    ) -> Plan {
        let byte = Datatype::byte();
        let input = ScatterV {
            rank: self.comm.rank(),
            size: self.comm.peers().size(),
            root: rank(root),
            send: send.as_ref().map_or(NONE, Varied::vectors),
            recv_count: recv.map_or(0, |m| m.count),
            recv_size: recv.map_or(1, |m| m.ty.size()),
            in_place: self.is_root(root) && recv.is_none(),
        };
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => scatter::schedule_v(&input),
            (None, Some(hosts)) => hosts::scatterv(hosts, &input),
            (Some(sides), _) => inter::scatter::schedule_v(&sides, role(root), &input),
        };
        let (out, send_ty) = send.map_or((NOTHING, byte), |m| (m.buf, m.ty));
        let (into, recv_ty) = recv.map_or((core::ptr::null_mut(), byte), |m| (m.buf, m.ty));
        Plan::new(schedule, Data::new(out, send_ty, into, recv_ty), None)
    }
}
