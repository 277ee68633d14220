//! The state that packet handlers may touch: requests, matching tables, lists of deferred work, errors.
//!
//! It is kept apart from [`hpvm_fm::Fm`], so that both can be borrowed while packets are extracted. Nothing
//! here sends. An answer is put on a list that the progress step works through afterwards. The lists are
//! bounded: each entry belongs to a live request, ours or a sender's, or is an XOFF or XON, of which one
//! `extract` brings few.

use crate::comm::{CONTEXTS, Comm};
use crate::engine::dispatch::Deferred;
use crate::engine::matching::{Pattern, Table, Unexpected};
use crate::engine::models::Models;
use crate::engine::process::MAX_COMMS;
use crate::engine::quota::Quota;
use crate::engine::requests::{Operation, Outcome, RecvOp, ReqId, Requests, Transfer};
use crate::error::{Class, Error};
use crate::pt2pt::{Arrivals, protocol};
use crate::status::Status;
use hpvm_fm::{Fast, Rank};
use hpvm_onesided::OneSided;
use std::collections::VecDeque;

/// See the module's text.
pub(crate) struct Inbox {
    pub requests: Requests,
    pub(super) tables: Vec<Table>,
    /// Number of posted receives, in all tables together.
    pub posted: usize,
    /// Receives that have matched an announcement, in the order in which progress steps fetch their messages.
    pub transfers: VecDeque<ReqId>,
    /// How many bytes of unexpected messages are kept of each sender.
    pub quota: Quota,
    /// Incoming messages that are under way, by method.
    pub arrivals: Arrivals,
    /// Number of announced sends of ours whose memory the receivers may be reading.
    pub offered: u32,
    /// Work that packets have asked for.
    pub deferred: VecDeque<Deferred>,
    /// Collectives whose messages of a round are all complete.
    pub ready: VecDeque<ReqId>,
    /// A packet has to be checked before the deferred work is done: it violates the protocol, or it is a
    /// SPLIT_DONE, which only the control block in the transport's memory can confirm.
    pub suspects: bool,
    /// The first violation of the protocol by a peer.
    pub violation: Option<String>,
    unexpected: u64,
    /// An operation of this process has failed. As long as none has, no operation is asked for its error.
    pub failures: bool,
    /// Number of requests completed so far, by which a waiting thread sees that something has happened.
    pub completions: u64,
    /// Fast Messages of the program, whose packets are not MPI's.
    pub fast: Fast,
    /// One-sided operations of the same process.
    pub onesided: OneSided,
    /// Packets of other programming models.
    pub models: Models,
    /// Notices of windows that the caller of `progress` has not taken yet.
    pub notices: VecDeque<crate::rma::notice::Arrived>,
    /// What was wrong with packets of Fast Messages; the engine goes on.
    pub faults: Vec<String>,
}

/// One-sided operations of process `me`, which know MPI's elements.
fn onesided(me: Rank) -> OneSided {
    let mut onesided = OneSided::new(me);
    onesided.register_apply(hpvm_onesided::MPI_CODES, Box::new(crate::rma::kinds::MpiElements));
    onesided
}

impl Inbox {
    pub fn new(me: Rank, processes: u32, packet: usize) -> Inbox {
        Inbox {
            requests: Requests::default(),
            tables: Vec::new(),
            posted: 0,
            transfers: VecDeque::new(),
            quota: Quota::new(processes),
            arrivals: Arrivals::default(),
            offered: 0,
            deferred: VecDeque::new(),
            ready: VecDeque::new(),
            suspects: false,
            violation: None,
            unexpected: 0,
            failures: false,
            completions: 0,
            fast: Fast::new(processes, packet),
            onesided: onesided(me),
            models: Models::default(),
            notices: VecDeque::new(),
            faults: Vec::new(),
        }
    }

    /// The matching table of `context`. It is made by the first message or receive, because a peer may have
    /// made a communicator before us and may send on it already.
    #[inline]
    pub fn table(&mut self, context: u32) -> &mut Table {
        let index = context as usize;
        if index >= self.tables.len() {
            self.tables.resize_with(index + 1, Table::default);
        }
        &mut self.tables[index]
    }

