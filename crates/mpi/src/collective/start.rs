//! What a collective call is told, and the plans made of it.

use super::Plan;
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::op::Op;
use crate::process::Process;
use hpvm_coll::{Exchange, Reduction, Schedule};
use hpvm_fm::Transport;
use std::sync::Arc;

/// The program's buffers and their types. Those that an operation does not have are null.
#[derive(Clone, Debug)]
pub struct Data {
    pub send: *const u8,
    pub recv: *mut u8,
    pub send_ty: Arc<Datatype>,
    pub recv_ty: Arc<Datatype>,
    /// Per-peer types of the `w` operations.
    pub send_types: Vec<Arc<Datatype>>,
    pub recv_types: Vec<Arc<Datatype>>,
}

impl Data {
    /// No buffers at all.
    pub fn none() -> Data {
        let byte = Datatype::byte();
        Data::new(core::ptr::null(), byte, core::ptr::null_mut(), byte)
    }

    pub fn new(
        send: *const u8,
        send_ty: &Arc<Datatype>,
        recv: *mut u8,
        recv_ty: &Arc<Datatype>,
    ) -> Data {
        Data {
            send,
            recv,
            send_ty: send_ty.clone(),
            recv_ty: recv_ty.clone(),
            send_types: Vec::new(),
            recv_types: Vec::new(),
        }
    }
}

impl Plan {
    pub fn new(schedule: Schedule, data: Data, op: Option<Arc<Op>>) -> Plan {
        Plan { schedule: Arc::new(schedule), data, op }
    }
}

impl<T: Transport> Process<T> {
    /// `MPI_Barrier` on an intracommunicator.
    pub fn barrier(&self, comm: &Comm) -> Plan {
        let group = hpvm_coll::Group { rank: comm.rank(), size: comm.size() };
        Plan::new(hpvm_coll::barrier::schedule(&group), Data::none(), None)
    }

    /// `MPI_Allreduce` on an intracommunicator; `send` is `None` for `MPI_IN_PLACE`.
    pub fn allreduce(
        &self,
        comm: &Comm,
        send: Option<*const u8>,
        recv: *mut u8,
        count: i64,
        ty: &Arc<Datatype>,
        op: &Arc<Op>,
    ) -> Plan {
        let input = Reduction {
            rank: comm.rank(),
            size: comm.size(),
            root: 0,
            count,
            extent: ty.extent(),
            size_bytes: ty.size(),
            commutative: op.is_commutative(),
            in_place: send.is_none(),
        };
        let schedule = hpvm_coll::allreduce::schedule_with(&self.select, &input);
        let data = Data::new(send.unwrap_or(core::ptr::null()), ty, recv, ty);
        Plan::new(schedule, data, Some(op.clone()))
    }

    /// `MPI_Allgather` on an intracommunicator; `send` is `None` for `MPI_IN_PLACE`.
    pub fn allgather(
        &self,
        comm: &Comm,
        send: Option<(*const u8, i64, &Arc<Datatype>)>,
        recv: *mut u8,
        recv_count: i64,
        recv_ty: &Arc<Datatype>,
    ) -> Plan {
        let (buf, send_count, send_ty) = send.unwrap_or((core::ptr::null(), recv_count, recv_ty));
        let input = Exchange {
            rank: comm.rank(),
            size: comm.size(),
            root: 0,
            send_count,
            send_extent: send_ty.extent(),
            send_size: send_ty.size(),
            recv_count,
            recv_extent: recv_ty.extent(),
            recv_size: recv_ty.size(),
            in_place: send.is_none(),
        };
        let schedule = hpvm_coll::allgather::schedule_with(&self.select, &input);
        Plan::new(schedule, Data::new(buf, send_ty, recv, recv_ty), None)
    }
}
