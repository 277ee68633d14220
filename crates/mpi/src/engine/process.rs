//! One MPI process: the engine, its requests, its matching tables, and `progress`.
//!
//! A `Process` is a value; a test may hold hundreds of them over the virtual network. Nothing here
//! blocks: a blocking call of MPI is a start followed by `progress` until the request is done.
//!
//! What arrives is handled in two steps. Inside `extract`, `Inbox::packet` matches and copies; it
//! never sends. What must be answered (single-copy transfers, CTS, FIN) it appends to lists that
//! `progress` drains afterwards. Each entry of those lists belongs to a live request, ours or a
//! sender's, or is word of what is kept, of which one `extract` brings few: so they are bounded.

use crate::comm::group::Group;
use crate::comm::{CONTEXTS, Comm};
use crate::engine::control::Step;
use crate::engine::matching::{Announcement, Content, Pattern, Table, Unexpected};
use crate::engine::progress;
use crate::engine::requests::{Operation, Outcome, RecvOp, ReqId, Requests, Transfer};
use crate::error::Error;
use crate::pt2pt::fragments::Incomplete;
use crate::pt2pt::packed_size;
use crate::pt2pt::protocol::{
    self, ANNOUNCE, BULK, CTS, DATA, EAGER, FIN, HELP, HELPED, LONG, PIECE, RTS, Rts,
};
use crate::status::Status;
use hpvm_fm::{Fast, Fm, Head, Rank, Transport};
use std::collections::VecDeque;
use std::sync::Arc;

/// Communicators that may live at the same time in one process.
pub const MAX_COMMS: u32 = 8192;

/// A process of an MPI job.
pub struct Process<T> {
    pub(crate) fm: Fm<T>,
    pub(crate) inbox: Inbox,
    pub(crate) backlog: crate::engine::backlog::Backlog,
    pub(crate) contexts: crate::comm::agreement::Contexts,
    world: Arc<Comm>,
    own: Arc<Comm>,
    /// Chooses the algorithms of collectives.
    pub(crate) select: hpvm_coll::select::Tables,
    /// They say what carries small collectives.
    pub(crate) carriers_tuned: bool,
    /// The host of each process; empty where it is not known.
    nodes: Box<[u32]>,
    /// Bytes taken from the network at a time, at least a packet.
    pub(crate) budget: usize,
    pub(crate) bounce: Vec<u8>,
    /// Messages sent in pieces so far.
    pub(crate) numbers: u64,
    /// Reductions by functions of the program, to be run by the caller of `progress`.
    pub(crate) computes: VecDeque<crate::coll::Compute>,
    /// What its collective slots were used for, by their index.
    pub(crate) coll_slots: Vec<crate::coll::shm::History>,
}

/// Everything that a packet's arrival may touch. Apart from `Fm`, so that both can be borrowed.
pub(crate) struct Inbox {
    pub requests: Requests,
    tables: Vec<Table>,
    /// Receives in the tables.
    pub posted: usize,
    /// Receives that matched an announcement: their transfer is to be started.
    pub transfers: VecDeque<ReqId>,
    /// Messages in pieces of which some are missing, or nobody has received them.
    pub incomplete: Vec<Incomplete>,
    /// What is kept of whom.
    pub kept: crate::engine::quota::Kept,
    /// Messages that are copied together with their senders.
    pub duets: crate::pt2pt::split_copy::Duets,
    /// Sends of ours that others may be reading.
    pub offered: u32,
    /// What packets that came ask this process to send or to do.
    pub steps: VecDeque<Step>,
    /// Collectives all of whose messages of a round are complete.
    pub ready: VecDeque<ReqId>,
    /// What came has to be looked at before anything is done about it: it violates the protocol, or says
    /// of a duet what only the transport knows.
    pub suspects: bool,
    /// The first violation of the protocol by a peer.
    pub(crate) violation: Option<String>,
    unexpected: u64,
    /// Some operation of this process has gone wrong: before that, none is asked whether it was it.
    pub failures: bool,
    /// Requests completed so far; a waiter sees that something has happened.
    pub completions: u64,
    /// The receive that a thread waits for right now, if it has no request.
    pub direct: crate::pt2pt::blocking::Direct,
    /// Fast Messages of the same process: the packets that are not MPI's.
    pub(crate) fast: Fast,
    /// What was wrong with packets of Fast Messages; the engine goes on.
    faults: Vec<String>,
}

