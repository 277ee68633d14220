//! One MPI process: the engine, its requests, its matching tables, and `progress`.
//!
//! A `Process` is a value; a test may hold hundreds of them over the virtual network. Nothing here
//! blocks: a blocking call of MPI is a start followed by `progress` until the request is done.
//!
//! A packet is handled in two steps. Inside `extract`, `Inbox::on_packet` matches and copies; it never sends. It appends answers
//! and further work (transfers, CTS, FIN) to lists that `progress` works through afterwards ([`crate::engine::inbox`]).

use crate::comm::group::Group;
use crate::comm::{CONTEXTS, Comm};
use crate::engine::backlog::{Backlog, InPackets};
use crate::engine::contexts::Contexts;
use crate::engine::inbox::Inbox;
use crate::engine::matching::{Table, Unexpected};
use crate::engine::nodes::Nodes;
use crate::engine::peers::{Identity, Peers};
use crate::engine::requests::{Operation, Outcome, ReqId, Requests};
use crate::engine::{dispatch, progress};
use crate::pt2pt::select;
use hpvm_fm::{Fast, Fm, Rank, Transport};
use hpvm_onesided::OneSided;
use std::collections::VecDeque;
use std::sync::Arc;

/// Communicators that may live at the same time in one process.
pub const MAX_COMMS: u32 = 8192;

/// A process of an MPI job.
pub struct Process<T> {
    pub(crate) fm: Fm<T>,
    pub(crate) inbox: Inbox,
    pub(crate) backlog: Backlog,
    pub(crate) contexts: Contexts,
    world: Arc<Comm>,
    own: Arc<Comm>,
    /// The thresholds by which `select` chooses the method of a message.
    pub(crate) thresholds: select::Thresholds,
    /// Bytes of long messages that the current progress step may still copy.
    pub(crate) step_left: u64,
    /// The tables that choose the algorithms of collectives.
    pub(crate) select: hpvm_coll::select::Tables,
    /// Whether these tables also choose the carriers of collectives, because `hpvm tune` has measured them.
    pub(crate) carriers_tuned: bool,
    /// The host of each process; empty where it is not known.
    pub(crate) nodes: Nodes,
    peers: Peers,
    /// Bytes taken from the network at a time, at least a packet.
    pub(crate) budget: usize,
    /// The bounce buffer, for bytes between a peer's memory and elements with holes.
    pub(crate) bounce: Vec<u8>,
    /// Messages sent in fragments so far.
    pub(crate) fragmented: u64,
    /// Reductions by functions of the program, to be run by the caller of `progress`.
    pub(crate) computes: VecDeque<crate::coll::Compute>,
    /// Ranks of this host share processors. The same on all that share memory with this one.
    pub oversubscribed: bool,
    /// The counters of what is sent to whom, in a process that is monitored.
    pub(crate) traffic: Option<super::traffic::Index>,
    /// Processes that have died, while the job goes on.
    pub(crate) lost: Vec<hpvm_fm::Rank>,
    /// The history of each set of collective slots, by the set's index.
    pub(crate) coll_slots: Vec<crate::coll::shm::History>,
    /// The limits of collectives: up to which length they go through slots, and above which length by messages.
    pub(crate) limits: crate::coll::shm::KnownLimits,
}

impl<T: Transport> Process<T> {
    /// The process at one end of `transport`, whose world is all ranks of the transport.
    pub fn new(transport: T) -> Process<T> {
        let fm = Fm::new(transport);
        let (me, size) = (fm.rank(), fm.size());
        // The process is a member of both groups by construction.
        let intra = |context, group| {
            Comm::intra(context, group, me).unwrap_or_else(|| unreachable!("rank {me} of {size}"))
        };
        Process {
            world: intra(0, Group::run(0, size)),
            own: intra(CONTEXTS, Group::run(me, 1)),
            backlog: Backlog::default(),
            contexts: Contexts::new(),
            select: hpvm_coll::select::DEFAULT.clone(),
            carriers_tuned: false,
            nodes: Nodes::default(),
            peers: Peers::new(size),
            budget: progress::ONE_PACKET,
            bounce: Vec::new(),
            fragmented: 0,
            computes: VecDeque::new(),
            oversubscribed: false,
            traffic: None,
            lost: Vec::new(),
            coll_slots: Vec::new(),
            limits: crate::coll::shm::KnownLimits::default(),
            inbox: Inbox::new(me, size, fm.limits().packet),
            thresholds: select::DEFAULT,
            step_left: 0,
            fm,
        }
    }

