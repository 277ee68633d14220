//! From the arguments of a call to a [`Plan`], one function per operation of chapter 6 (and of
//! section 8.6) of the standard.
//!
//! Arguments have been checked by the caller. What MPI calls not significant on a rank is absent
//! (`None`), and `None` for a buffer that is significant means `MPI_IN_PLACE`.

mod exchange;
mod neighbour;
mod reduction;
mod rooted;

pub use reduction::Combine;

use crate::comm::Comm;
use crate::datatype::{Datatype, TypeRef};
use crate::engine::process::Process;
use crate::op::Op;
use crate::pt2pt::{Incoming, Outgoing};
use hpvm_coll::hosts::Hosts;
use hpvm_coll::inter::{Inter, Role};
use hpvm_coll::select::Tables;
use hpvm_coll::{Exchange, Schedule, TypedVectors, Vectors};
use hpvm_fm::Transport;
use std::sync::Arc;

/// What a collective does, apart from its place in time: a persistent collective keeps one and
/// starts it again and again.
#[derive(Clone, Debug)]
pub struct Plan {
    pub schedule: Arc<Schedule>,
    pub data: Data,
    pub op: Option<Arc<Op>>,
    /// The call's name, for people who ask what a process waits for. Empty inside the library.
    pub name: &'static str,
    /// The tag of its messages; without one, each start is the next blocking call.
    pub tag: Option<i32>,
    /// Copies that stand for the program's buffers.
    pub staged: Stages,
}

/// A contiguous copy that stands for a buffer of the program, which is not contiguous. A collective fills it when it
/// starts and empties it when it ends, and it lives as long as the collective does.
pub trait Staged: core::fmt::Debug + Send + Sync {
    /// Copies the program's buffer.
    fn fill(&self);
    /// Copies back to the program's buffer what was received, if anything is.
    fn empty(&self);
}

/// The copies of a plan. Hardly any plan has one, and plans are moved and dropped at every call: one word.
#[derive(Clone, Debug, Default)]
pub struct Stages(Option<Box<Copies>>);

type Copies = Vec<Arc<dyn Staged>>;

impl Stages {
    pub fn add(&mut self, copy: Arc<dyn Staged>) {
        self.0.get_or_insert_default().push(copy);
    }

    #[inline]
    pub fn fill(&self) {
        if let Some(copies) = &self.0 {
            copies.iter().for_each(|copy| copy.fill());
        }
    }

    #[inline]
    pub fn empty(&self) {
        if let Some(copies) = &self.0 {
            copies.iter().for_each(|copy| copy.empty());
        }
    }
}

impl Plan {
    pub fn new(schedule: Schedule, data: Data, op: Option<Arc<Op>>) -> Plan {
        Plan {
            schedule: Arc::new(schedule),
            data,
            op,
            name: "",
            tag: None,
            staged: Stages::default(),
        }
    }
}

/// The program's buffers and their types. Those that an operation does not have are null.
#[derive(Clone, Debug)]
pub struct Data {
    pub send: *const u8,
    pub recv: *mut u8,
    pub send_ty: TypeRef,
    pub recv_ty: TypeRef,
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
            send_ty: TypeRef::new(send_ty),
            recv_ty: TypeRef::new(recv_ty),
            send_types: Vec::new(),
            recv_types: Vec::new(),
        }
    }
}

/// The root argument of a rooted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A rank of the group, or of the remote group.
    Rank(u32),
    /// `MPI_ROOT`; on intercommunicators only.
    Here,
    /// `MPI_PROC_NULL`; on intercommunicators only.
    Nowhere,
}

/// One side of a `v` operation: a block of one type for every peer. `B` is the buffer's address.
#[derive(Clone, Copy, Debug)]
pub struct Varied<'a, B> {
    pub buf: B,
    pub counts: &'a [i64],
    /// In extents of the type.
    pub displs: &'a [i64],
    pub ty: &'a Arc<Datatype>,
}

