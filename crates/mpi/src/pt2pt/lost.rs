//! Processes that have died while the job goes on: what waits for them ends with an error.
//!
//! Nothing is asked when an operation starts. A process that would go to sleep, because nothing moves, looks through its
//! requests ([`Process::end_lost`]); by then it has taken everything that the dead have sent.
//!
//! An operation is lost when the one process that it needs is dead; a receive from anybody when any member of the
//! communicator is, as it may have been the one that would have sent; a collective when any member is.

use crate::comm::Comm;
use crate::engine::matching::ANY_PROCESS;
use crate::engine::process::Process;
use crate::engine::requests::{Operation, RecvOp, ReqId, SendOp};
use crate::error::{Class, Error};
use crate::pt2pt::{cancel, fragments, split_copy};
use hpvm_fm::{Rank, Transport};

/// What becomes of a request.
enum Fate {
    /// It does not need the dead, or the transport still uses its buffer.
    GoesOn,
    /// It ends with an error, which says who died.
    Fails(Error),
    /// It is a message of a collective that fails: it is taken back, if it still can be.
    TakenBack,
}

impl<T: Transport> Process<T> {
    /// These processes have died.
    pub fn lose(&mut self, processes: impl Iterator<Item = Rank>) {
        for process in processes {
            if process != self.fm.rank() && !self.lost.contains(&process) {
                self.lost.push(process);
            }
        }
    }

    /// Whether any process is known to have died.
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The processes that are known to have died.
    pub fn lost(&self) -> &[Rank] {
        &self.lost
    }

    pub(crate) fn is_lost(&self, process: Rank) -> bool {
        self.lost.contains(&process)
    }

    /// Why operations that need all members of `comm` cannot complete any more, if so.
    pub fn lost_member(&self, comm: &Comm) -> Option<Error> {
        let lost = self.lost.iter().find(|lost| comm.has_member(|member| member == **lost))?;
        Some(died(*lost))
    }

    /// Why a receive or a probe on `comm` from `src`, which may be any process, cannot complete any more, if so.
    pub fn lost_source(&self, comm: &Comm, src: Rank) -> Option<Error> {
        match src {
            ANY_PROCESS => self.lost_member(comm),
            _ => self.is_lost(src).then(|| died(src)),
        }
    }

    /// Ends what waits for the dead. To be called when nothing moves. True when something ended.
    #[cold]
    pub fn end_lost(&mut self) -> bool {
        if self.lost.is_empty() {
            return false;
        }
        self.backlog.drop_control_to(&self.lost);
        self.backlog.models.drop_to(&self.lost);
        let mut failed = false;
        for process in &self.lost {
            failed |= self.inbox.onesided.lose(*process);
        }
        let before = self.inbox.completions;
        let requests = self.inbox.requests.iter();
        let unfinished: Vec<ReqId> = requests.filter(|(_, r)| !r.done).map(|(id, _)| id).collect();
        for id in unfinished {
            match self.fate(id) {
                Fate::GoesOn => {}
                Fate::Fails(error) => self.end_with(id, error),
                Fate::TakenBack => self.take_back(id),
            }
        }
        failed || self.inbox.completions != before || !self.inbox.ready.is_empty()
    }

    fn fate(&self, id: ReqId) -> Fate {
        let Some(request) = self.inbox.requests.get(id) else { return Fate::GoesOn };
        let fails = |error: Option<Error>| error.map(Fate::Fails);
        let fate = match &request.op {
            Operation::Send(op) if op.streaming => None,
            Operation::Send(SendOp { dst, .. }) => fails(self.is_lost(*dst).then(|| died(*dst))),
            Operation::Recv(op) => fails(self.lost_sender(id, op)),
            // Its error stays the first one.
            Operation::Collective(Some(c)) => fails(self.lost_member(c.comm())),
            _ => None,
        };
        let of_lost = || request.parent.is_some_and(|parent| self.is_lost_collective(parent));
        fate.unwrap_or_else(|| if of_lost() { Fate::TakenBack } else { Fate::GoesOn })
    }

    /// Why receive `id` cannot complete, if the process that it needs is dead.
    fn lost_sender(&self, id: ReqId, op: &RecvOp) -> Option<Error> {
        match &op.transfer {
            Some(transfer) if transfer.is_moved_by_transport() => None,
            Some(transfer) => self.is_lost(transfer.src).then(|| died(transfer.src)),
            None => match fragments::sender(&self.inbox, id) {
                Some(src) => self.is_lost(src).then(|| died(src)),
                None => self.lost_source(&op.comm, op.pattern.src),
            },
        }
    }

    fn is_lost_collective(&self, id: ReqId) -> bool {
        match self.inbox.requests.get(id).map(|r| &r.op) {
            Some(Operation::Collective(Some(c))) => self.lost_member(c.comm()).is_some(),
            _ => false,
        }
    }

    /// Ends request `id`, which needs a dead process. A collective ends when its messages have, all of which are in
    /// the same list.
    fn end_with(&mut self, id: ReqId, error: Error) {
        let inbox = &mut self.inbox;
        let Some(request) = inbox.requests.get_mut(id) else { return };
        match &mut request.op {
            Operation::Collective(_) => {
                inbox.failures = true;
                request.error.get_or_insert(Box::new(error));
                return;
            }
            Operation::Send(op) => {
                let dst = op.dst;
                inbox.withdraw_offer(id);
                self.backlog.withdraw_send(dst, id);
                self.backlog.packets.retain(|message| message.request != id);
            }
            Operation::Recv(op) => {
                let (context, pattern) = (op.context, op.pattern);
                inbox.posted -= usize::from(inbox.table(context).withdraw(pattern, id));
                inbox.transfers.retain(|waiting| *waiting != id);
                fragments::forget_receive(inbox, id);
                split_copy::forget(inbox, id);
            }
            _ => return,
        }
        self.inbox.fail(id, error);
    }

    /// Takes back a message between living members of a collective that fails. What is on its way comes to its end,
    /// because both sides are alive.
    fn take_back(&mut self, id: ReqId) {
        match self.inbox.requests.get(id).map(|r| &r.op) {
            Some(Operation::Send(_)) => drop(cancel::start(self, id)),
            Some(Operation::Recv(_)) => drop(self.inbox.withdraw(id)),
            _ => {}
        }
    }
}

#[cold]
fn died(process: Rank) -> Error {
    let text = format!("process {process} of the job, which this operation needs, has died");
    Error::new(Class::ProcAborted, text)
}
