//! Communicators: a group and a context (MPI 5.0, chapter 7.4).

pub mod agreement;
pub mod build;
pub mod dynamic;
pub mod group;
pub mod hardware;
pub mod reorder;
pub mod topology;

use crate::coll::shm;
use crate::comm::group::{Group, Likeness};
use crate::engine::nodes::Nodes;
use hpvm_coll::Schedule;
use hpvm_coll::hosts::Hosts;
use hpvm_fm::Rank;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

/// A context id: what keeps the messages of two communicators apart.
///
/// A communicator owns [`CONTEXTS`] consecutive ones, from a multiple of that number on.
pub type ContextId = u32;

/// Context ids of one communicator: for the user's messages, for collectives, for building
/// communicators of a part of the group, and for partitioned messages.
pub const CONTEXTS: u32 = 4;

/// Which of its contexts a communicator uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Channel {
    User = 0,
    Collective = 1,
    Building = 2,
    Partitioned = 3,
}

/// Lowest bits of a collective's tag, which say what form of call it is.
pub(crate) const FORM_BITS: u32 = 2;

/// The forms of collective calls. Calls of different forms never match, so each form has an order
/// of its own: members may mix a blocking call and a nonblocking one differently, and they start
/// persistent operations in any order (MPI 5.0, sections 6.12 and 6.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    Blocking = 0,
    Nonblocking = 1,
    /// The order is that of the initialisation; an operation keeps its tag.
    Persistent = 2,
}

/// The part of a communicator that never changes. Names, attributes and error handlers belong to
/// the handle layer.
#[derive(Debug)]
pub struct Comm {
    context: ContextId,
    group: Arc<Group>,
    remote: Option<Arc<Group>>,
    rank: u32,
    /// Collective operations so far, of each [`Form`]: all members count the same ones.
    started: [AtomicI32; 3],
    /// The schedule of a barrier, which is always the same.
    barrier: OnceLock<Arc<Schedule>>,
    coll_slots: shm::SlotState,
    /// How its ranks lie on hosts, if that matters.
    hosts: OnceLock<Option<Arc<Hosts>>>,
    /// Where its ranks are inside of their hosts, once they have told each other.
    localities: OnceLock<Arc<[u64]>>,
}

impl Comm {
    /// An intracommunicator in which the caller is process `me`, or `None` when it is no member.
    pub fn intra(context: ContextId, group: Arc<Group>, me: Rank) -> Option<Arc<Comm>> {
        let rank = group.rank_of(me)?;
        Some(Comm::new(context, group, None, rank))
    }

    /// An intercommunicator; `me` belongs to `group`.
    pub fn inter(
        context: ContextId,
        group: Arc<Group>,
        remote: Arc<Group>,
        me: Rank,
    ) -> Option<Arc<Comm>> {
        let rank = group.rank_of(me)?;
        Some(Comm::new(context, group, Some(remote), rank))
    }

    fn new(
        context: ContextId,
        group: Arc<Group>,
        remote: Option<Arc<Group>>,
        rank: u32,
    ) -> Arc<Comm> {
        let (started, barrier) = (Default::default(), OnceLock::new());
        let coll_slots = shm::SlotState::default();
        let (hosts, localities) = (OnceLock::new(), OnceLock::new());
        Arc::new(Comm {
            context,
            group,
            remote,
            rank,
            started,
            barrier,
            coll_slots,
            hosts,
            localities,
        })
    }

    /// First of this communicator's context ids.
    pub fn base_context(&self) -> ContextId {
        self.context
    }

    #[inline(always)]
    pub fn context(&self, channel: Channel) -> ContextId {
        self.context + channel as u32
    }

    /// The caller's rank in the local group.
    #[inline(always)]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Members of the local group.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// The other side of an intercommunicator.
    pub fn remote_group(&self) -> Option<&Arc<Group>> {
        self.remote.as_ref()
    }

    /// Whether a process that `wanted` says is a member, on either side.
    pub fn has_member(&self, wanted: impl Fn(Rank) -> bool) -> bool {
        let sides = core::iter::once(&self.group).chain(&self.remote);
        sides.flat_map(|side| side.processes()).any(wanted)
    }

    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// The group that ranks in point-to-point calls refer to.
    #[inline(always)]
    pub fn peers(&self) -> &Group {
        match &self.remote {
            None => &self.group,
            Some(remote) => remote,
        }
    }

    /// The process that a rank argument of a point-to-point call means.
    #[inline(always)]
    pub fn peer(&self, rank: i32) -> Option<Rank> {
        self.peers().process(rank as u32)
    }

    /// The rank under which point-to-point calls know `process`; -1 for a stranger.
    #[inline(always)]
    pub fn rank_of(&self, process: Rank) -> i32 {
        self.peers().rank_of(process).map_or(-1, |p| p as i32)
    }

    /// The schedule of a barrier; `make` is called once.
    pub(crate) fn barrier(&self, make: impl FnOnce() -> Schedule) -> Arc<Schedule> {
        self.barrier.get_or_init(|| Arc::new(make())).clone()
    }

    /// How its ranks lie on hosts: of an intracommunicator on several hosts, some of which have
    /// several members, or at several sites. `nodes` is asked once.
    #[inline]
    pub(crate) fn hosts(&self, nodes: &Nodes) -> Option<&Hosts> {
        let find = || if self.is_inter() { None } else { nodes.hosts(&self.group) };
        self.hosts.get_or_init(find).as_deref()
    }

    /// The same, if it has been asked for.
    #[inline]
    pub(crate) fn known_hosts(&self) -> Option<&Hosts> {
        self.hosts.get()?.as_deref()
    }

    /// See [`hardware::keep`].
    pub(crate) fn localities(&self) -> &OnceLock<Arc<[u64]>> {
        &self.localities
    }

    /// What it knows of its collective slots.
    #[inline(always)]
    pub(crate) fn coll_slots(&self) -> &shm::SlotState {
        &self.coll_slots
    }

    /// A fresh tag for a collective operation.
    #[inline]
    pub fn collective_tag(&self, form: Form) -> i32 {
        // Relaxed: collectives on one communicator are started one after the other; the counter
        // orders nothing else.
        let number = self.started[form as usize].fetch_add(1, Ordering::Relaxed);
        (number << FORM_BITS | form as i32) & i32::MAX
    }

    /// MPI_Comm_compare without the identity of handles: the caller knows that.
    pub fn compare(&self, other: &Comm) -> Likeness {
        let local = self.group.compare(&other.group);
        match (&self.remote, &other.remote) {
            (None, None) => local,
            (Some(a), Some(b)) => match (local, a.compare(b)) {
                (Likeness::Identical, Likeness::Identical) => Likeness::Identical,
                (Likeness::Unequal, _) | (_, Likeness::Unequal) => Likeness::Unequal,
                _ => Likeness::Similar,
            },
            _ => Likeness::Unequal,
        }
    }
}
