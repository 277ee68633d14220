//! Requests of several parts: one request of the program for a send and a receive together
//! (`MPI_Isendrecv`), or for the messages of a partitioned operation (chapter 4).
//!
//! The parts are requests of their own, freed when they end; the last of them completes the whole.

use crate::comm::{Channel, Comm};
use crate::engine::inbox::Inbox;
use crate::engine::matching::Pattern;
use crate::engine::process::Process;
use crate::engine::requests::{Operation, Outcome, ReqId};
use crate::pt2pt::{Incoming, Mode, Outgoing, Started};
use crate::status::Status;
use hpvm_fm::{Rank, Transport};
use std::sync::Arc;

/// A request that waits for its parts.
#[derive(Debug)]
pub struct Several {
    /// Parts that have not ended, those not started yet included.
    pending: u32,
    /// The status was given at the start; otherwise that of the part that received is taken.
    status_given: bool,
    context: u32,
}

impl Several {
    pub(crate) fn context(&self) -> u32 {
        self.context
    }

    /// Takes the status of a part that ended. Sends report the empty one, which says nothing.
    pub(crate) fn status_of(&self, part: &Outcome) -> Option<Status> {
        (!self.status_given && part.status != Status::EMPTY).then_some(part.status)
    }

    /// A part has ended. True when it was the last.
    pub(crate) fn ended(&mut self) -> bool {
        self.pending = self.pending.saturating_sub(1);
        self.pending == 0
    }
}

impl<T: Transport> Process<T> {
    /// A request that completes when `parts` parts, at least one, have ended. With `status` it
    /// reports that; otherwise what its receive reports.
    pub fn begin_several(&mut self, comm: &Comm, parts: u32, status: Option<Status>) -> ReqId {
        let several = Several {
            pending: parts,
            status_given: status.is_some(),
            context: comm.context(Channel::User),
        };
        let id = self.inbox.requests.insert(Operation::Several(several), None);
        if let (Some(status), Some(r)) = (status, self.inbox.requests.get_mut(id)) {
            r.status = status;
        }
        id
    }

    /// `whole` has `parts` more to wait for. It is not complete yet.
    pub fn expect_parts(&mut self, whole: ReqId, parts: u32) {
        if let Some(several) = self.inbox.several(whole) {
            several.pending += parts;
        }
    }

    /// Starts a send as a part of `whole`.
    ///
    /// # Safety
    /// As for `send`, until the part has ended.
    pub unsafe fn send_part(
        &mut self,
        whole: ReqId,
        m: Outgoing<'_>,
        dst: Rank,
        context: u32,
        tag: i32,
        mode: Mode,
    ) {
        let before = self.inbox.pending(whole);
        // SAFETY: the caller's promise.
        let started = unsafe { self.send(m, dst, context, tag, mode, Some(whole)) };
        // A send that ends at once tells its parent at the second try only; so all count here.
        if started == Started::Done && self.inbox.pending(whole) == before {
            self.end_part(whole, None);
        }
    }

    /// Starts a receive as a part of `whole`. Its id is stale once it has ended.
    ///
    /// # Safety
    /// As for `recv`, until the part has ended.
    pub unsafe fn recv_part(
        &mut self,
        whole: ReqId,
        m: Incoming<'_>,
        comm: &Arc<Comm>,
        channel: Channel,
        pattern: Pattern,
    ) -> ReqId {
        // SAFETY: the caller's promise.
        unsafe { self.recv(m, comm, channel, pattern, Some(whole)) }
    }

    /// A part of `whole` needed no message; `status` is what a receive reports.
    pub fn end_part(&mut self, whole: ReqId, status: Option<Status>) {
        let outcome = Outcome { status: status.unwrap_or(Status::EMPTY), ..Outcome::EMPTY };
        self.inbox.child_done(whole, Some(outcome));
    }
}

impl Inbox {
    fn several(&mut self, id: ReqId) -> Option<&mut Several> {
        match self.requests.get_mut(id).map(|r| &mut r.op) {
            Some(Operation::Several(several)) => Some(several),
            _ => None,
        }
    }

    fn pending(&mut self, id: ReqId) -> Option<u32> {
        self.several(id).map(|s| s.pending)
    }
}
