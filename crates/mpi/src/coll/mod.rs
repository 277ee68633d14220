//! Collective communication (MPI 5.0, chapter 6): runs the schedules of `hpvm-coll`.
//!
//! A collective is a request. The messages of its rounds are requests of their own, and the last one of a round to
//! complete puts the collective on the process's `ready` list; the progress step then starts the next round. Local
//! copies and reductions run in between. A reduction by a function of the program is handed out as a [`Compute`]
//! instead, because such a function may call MPI.

mod memory;
mod plan;
pub mod shm;

pub use memory::Memory;
pub use plan::{Combine, Data, Plan, Planner, Root, Staged, Typed, Varied};

use crate::comm::{Channel, Comm, Form};
use crate::datatype::Datatype;
use crate::engine::matching::Pattern;
use crate::engine::process::Process;
use crate::engine::requests::{Operation, ReqId};
use crate::error::{Error, Result};
use crate::op::Op;
use crate::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_coll::{Comm as Message, Local, Peer};
use hpvm_fm::{Rank, Transport};
use std::sync::Arc;

/// A collective operation under way.
#[derive(Debug)]
pub struct Collective {
    plan: Plan,
    comm: Arc<Comm>,
    tag: i32,
    /// The present round, and the index of its next local step.
    round: usize,
    step: usize,
    started: bool,
    /// Number of messages of the round that are not complete.
    pub(crate) outstanding: u32,
    memory: Memory,
}

/// A reduction by a function of the program. The caller runs it without holding the engine ([`Compute::run`]), then
/// calls [`Process::computed`].
#[derive(Debug)]
pub struct Compute {
    id: ReqId,
    op: Arc<Op>,
    input: *const u8,
    inout: *mut u8,
    count: i64,
    ty: Arc<Datatype>,
    outcome: Result<()>,
}

impl Compute {
    /// The type of the operands.
    pub fn ty(&self) -> &Arc<Datatype> {
        &self.ty
    }

    /// Calls the program's function.
    pub fn run(&mut self) {
        // SAFETY: both blocks belong to a collective that waits for this call, so nobody else touches them. They
        // hold `count` elements of `ty`: `Memory` has laid them out, or they are the program's buffers.
        self.outcome = unsafe { self.op.apply(self.input, self.inout, self.count, &self.ty) };
    }
}

impl<T: Transport> Process<T> {
    /// Starts `plan` on `comm`. All members start their collectives of a form in the same order.
    ///
    /// # Safety
    /// The buffers in `plan.data` stay valid, for as many elements as the call of MPI says, until
    /// the request is complete.
    pub unsafe fn start_collective(&mut self, comm: &Arc<Comm>, plan: Plan) -> ReqId {
        let tag = plan.tag.unwrap_or_else(|| comm.collective_tag(Form::Blocking));
        // SAFETY: the caller's promise.
        unsafe { self.start_tagged(comm, Channel::Collective, tag, plan) }
    }

    /// Starts `plan` on a channel of `comm`, with a tag that the caller chooses.
    ///
    /// # Safety
    /// As for `start_collective`.
    pub(crate) unsafe fn start_tagged(
        &mut self,
        comm: &Arc<Comm>,
        channel: Channel,
        tag: i32,
        plan: Plan,
    ) -> ReqId {
        // SAFETY: the caller's promise.
        unsafe { self.start_spoilt(comm, channel, tag, plan, None) }
    }

    /// The same for a member that may have found an `error` already. It takes part all the same, so that nobody waits
    /// for it in vain, and its messages tell the others of the error ([`twice`]).
    ///
    /// # Safety
    /// As for `start_collective`.
    pub(crate) unsafe fn start_spoilt(
        &mut self,
        comm: &Arc<Comm>,
        channel: Channel,
        tag: i32,
        plan: Plan,
        error: Option<Box<Error>>,
    ) -> ReqId {
        plan.staged.fill();
        let memory = Memory::for_schedule(plan.schedule.temps(), &plan.data, channel);
        let collective = Collective {
            comm: comm.clone(),
            tag,
            round: 0,
            step: 0,
            started: false,
            outstanding: 0,
            memory,
            plan,
        };
        let op = Operation::Collective(Some(Box::new(collective)));
        let id = self.inbox.requests.insert(op, None);
        if let Some(error) = error {
            self.note_error(id, *error);
        }
        self.advance_collective(id);
        id
    }