    /// Matches a message: takes the posted receive that accepts it out of the table, if there is one.
    #[inline]
    pub(crate) fn arrive(&mut self, context: u32, src: Rank, tag: i32) -> Option<ReqId> {
        let found = self.table(context).arrive(src, tag);
        self.posted -= usize::from(found.is_some());
        found
    }

    /// Posts a receive. The caller has found no unexpected message for it.
    #[inline]
    pub(crate) fn post(&mut self, context: u32, pattern: Pattern, id: ReqId) {
        self.table(context).post(pattern, id);
        self.posted += 1;
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
    pub(crate) fn keep(&mut self, context: u32, message: Unexpected) {
        self.unexpected += 1;
        if let Some(word) = self.quota.keep(&message) {
            self.deferred.push_back(Deferred::TellQuota(message.src, word));
        }
        self.table(context).keep(message);
    }

    /// Messages that came before their receive, so far.
    #[inline(always)]
    pub fn unexpected_total(&self) -> u64 {
        self.unexpected
    }

    /// Receive `id` has matched a message: writes source and tag into its status.
    #[inline(always)]
    pub(crate) fn matched(&mut self, id: ReqId, src: Rank, tag: i32) {
        let Some(r) = self.requests.get_mut(id) else { return };
        let Operation::Recv(op) = &r.op else { return };
        r.status.source = op.comm.rank_of(src);
        r.status.tag = tag;
    }

    /// Send `id` has been announced, and its receiver may read our memory.
    pub(crate) fn offer(&mut self, id: ReqId) {
        if let Some(Operation::Send(s)) = self.requests.get_mut(id).map(|r| &mut r.op) {
            s.offered = true;
            self.offered += 1;
        }
    }

    /// Nobody is to read the memory of send `id` any more, as it was announced.
    pub(crate) fn withdraw_offer(&mut self, id: ReqId) {
        let Some(Operation::Send(s)) = self.requests.get_mut(id).map(|r| &mut r.op) else { return };
        self.offered -= u32::from(core::mem::take(&mut s.offered));
        if core::mem::take(&mut s.exposed) {
            self.deferred.push_back(Deferred::Conceal(id.number()));
        }
    }

    /// The transfer of receive `id`, and the bytes that its buffer has room for; 0 if all bytes have come.
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

    pub(crate) fn transfer_mut(&mut self, id: ReqId) -> Option<&mut Transfer> {
        self.recv_op(id)?.transfer.as_deref_mut()
    }

    pub(crate) fn recv_op(&mut self, id: ReqId) -> Option<&mut RecvOp> {
        match self.requests.get_mut(id).map(|r| &mut r.op) {
            Some(Operation::Recv(op)) => Some(op),
            _ => None,
        }
    }

    /// Completes receive `id`: the bytes that fit are in the buffer. It is an error if `len`, the length of the
    /// message, is more than fits.
    pub fn finish_receive(&mut self, id: ReqId, len: u64) {
        let Some(r) = self.requests.get_mut(id) else { return };
        let Operation::Recv(op) = &r.op else { return };
        let capacity = op.packed_size();
        r.status.bytes = len.min(capacity);
        if len > capacity {
            let error = truncation(&op.comm, &r.status, len, capacity);
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

    /// Marks request `id` as done, and tells its parent if it has one.
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

    /// A part of request `parent` has ended.
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
        let (context, pattern) = match self.requests.get(id).map(|r| &r.op) {
            Some(Operation::Recv(op)) => (op.context, op.pattern),
            _ => return false,
        };
        if !self.table(context).withdraw(pattern, id) {
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

/// The error of a message that is longer than its receive.
pub(crate) fn truncation(comm: &Comm, status: &Status, len: u64, capacity: u64) -> Error {
    let text = format!(
        "a message of {len} bytes from rank {} with tag {} came for a receive of at most \
         {capacity} bytes at rank {}",
        status.source,
        status.tag,
        comm.rank()
    );
    Error::new(Class::Truncate, text)
}