    /// Replaces the tables that choose the algorithms of collectives and the methods of messages. The caller has checked the
    /// names of the thresholds in them ([`select::Thresholds::with`]). To be called before the first collective, with the same
    /// tables on all ranks: ranks with different tables wait for ever.
    pub fn set_tables(&mut self, tables: hpvm_coll::select::Tables) {
        self.carriers_tuned = tables.carriers.iter().any(|table| !table.is_empty());
        if let Ok(thresholds) = select::Thresholds::with(&tables.thresholds) {
            self.set_thresholds(thresholds);
        }
        self.select = tables;
    }

    /// Replaces the thresholds that choose the methods of messages. To be called before the first message, with the same
    /// thresholds on all ranks; otherwise some of their choices do not fit together.
    pub fn set_thresholds(&mut self, thresholds: select::Thresholds) {
        let share = crate::engine::quota::share(&thresholds, self.fm.size());
        self.inbox.quota.set_quota(share);
        self.thresholds = thresholds;
    }

    /// The thresholds in force.
    pub fn thresholds(&self) -> &select::Thresholds {
        &self.thresholds
    }

    /// Sets the host of each process of the job; equal numbers are one host. Collectives then send little between hosts. To be
    /// called before the first collective, with the same hosts on all ranks.
    pub fn set_nodes(&mut self, nodes: &[u32]) {
        self.share_nodes(Nodes::new(nodes));
    }

    /// The same in a job of several sites, with the site of each process: collectives then cross the link between two
    /// once.
    pub fn set_sites(&mut self, nodes: &[u32], sites: &[u16]) {
        self.share_nodes(Nodes::at_sites(nodes, sites));
    }

    /// The site of a process of the job, in a job of several sites.
    pub fn site(&self, process: Rank) -> Option<u16> {
        self.nodes.site(process)
    }

    /// The same with a table that other processes of a virtual network have, too.
    pub fn share_nodes(&mut self, nodes: Nodes) {
        self.budget = if nodes.alone() { progress::ONE_PACKET } else { progress::BUDGET };
        self.nodes = nodes;
    }

    /// Gives the job a number of its own, the same on all of its processes: before it is connected with another.
    pub fn set_job_number(&mut self, number: u64) {
        self.peers.set_job(number);
    }

    /// Who a process is, as others know it; `None` for one that is not reached any more.
    pub fn identity(&self, process: hpvm_fm::Rank) -> Option<Identity> {
        self.peers.identity(process)
    }

    /// The process that others know by `identity`, if it is reached.
    pub fn find(&self, identity: Identity) -> Option<hpvm_fm::Rank> {
        self.peers.find(identity)
    }

    /// The transport reaches more processes, with the next numbers: these.
    pub fn add_peers(&mut self, identities: &[Identity]) {
        self.peers.add(identities);
    }

    /// The transport reaches these no more: what still waits to be sent to them is dropped.
    pub fn forget_peers(&mut self, processes: &[hpvm_fm::Rank]) {
        self.peers.forget(processes);
    }

    /// Whether a communicator that the program has freed, but on which something is under way, has a member that
    /// `wanted` says.
    pub fn retired_has(&self, wanted: impl Fn(hpvm_fm::Rank) -> bool) -> bool {
        self.contexts.retired.iter().any(|comm| comm.has_member(&wanted))
    }

    /// The processes that the job began with.
    pub fn world(&self) -> &Arc<Comm> {
        &self.world
    }

    /// This process alone.
    pub fn own(&self) -> &Arc<Comm> {
        &self.own
    }

    pub fn fm(&self) -> &Fm<T> {
        &self.fm
    }