/// Texts of faults kept until somebody reads them. More say nothing new.
const FAULTS: usize = 16;

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
            backlog: crate::engine::backlog::Backlog::default(),
            contexts: crate::comm::agreement::Contexts::new(),
            select: hpvm_coll::select::DEFAULT.clone(),
            carriers_tuned: false,
            nodes: Box::default(),
            budget: progress::ONE,
            bounce: Vec::new(),
            numbers: 0,
            computes: VecDeque::new(),
            coll_slots: Vec::new(),
            inbox: Inbox {
                requests: Requests::default(),
                tables: Vec::new(),
                posted: 0,
                transfers: VecDeque::new(),
                kept: crate::engine::quota::Kept::new(size),
                duets: Default::default(),
                offered: 0,
                steps: VecDeque::new(),
                ready: VecDeque::new(),
                incomplete: Vec::new(),
                suspects: false,
                violation: None,
                unexpected: 0,
                failures: false,
                completions: 0,
                direct: Default::default(),
                fast: Fast::new(size, fm.limits().packet),
                faults: Vec::new(),
            },
            fm,
        }
    }

    /// Replaces the tables that choose the algorithms of collectives. To be called before the first
    /// collective, with the same tables on all ranks: ranks with different ones wait for ever.
    pub fn set_tables(&mut self, tables: hpvm_coll::select::Tables) {
        self.carriers_tuned = tables.carriers.iter().any(|table| !table.is_empty());
        self.select = tables;
    }

    /// Tells which host each process of the job is on, by any number; collectives then send little
    /// between hosts. To be called before the first collective, with the same hosts on all ranks.
    pub fn set_nodes(&mut self, nodes: &[u32]) {
        self.nodes = nodes.into();
        let alone = nodes.iter().all(|node| *node == nodes[0]);
        self.budget = if alone { progress::ONE } else { progress::BUDGET };
    }

    /// The host of a process, if it is known.
    pub(crate) fn node(&self, process: hpvm_fm::Rank) -> Option<u32> {
        self.nodes.get(process as usize).copied()
    }

    /// All processes of the job.
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
        !self.backlog.is_empty()
    }

    /// True when packets wait that others need even if this process ends. A peer that has ended gives
    /// no credit any more, so who ends must wait for no others.
    pub fn owes_packets(&self) -> bool {
        self.backlog.is_needed()
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
                self.inbox.forget_pieces(&left);
                left.unexpected().for_each(|message| self.release(message));
            }
        }
    }
}

impl Inbox {
    /// The matching table of `context`. It comes into being with the first message or receive,
    /// because a peer may be ahead of us in making a communicator.
    #[inline]
    pub fn table(&mut self, context: u32) -> &mut Table {
        let index = context as usize;
        if index >= self.tables.len() {
            self.tables.resize_with(index + 1, Table::default);
        }
        &mut self.tables[index]
    }

    /// The posted receive that takes a message, if any; it is posted no more.
    #[inline]
    pub(crate) fn arrive(&mut self, context: u32, src: Rank, tag: i32) -> Option<ReqId> {
        let found = self.table(context).arrive(src, tag);
        self.posted -= usize::from(found.is_some());
        found
    }

    /// Posts a receive. The caller has looked for an unexpected message first.
    #[inline]
    pub(crate) fn post(&mut self, context: u32, pattern: Pattern, id: ReqId) {
        self.table(context).post(pattern, id);
        self.posted += 1;
    }