impl<B> Varied<'_, B> {
    fn vectors(&self) -> Vectors<'_> {
        let (extent, size_bytes) = (self.ty.extent(), self.ty.size());
        Vectors { counts: self.counts, displs: self.displs, extent, size_bytes }
    }
}

/// One side of a `w` operation: a block of a type of its own for every peer.
#[derive(Clone, Debug)]
pub struct Typed<B> {
    pub buf: B,
    pub counts: Vec<i64>,
    /// In bytes.
    pub displs: Vec<i64>,
    pub types: Vec<Arc<Datatype>>,
}

impl<B> Typed<B> {
    fn sizes(&self) -> Vec<i64> {
        self.types.iter().map(|t| t.size()).collect()
    }

    fn vectors<'a>(&'a self, sizes: &'a [i64]) -> TypedVectors<'a> {
        TypedVectors { counts: &self.counts, displs: &self.displs, sizes }
    }
}

/// Makes the plans for operations on one communicator.
#[derive(Clone, Copy)]
pub struct Planner<'a> {
    tables: &'a Tables,
    comm: &'a Comm,
    /// Where members share hosts, and there are several.
    hosts: Option<&'a Hosts>,
    /// There are several hosts, so members that share none may be on one each.
    apart: bool,
    /// All members have agreed that they read long messages out of each other's memory.
    reads: bool,
}

impl<T: Transport> Process<T> {
    /// A maker of plans for operations on `comm`.
    #[inline]
    pub fn plan<'a>(&'a self, comm: &'a Comm) -> Planner<'a> {
        let hosts = comm.hosts(&self.nodes);
        let apart = !self.nodes.alone();
        Planner { tables: &self.select, comm, hosts, apart, reads: comm.coll_slots().all_read() }
    }
}

const NOTHING: *const u8 = core::ptr::null();

impl Planner<'_> {
    fn inter(&self) -> Option<Inter> {
        let remote_size = self.comm.remote_group()?.size();
        Some(Inter { rank: self.comm.rank(), local_size: self.comm.size(), remote_size })
    }

    fn is_root(&self, root: Root) -> bool {
        !self.comm.is_inter() && root == Root::Rank(self.comm.rank())
    }

    /// The numbers and buffers of an operation whose blocks have one length. A side that is absent
    /// counts as the other, as `MPI_IN_PLACE` says.
    fn blocks(
        &self,
        root: u32,
        send: Option<Outgoing<'_>>,
        recv: Option<Incoming<'_>>,
        in_place: bool,
    ) -> (Exchange, Data) {
        let byte = Datatype::byte();
        let (send_count, send_ty) = match (send, recv) {
            (Some(m), _) => (m.count, m.ty),
            (None, Some(m)) => (m.count, m.ty),
            (None, None) => (0, byte),
        };
        let (recv_count, recv_ty) = recv.map_or((send_count, send_ty), |m| (m.count, m.ty));
        let input = Exchange {
            rank: self.comm.rank(),
            size: self.comm.peers().size(),
            root,
            send_count,
            send_extent: send_ty.extent(),
            send_size: send_ty.size(),
            recv_count,
            recv_extent: recv_ty.extent(),
            recv_size: recv_ty.size(),
            in_place,
        };
        let out = send.map_or(NOTHING, |m| m.buf);
        let into = recv.map_or(core::ptr::null_mut(), |m| m.buf);
        (input, Data::new(out, send_ty, into, recv_ty))
    }
}

/// The part of this process in a rooted operation on an intercommunicator.
fn role(root: Root) -> Role {
    match root {
        Root::Here => Role::Root,
        Root::Nowhere => Role::Bystander,
        Root::Rank(root) => Role::Member { root },
    }
}

/// The rank of the root in the group; 0 where an intercommunicator has it elsewhere.
fn rank(root: Root) -> u32 {
    match root {
        Root::Rank(root) => root,
        _ => 0,
    }
}