    /// Runs a collective until it waits for messages or for a [`Compute`], or is complete.
    pub(crate) fn advance_collective(&mut self, id: ReqId) {
        let Some(mut c) = self.take_collective(id) else { return };
        loop {
            let round = c.plan.schedule.round(c.round);
            let Some(round) = round.filter(|_| !self.is_hopeless(id, &c)) else {
                c.plan.staged.empty();
                return self.inbox.complete(id);
            };
            if !c.started {
                c.outstanding = self.start_round(id, &c, round.comms);
                c.started = true;
                if c.outstanding > 0 {
                    return self.put_collective(id, c);
                }
            }
            while let Some(local) = c.next_local() {
                c.step += 1;
                match c.local(id, &local) {
                    Ok(None) => {}
                    Ok(Some(compute)) => {
                        self.computes.push_back(compute);
                        return self.put_collective(id, c);
                    }
                    Err(error) => self.note_error(id, error),
                }
            }
            c.round += 1;
            c.step = 0;
            c.started = false;
        }
    }

    /// Lets collective `id`, which uses the staging copy `copy`, empty it at its end, or at once if it has ended
    /// already. False: there is no such collective.
    pub fn stage(&mut self, id: ReqId, copy: Arc<dyn Staged>) -> bool {
        match self.inbox.requests.get_mut(id) {
            Some(request) if request.done => copy.empty(),
            Some(request) => match &mut request.op {
                Operation::Collective(Some(c)) => c.plan.staged.add(copy),
                _ => return false,
            },
            None => return false,
        }
        true
    }

    fn take_collective(&mut self, id: ReqId) -> Option<Box<Collective>> {
        match self.inbox.requests.get_mut(id).map(|r| &mut r.op) {
            Some(Operation::Collective(place)) => place.take(),
            _ => None,
        }
    }

    fn put_collective(&mut self, id: ReqId, c: Box<Collective>) {
        if let Some(r) = self.inbox.requests.get_mut(id) {
            r.op = Operation::Collective(Some(c));
        }
    }

    /// Starts the messages of a round. Returns how many of them are not complete yet.
    fn start_round(&mut self, id: ReqId, c: &Collective, comms: &[Message]) -> u32 {
        let context = c.comm.context(c.memory.channel);
        let mut pending = 0;
        let fails = self.inbox.failures && self.has_error(id);
        for message in comms {
            match message {
                Message::Send { to, block } => {
                    let Some(dst) = self.member(id, c, *to) else { continue };
                    let place = c.memory.locate(&c.plan.data, block);
                    let more = if fails { twice(place.ty) } else { None };
                    let ty = more.as_ref().unwrap_or(place.ty);
                    let m = Outgoing { buf: place.address, count: block.count, ty };
                    // SAFETY: the block lies in a buffer of the program or of `memory`, both of
                    // which live until the collective is complete.
                    let started =
                        unsafe { self.send(m, dst, context, c.tag, Mode::Standard, Some(id)) };
                    pending += u32::from(started != Started::Done);
                }
                Message::Recv { from, block } => {
                    let Some(src) = self.member(id, c, *from) else { continue };
                    let place = c.memory.locate(&c.plan.data, block);
                    let m = Incoming { buf: place.address, count: block.count, ty: place.ty };
                    let pattern = Pattern { src, tag: c.tag };
                    // SAFETY: as above.
                    let child =
                        unsafe { self.recv(m, &c.comm, c.memory.channel, pattern, Some(id)) };
                    // If the message had come already, the child request is complete and gone.
                    pending += u32::from(self.inbox.requests.get(child).is_some());
                }
            }
        }
        pending
    }