    /// Handles one packet. Never sends. A function of its own, so that the loops that take packets
    /// stay small.
    #[inline(never)]
    pub(crate) fn packet(&mut self, src: Rank, head: Head, data: &[u8]) {
        match head.handler {
            EAGER => self.on_eager(src, head.imm, data),
            RTS => self.on_rts(src, head, data),
            CTS => self.on_cts(src, head, data),
            DATA => self.on_data(src, head, data),
            LONG => self.on_long(src, head.imm, data),
            PIECE => self.on_piece(src, head.imm, data),
            BULK => self.on_bulk(src, head.imm, data),
            FIN => self.on_fin(src, head.imm),
            HELP => self.on_help(src, head.imm, data),
            HELPED => self.on_helped(src, head.imm, data),
            ANNOUNCE => self.steps.push_back(Step::Told(src, head.imm)),
            other if self.fast.wants(head) => {
                debug_assert!(!hpvm_fm::handler_id::MPI.contains(&other));
                if let Err(fault) = self.fast.on_packet(src, head, data)
                    && self.faults.len() < FAULTS
                {
                    self.faults.push(fault.to_string());
                }
            }
            other => self.violate(src, format!("handler {other}, which nobody has")),
        }
    }

    #[cold]
    pub(crate) fn violate(&mut self, src: Rank, what: String) {
        self.suspects = true;
        self.violation.get_or_insert(format!("process {src} sent {what}"));
    }

    #[inline(always)]
    pub(crate) fn checked_context(&mut self, src: Rank, imm: u64) -> Option<(u32, i32)> {
        let (context, tag) = protocol::open_envelope(imm);
        if context < MAX_COMMS * CONTEXTS {
            return Some((context, tag));
        }
        self.violate(src, format!("context id {context}; expected below {}", MAX_COMMS * CONTEXTS));
        None
    }

    #[inline]
    fn on_eager(&mut self, src: Rank, imm: u64, data: &[u8]) {
        let Some((context, tag)) = self.checked_context(src, imm) else { return };
        match self.arrive(context, src, tag) {
            Some(id) => self.receive_eager(id, src, tag, data),
            None if self.direct.accepts(context, src, tag) => {
                // SAFETY: whoever set it waits for it, and its buffer lives meanwhile.
                unsafe { self.direct.land(src, tag, data) };
                self.completions += 1;
            }
            None => {
                let content = Content::Eager(data.into());
                self.keep(context, Unexpected { src, tag, content });
            }
        }
    }

    pub(crate) fn keep(&mut self, context: u32, message: Unexpected) {
        self.unexpected += 1;
        if let Some(word) = self.kept.keep(&message) {
            self.steps.push_back(Step::Tell(message.src, word));
        }
        self.table(context).keep(message);
    }

    /// Messages that came before their receive, so far.
    pub fn unexpected_total(&self) -> u64 {
        self.unexpected
    }

    fn on_rts(&mut self, src: Rank, head: Head, data: &[u8]) {
        let Some((context, tag)) = self.checked_context(src, head.imm) else { return };
        let Some(rts) = Rts::read(data) else {
            return self.violate(src, format!("an RTS of {} bytes", data.len()));
        };
        let rest = &data[Rts::BYTES..];
        let with_data = head.aux == protocol::WITH_DATA;
        if with_data && rest.len() as u64 != rts.len {
            let found = rest.len();
            return self.violate(src, format!("{found} bytes with an RTS of {}", rts.len));
        }
        let announcement = Announcement {
            len: rts.len,
            address: rts.address,
            request: rts.request,
            data: with_data.then(|| rest.into()),
            streams: false,
        };
        self.announced(context, src, tag, announcement);
    }

    /// A message has been announced.
    pub(crate) fn announced(
        &mut self,
        context: u32,
        src: Rank,
        tag: i32,
        announcement: Announcement,
    ) {
        match self.arrive(context, src, tag) {
            Some(id) => self.receive_announced(id, src, tag, announcement),
            None if self.direct.accepts(context, src, tag) => {
                let content = Content::Announced(announcement);
                self.direct.announce(Unexpected { src, tag, content });
            }
            None => {
                let content = Content::Announced(announcement);
                self.keep(context, Unexpected { src, tag, content });
            }
        }
    }