    pub fn fm_mut(&mut self) -> &mut Fm<T> {
        &mut self.fm
    }

    /// Fast Messages of this process and the engine to send with.
    pub fn fast(&mut self) -> (&mut Fm<T>, &mut Fast) {
        (&mut self.fm, &mut self.inbox.fast)
    }

    /// One-sided operations of this process and the engine that carries them.
    #[inline(always)]
    pub fn onesided(&mut self) -> (&mut Fm<T>, &mut OneSided) {
        (&mut self.fm, &mut self.inbox.onesided)
    }

    /// True when packets for handlers in C wait to be delivered.
    #[inline(always)]
    pub fn has_fast_arrivals(&self) -> bool {
        self.inbox.fast.has_arrivals()
    }

    /// What was wrong with packets of Fast Messages since the last call.
    pub fn take_faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.inbox.faults)
    }

    pub fn requests(&self) -> &Requests {
        &self.inbox.requests
    }

    pub fn requests_mut(&mut self) -> &mut Requests {
        &mut self.inbox.requests
    }

    /// Requests completed so far. When it stands still across a `progress`, nothing ended.
    pub fn completions(&self) -> u64 {
        self.inbox.completions
    }

    /// Lengths of the posted and the unexpected queues over all communicators.
    pub fn queue_lengths(&self) -> (usize, usize) {
        self.inbox.tables.iter().map(Table::lengths).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// Context id and message of everything that came and was not received, for diagnosis.
    pub fn unexpected_messages(&self) -> impl Iterator<Item = (u32, &Unexpected)> {
        let tables = self.inbox.tables.iter().zip(0..);
        tables.flat_map(|(table, context)| table.unexpected().map(move |m| (context, m)))
    }

    /// True when packets wait for credits or buffers: a sleeper must wake by itself to retry,
    /// because a credit that comes back rings no bell.
    pub fn has_backlog(&self) -> bool {
        !self.backlog.is_empty() || self.inbox.onesided.has_work()
    }

    /// True when packets wait for credits or buffers that are for processes whom it `concerns`.
    pub fn has_backlog_for(&self, concerns: impl Fn(Rank) -> bool) -> bool {
        let in_packets = |message: &InPackets| {
            let request = self.inbox.requests.get(message.request);
            request.is_some_and(|r| matches!(&r.op, Operation::Send(op) if concerns(op.dst)))
        };
        self.backlog.waits_for(&concerns)
            || self.backlog.packets.iter().any(in_packets)
            || self.inbox.onesided.has_work_for().iter().any(|rank| concerns(*rank))
    }

    /// True when packets wait that others need even if this process ends. A peer that has ended gives
    /// no credit any more, so who ends must wait for no others.
    pub fn owes_packets(&self) -> bool {
        self.backlog.is_needed() || self.inbox.onesided.has_work() || self.inbox.onesided.gathers()
    }

    /// The outcome of a request that is done, whose place it frees. `None`: not done, or no such.
    pub fn take_outcome(&mut self, id: ReqId) -> Option<Outcome> {
        match self.inbox.requests.get(id) {
            Some(r) if r.done => self.inbox.requests.remove(id),
            _ => None,
        }
    }

    /// Nobody will ask for the outcome of `id` any more (`MPI_Request_free`).
    pub fn detach(&mut self, id: ReqId) {
        match self.inbox.requests.get_mut(id) {
            Some(r) if r.done => drop(self.inbox.requests.remove(id)),
            Some(r) => r.detached = true,
            None => {}
        }
    }

    /// Completes a request of kind `External`.
    pub fn complete_external(&mut self, id: ReqId) {
        self.inbox.complete(id);
    }

    /// Drops what is left in the tables of a communicator that nobody uses any more.
    pub(crate) fn clear_tables(&mut self, base: u32) {
        for context in base..base + CONTEXTS {
            if let Some(table) = self.inbox.tables.get_mut(context as usize) {
                let left = std::mem::take(table);
                self.inbox.posted -= left.lengths().0;
                dispatch::forget(&mut self.inbox, &left);
                left.unexpected().for_each(|message| self.release(message));
            }
        }
    }
}