    /// Whether a member has died, so that no member gets to the end of this collective, and none need wait.
    #[inline]
    fn is_hopeless(&self, id: ReqId, c: &Collective) -> bool {
        self.inbox.failures
            && self.has_lost()
            && self.has_error(id)
            && self.lost_member(&c.comm).is_some()
    }

    #[cold]
    fn has_error(&self, id: ReqId) -> bool {
        self.inbox.requests.get(id).is_some_and(|r| r.error.is_some())
    }

    fn member(&mut self, id: ReqId, c: &Collective, peer: Peer) -> Option<Rank> {
        let found = match peer {
            Peer::Local(rank) => c.comm.group().process(rank),
            Peer::Remote(rank) => c.comm.remote_group().and_then(|g| g.process(rank)),
        };
        if found.is_none() {
            let text = format!("a schedule names {peer:?}, which the communicator does not have");
            self.note_error(id, Error::new(crate::Class::Intern, text));
        }
        found
    }

    /// The next reduction that the caller has to run without holding the engine, if there is one.
    pub fn take_compute(&mut self) -> Option<Compute> {
        self.computes.pop_front()
    }

    /// `compute` has run: its collective goes on.
    pub fn computed(&mut self, compute: Compute) {
        if let Err(error) = compute.outcome {
            self.note_error(compute.id, error);
        }
        self.advance_collective(compute.id);
    }

    /// Keeps the first error of a collective. The collective goes on, so that nobody waits for this member in vain.
    fn note_error(&mut self, id: ReqId, error: Error) {
        self.inbox.failures = true;
        if let Some(r) = self.inbox.requests.get_mut(id) {
            r.error.get_or_insert(Box::new(error));
        }
    }
}

/// A datatype that sends each element twice. A member that has found an error uses it for its messages: they do not
/// fit in the receivers' buffers, so the receivers find an error, too, and pass it on.
#[cold]
fn twice(ty: &Arc<Datatype>) -> Option<Arc<Datatype>> {
    let both = Datatype::hindexed(&[1, 1], &[0, 0], ty).ok()?;
    Datatype::resized(ty.lb(), ty.extent(), &both).ok()
}

impl Collective {
    /// The communicator it runs on.
    pub fn comm(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// The name of the MPI function that started it; empty if the library itself did.
    pub fn name(&self) -> &'static str {
        self.plan.name
    }

    /// A context of the communicator.
    pub(crate) fn context(&self) -> u32 {
        self.comm.base_context()
    }

    /// The next local step of the round.
    fn next_local(&self) -> Option<Local> {
        self.plan.schedule.round(self.round)?.locals.get(self.step).copied()
    }

    /// Does one local step. A reduction by a function of the program is returned instead.
    fn local(&self, id: ReqId, step: &Local) -> Result<Option<Compute>> {
        let data = &self.plan.data;
        match step {
            Local::Copy { from, to } => {
                let (source, target) =
                    (self.memory.locate(data, from), self.memory.locate(data, to));
                // SAFETY: both blocks lie in live buffers; schedules never overlap them.
                unsafe {
                    crate::datatype::copy(
                        source.address,
                        from.count,
                        source.ty,
                        target.address,
                        to.count,
                        target.ty,
                    );
                }
                Ok(None)
            }
            Local::Reduce { input, inout } => {
                let Some(op) = &self.plan.op else { return Err(crate::Class::Intern.into()) };
                let (a, b) = (self.memory.locate(data, input), self.memory.locate(data, inout));
                if matches!(**op, Op::User(_)) {
                    return Ok(Some(Compute {
                        id,
                        op: op.clone(),
                        input: a.address,
                        inout: b.address,
                        count: inout.count,
                        ty: b.ty.clone(),
                        outcome: Ok(()),
                    }));
                }
                // SAFETY: both blocks hold `count` elements and do not overlap.
                unsafe { op.apply(a.address, b.address, inout.count, b.ty)? };
                Ok(None)
            }
        }
    }
}