    /// The receiver wants our message, in packets or as a stream.
    fn on_cts(&mut self, src: Rank, head: Head, data: &[u8]) {
        let id = ReqId::from_number(head.imm);
        let theirs = protocol::read_word(data);
        match (self.requests.get_mut(id).map(|r| &mut r.op), theirs) {
            (Some(Operation::Send(s)), Some(theirs))
                if s.dst == src && !s.streaming && !s.asked =>
            {
                s.asked = true;
                self.offered -= u32::from(core::mem::take(&mut s.offered));
                s.streaming = head.aux == protocol::STREAM;
                let step = if s.streaming { Step::Stream(id) } else { Step::Packets(id, theirs) };
                self.steps.push_back(step);
            }
            _ => {
                let text = format!("a CTS for request {:#x}, which is not its own", head.imm);
                self.violate(src, text);
            }
        }
    }

    fn on_data(&mut self, src: Rank, head: Head, data: &[u8]) {
        let id = ReqId::from_number(head.imm);
        let transfer = match self.requests.get_mut(id).map(|r| &mut r.op) {
            Some(Operation::Recv(RecvOp { transfer: Some(t), buf, count, ty, .. }))
                if t.src == src && t.asked && t.done + data.len() as u64 <= t.len =>
            {
                let capacity = packed_size(ty, *count);
                let fits = (data.len() as u64).min(capacity.saturating_sub(t.done)) as usize;
                // SAFETY: the program gave a buffer of `count` elements; `done + fits` is at most
                // their packed size.
                unsafe { ty.unpack(*buf, *count, t.done, &data[..fits]) };
                t.done += data.len() as u64;
                **t
            }
            _ => {
                let text = format!("{} bytes for a receive that does not expect them", data.len());
                return self.violate(src, text);
            }
        };
        if transfer.done == transfer.len {
            self.finish_receive(id, transfer.len);
        }
    }

    /// Send `id` has been announced, and its receiver may read it.
    pub(crate) fn offer(&mut self, id: ReqId) {
        if let Some(Operation::Send(s)) = self.requests.get_mut(id).map(|r| &mut r.op) {
            s.offered = true;
            self.offered += 1;
        }
    }

    /// The receiver has our message.
    fn on_fin(&mut self, src: Rank, ours: u64) {
        let id = ReqId::from_number(ours);
        match self.requests.get_mut(id).map(|r| &mut r.op) {
            Some(Operation::Send(s)) if s.dst == src && !s.streaming => {
                self.offered -= u32::from(core::mem::take(&mut s.offered));
                self.complete(id);
            }
            _ => self.violate(src, format!("a FIN for request {ours:#x}, which is not its own")),
        }
    }

    /// A whole message for the receive `id`.
    #[inline]
    pub fn receive_eager(&mut self, id: ReqId, src: Rank, tag: i32, data: &[u8]) {
        let Some(r) = self.requests.get_mut(id) else { return };
        let Operation::Recv(op) = &mut r.op else { return };
        r.status.source = op.comm.rank_of(src);
        r.status.tag = tag;
        let capacity = op.packed_size();
        let fits = (data.len() as u64).min(capacity) as usize;
        // SAFETY: the program gave a buffer of `count` elements; `fits` is at most their size.
        unsafe { crate::pt2pt::unpack_all(op.buf, op.count, &op.ty, &data[..fits]) };
        if data.len() > fits {
            return self.finish_receive(id, data.len() as u64);
        }
        r.status.bytes = fits as u64;
        self.complete(id);
    }

