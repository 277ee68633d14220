//! Plans of operations that combine data.

use super::{Data, NOTHING, Plan, Planner, Root, rank, role};
use crate::datatype::Datatype;
use crate::op::Op;
use hpvm_coll::{
    ReduceScatter, Reduction, Schedule, allreduce, hosts, inter, reduce, reduce_scatter, scan,
};
use std::sync::Arc;

/// What all reductions have: elements, their type, and the operation.
#[derive(Clone, Copy)]
pub struct Combine<'a> {
    /// Elements; in `MPI_Reduce_scatter_block` those of one rank's result.
    pub count: i64,
    pub ty: &'a Arc<Datatype>,
    pub op: &'a Arc<Op>,
}

impl Combine<'_> {
    fn plan(&self, schedule: Schedule, send: Option<*const u8>, recv: *mut u8) -> Plan {
        let data = Data::new(send.unwrap_or(NOTHING), self.ty, recv, self.ty);
        Plan::new(schedule, data, Some(self.op.clone()))
    }
}

impl Planner<'_> {
    fn reduction(&self, what: &Combine<'_>, root: u32, in_place: bool) -> Reduction {
        Reduction {
            rank: self.comm.rank(),
            size: self.comm.size(),
            root,
            count: what.count,
            extent: what.ty.extent(),
            size_bytes: what.ty.size(),
            commutative: what.op.is_commutative(),
            in_place,
        }
    }

    /// `MPI_Reduce`. `recv` is looked at where the result goes only; `send` is `None` for
    /// `MPI_IN_PLACE` and on the root's side of an intercommunicator.
    pub fn reduce(
        &self,
        root: Root,
        send: Option<*const u8>,
        recv: *mut u8,
        what: Combine<'_>,
    ) -> Plan {
        let in_place = self.is_root(root) && send.is_none();
        let input = self.reduction(&what, rank(root), in_place);
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => reduce::schedule_with(self.tables, &input),
            (None, Some(hosts)) => hosts::reduce(self.tables, hosts, &input),
            (Some(_), _) => inter::reduce::reduce(role(root), &input),
        };
        what.plan(schedule, send, recv)
    }

    /// `MPI_Allreduce`.
    pub fn allreduce(&self, send: Option<*const u8>, recv: *mut u8, what: Combine<'_>) -> Plan {
        let input = self.reduction(&what, 0, send.is_none());
        let schedule = match (self.inter(), self.hosts) {
            (None, None) if self.reads => allreduce::schedule_reads(self.tables, &input),
            (None, None) if self.apart => allreduce::schedule_apart(self.tables, &input),
            (None, None) => allreduce::schedule_with(self.tables, &input),
            (None, Some(hosts)) => hosts::allreduce(self.tables, hosts, &input),
            (Some(_), _) => inter::reduce::allreduce(&input),
        };
        what.plan(schedule, send, recv)
    }

    /// `MPI_Reduce_scatter`; `counts` has an entry for every rank of the local group, and the
    /// count in `what` is not looked at.
    pub fn reduce_scatter(
        &self,
        send: Option<*const u8>,
        recv: *mut u8,
        counts: &[i64],
        what: Combine<'_>,
    ) -> Plan {
        let input = ReduceScatter {
            rank: self.comm.rank(),
            size: self.comm.size(),
            counts,
            extent: what.ty.extent(),
            size_bytes: what.ty.size(),
            commutative: what.op.is_commutative(),
            in_place: send.is_none(),
        };
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => reduce_scatter::schedule_with(self.tables, &input),
            (None, Some(hosts)) => hosts::reduce_scatter(self.tables, hosts, &input),
            (Some(_), _) => inter::reduce::reduce_scatter(&input),
        };
        what.plan(schedule, send, recv)
    }

    /// `MPI_Reduce_scatter_block`.
    pub fn reduce_scatter_block(
        &self,
        send: Option<*const u8>,
        recv: *mut u8,
        what: Combine<'_>,
    ) -> Plan {
        let input = self.reduction(&what, 0, send.is_none());
        let schedule = match (self.inter(), self.hosts) {
            (None, None) => reduce_scatter::block::schedule_with(self.tables, &input),
            (None, Some(hosts)) => hosts::reduce_scatter_block(self.tables, hosts, &input),
            (Some(_), _) => inter::reduce::reduce_scatter_block(&input),
        };
        what.plan(schedule, send, recv)
    }

    /// `MPI_Scan`; on intracommunicators only.
    pub fn scan(&self, send: Option<*const u8>, recv: *mut u8, what: Combine<'_>) -> Plan {
        let input = self.reduction(&what, 0, send.is_none());
        let schedule = match self.hosts {
            None => scan::scan(&input),
            Some(hosts) => hosts::scan(self.tables, hosts, &input),
        };
        what.plan(schedule, send, recv)
    }

    /// `MPI_Exscan`; on intracommunicators only.
    pub fn exscan(&self, send: Option<*const u8>, recv: *mut u8, what: Combine<'_>) -> Plan {
        let input = self.reduction(&what, 0, send.is_none());
        let schedule = match self.hosts {
            None => scan::exscan(&input),
            Some(hosts) => hosts::exscan(self.tables, hosts, &input),
        };
        what.plan(schedule, send, recv)
    }
}