    /// An announced message for the receive `id`: its transfer is put on the list.
    pub fn receive_announced(&mut self, id: ReqId, src: Rank, tag: i32, a: Announcement) {
        let Some(r) = self.requests.get_mut(id) else { return };
        let Operation::Recv(op) = &mut r.op else { return };
        r.status.source = op.comm.rank_of(src);
        r.status.tag = tag;
        let transfer = Transfer {
            src,
            request: a.request,
            len: a.len,
            done: 0,
            address: a.address,
            streams: a.streams,
            asked: false,
        };
        op.transfer = Some(Box::new(transfer));
        if let Some(data) = a.data {
            let fits = (data.len() as u64).min(op.packed_size()) as usize;
            // SAFETY: as in `receive_eager`.
            unsafe { crate::pt2pt::unpack_all(op.buf, op.count, &op.ty, &data[..fits]) };
            // Zero bytes are left to move, so the transfer only says FIN.
            op.transfer = Some(Box::new(Transfer { done: a.len, ..transfer }));
        }
        self.transfers.push_back(id);
    }

    /// The transfer of receive `id` and the bytes that still may be asked for.
    pub(crate) fn transfer(&self, id: ReqId) -> Option<(Transfer, u64)> {
        match self.requests.get(id).map(|r| &r.op) {
            Some(Operation::Recv(op)) => {
                let t = **op.transfer.as_ref()?;
                let capacity = op.packed_size();
                Some((t, if t.done == t.len { 0 } else { capacity }))
            }
            _ => None,
        }
    }

    pub(crate) fn recv_op(&mut self, id: ReqId) -> Option<&mut RecvOp> {
        match self.requests.get_mut(id).map(|r| &mut r.op) {
            Some(Operation::Recv(op)) => Some(op),
            _ => None,
        }
    }

    /// All bytes that fit are in the buffer; the message had `len`.
    pub fn finish_receive(&mut self, id: ReqId, len: u64) {
        let Some(r) = self.requests.get_mut(id) else { return };
        let Operation::Recv(op) = &r.op else { return };
        let capacity = op.packed_size();
        r.status.bytes = len.min(capacity);
        if len > capacity {
            let error = crate::pt2pt::blocking::truncation(&op.comm, &r.status, len, capacity);
            r.error = Some(Box::new(error));
            self.failures = true;
        }
        self.complete(id);
    }

    pub fn fail(&mut self, id: ReqId, error: Error) {
        self.failures = true;
        if let Some(r) = self.requests.get_mut(id) {
            r.error.get_or_insert(Box::new(error));
        }
        self.complete(id);
    }

    /// Marks `id` done and tells whoever waits for it.
    #[inline]
    pub fn complete(&mut self, id: ReqId) {
        self.completions += 1;
        let Some(r) = self.requests.end(id) else { return };
        if let Some(parent) = r.parent {
            let outcome = self.requests.remove(id);
            self.child_done(parent, outcome);
        } else if r.detached {
            self.requests.remove(id);
        }
    }

    /// A request has ended that `parent` waits for.
    pub(crate) fn child_done(&mut self, parent: ReqId, outcome: Option<Outcome>) {
        let Some(r) = self.requests.get_mut(parent) else { return };
        let outcome = outcome.unwrap_or(Outcome::EMPTY);
        match &mut r.op {
            Operation::Collective(Some(c)) => {
                c.outstanding -= 1;
                if c.outstanding == 0 {
                    self.ready.push_back(parent);
                }
            }
            Operation::Several(s) => {
                r.status = s.status_of(&outcome).unwrap_or(r.status);
                if s.ended() {
                    r.error = r.error.take().or(outcome.error);
                    return self.complete(parent);
                }
            }
            _ => {}
        }
        if let Some(error) = outcome.error {
            r.error.get_or_insert(error);
        }
    }

    /// Takes a posted receive back (`MPI_Cancel`). False: it has matched already.
    pub fn withdraw(&mut self, id: ReqId) -> bool {
        let context = match self.requests.get(id).map(|r| &r.op) {
            Some(Operation::Recv(op)) => op.context,
            _ => return false,
        };
        if !self.table(context).withdraw(id) {
            return false;
        }
        self.posted -= 1;
        if let Some(r) = self.requests.get_mut(id) {
            r.status = Status { cancelled: true, ..Status::EMPTY };
        }
        self.complete(id);
        true
    }
}
