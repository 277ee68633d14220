//! One rank: a whole engine, and the calls that it makes one after the other.

use crate::end::End;
use crate::error::Error;
use crate::net::Net;
use crate::program::{Call, Collective, Kind, Program};
use crate::time::Time;
use core::cell::RefCell;
use hpvm_mpi::coll::shm::{BlockBuffers, CollArgs, ShmCollective, ShmOperation};
use hpvm_mpi::coll::{Combine, Plan, Root};
use hpvm_mpi::comm::CONTEXTS;
use hpvm_mpi::datatype::{Datatype, TypeRef};
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::op::{Op, Predef};
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Comm, Group, Process, ReqId};
use std::rc::Rc;
use std::sync::Arc;

/// The handle value of `MPI_UINT64_T`.
const UINT64_T: usize = 0x259;

/// A collective under way, by shared memory or by messages.
enum Way {
    /// And what is done if it has to go by messages after all.
    ShmOperation(Box<(ShmOperation<'static>, Plan)>),
    Messages(ReqId),
}

enum Running {
    Collective(Collective, Way, Blocks),
    /// A wait for what was started: one request by its number, or all.
    Requests(Option<u64>),
}

/// What a rank gives to a collective, and room for what it gets.
#[derive(Default)]
struct Blocks {
    send: Vec<u64>,
    recv: Vec<u64>,
}

/// What an operation under way reads or writes: it stays where it is until the operation has ended.
enum Kept {
    Message { _bytes: Box<[u8]> },
    Collective(Collective, Blocks),
}

/// An operation under way.
struct Request {
    number: u64,
    id: ReqId,
    kept: Kept,
}

/// The number of what a blocking call started, of which there is one at a time.
const BLOCKING: u64 = u64::MAX;

/// A communicator's handle at an address that does not change: what runs borrows the handle, not the communicator.
type Fixed = Box<Arc<Comm>>;

pub(crate) struct Rank {
    /// Before what it borrows, and before the buffers that it writes to.
    running: Option<Running>,
    pub process: Process<End>,
    world: Fixed,
    /// By the numbers of their groups.
    parts: Vec<(u32, Fixed)>,
    net: Rc<RefCell<Net>>,
    program: Rc<dyn Program>,
    step: usize,
    /// Non-blocking calls so far.
    started: u64,
    requests: Vec<Request>,
    pub marks: Vec<Time>,
    rank: u32,
}

/// Reads `size` numbers' type.
fn numbers() -> Result<&'static Arc<Datatype>, Error> {
    Datatype::predefined(UINT64_T).ok_or_else(|| Error::new("MPI_UINT64_T is missing"))
}

impl Rank {
    pub fn new(
        process: Process<End>,
        net: Rc<RefCell<Net>>,
        program: Rc<dyn Program>,
    ) -> Result<Rank, Error> {
        let (world, rank) = (Box::new(process.world().clone()), process.fm().rank());
        let part = |(number, ranks): (u32, Vec<u32>)| {
            let wrong = || Error::new(format!("rank {rank} is not in its group {number}"));
            // Three communicators have ids from the start.
            let context = (number + 2) * CONTEXTS;
            let comm = Comm::intra(context, Group::list(ranks), rank).ok_or_else(wrong)?;
            // Collective slots want an agreement of the members first.
            process.give_up_slots(&comm);
            Ok((number, Box::new(comm)))
        };
        let parts = program.groups(rank).into_iter().map(part).collect::<Result<_, Error>>()?;
        Ok(Rank {
            running: None,
            process,
            world,
            parts,
            net,
            program,
            step: 0,
            started: 0,
            requests: Vec::new(),
            marks: Vec::new(),
            rank,
        })
    }

    fn clock(&self) -> Time {
        self.net.borrow().places[self.rank as usize].clock
    }

    /// Goes on as far as possible. True: the program is through, and nothing of it waits to be sent.
    pub fn turn(&mut self) -> Result<bool, Error> {
        loop {
            let said = self.process.progress();
            let mut worked = said.map_err(|e| Error::new(format!("rank {}: {e}", self.rank)))?;
            match self.advance()? {
                Advance::Worked => worked = true,
                Advance::Waits => {}
                Advance::Done if !worked => return Ok(!self.process.has_backlog()),
                Advance::Done => {}
            }
            // A computation must not be done before what others do meanwhile has been seen.
            if !worked || self.clock() > self.net.borrow().now && self.computed() {
                return Ok(false);
            }
        }
    }

    /// Whether the call before was a computation: then time has to pass first.
    fn computed(&mut self) -> bool {
        let last = self.step.checked_sub(1).and_then(|at| self.program.call(self.rank, at));
        let computed = matches!(last, Some(Call::Compute(_)));
        if computed {
            let at = self.clock();
            self.net.borrow_mut().plan(self.rank, at);
        }
        computed
    }

    fn advance(&mut self) -> Result<Advance, Error> {
        if let Some(running) = self.running.take() {
            let ended = match running {
                Running::Collective(call, way, blocks) => self.poll(call, way, blocks)?,
                Running::Requests(which) => self.collect(which)?,
            };
            return Ok(if ended { Advance::Worked } else { Advance::Waits });
        }
        let Some(call) = self.program.call(self.rank, self.step) else {
            return Ok(Advance::Done);
        };
        self.step += 1;
        self.start(call)?;
        Ok(Advance::Worked)
    }

    fn start(&mut self, call: Call) -> Result<(), Error> {
        match call {
            Call::Mark => {
                let now = self.clock();
                self.marks.push(now);
            }
            Call::Compute(time) => self.net.borrow_mut().work(self.rank, time),
            Call::Waitall => self.running = Some(Running::Requests(None)),
            Call::Wait(back) => {
                let number = self.started.checked_sub(u64::from(back));
                self.running = number.map(|number| Running::Requests(Some(number)));
            }
            Call::Isend { to, bytes, tag } => {
                let number = self.number();
                self.start_send(to, bytes, tag, number)?;
            }
            Call::Irecv { from, bytes, tag } => {
                let number = self.number();
                self.start_recv(from, bytes, tag, number)?;
            }
            Call::Send { to, bytes, tag } => {
                self.start_send(to, bytes, tag, BLOCKING)?;
                self.running = Some(Running::Requests(Some(BLOCKING)));
            }
            Call::Recv { from, bytes, tag } => {
                self.start_recv(from, bytes, tag, BLOCKING)?;
                self.running = Some(Running::Requests(Some(BLOCKING)));
            }
            Call::Collective(call) => self.start_collective(call)?,
        }
        Ok(())
    }

    /// Of the next non-blocking call.
    fn number(&mut self) -> u64 {
        self.started += 1;
        self.started - 1
    }

    fn check_rank(&self, rank: u32) -> Result<(), Error> {
        match rank < self.world.size() {
            true => Ok(()),
            false => Err(Error::new(format!(
                "rank {} names rank {rank}; there are {}",
                self.rank,
                self.world.size()
            ))),
        }
    }

    fn start_send(&mut self, to: u32, bytes: usize, tag: i32, number: u64) -> Result<(), Error> {
        self.check_rank(to)?;
        let buffer = vec![tag as u8; bytes].into_boxed_slice();
        let message = Outgoing { buf: buffer.as_ptr(), count: bytes as i64, ty: Datatype::byte() };
        let context = self.world.context(Channel::User);
        // SAFETY: the buffer is kept until its request has ended (`collect`).
        let started = unsafe { self.process.send(message, to, context, tag, Mode::Standard, None) };
        if let Started::Pending(id) = started {
            let kept = Kept::Message { _bytes: buffer };
            self.requests.push(Request { number, id, kept });
        }
        Ok(())
    }

    fn start_recv(&mut self, from: u32, bytes: usize, tag: i32, number: u64) -> Result<(), Error> {
        self.check_rank(from)?;
        let mut buffer = vec![!tag as u8; bytes].into_boxed_slice();
        let message =
            Incoming { buf: buffer.as_mut_ptr(), count: bytes as i64, ty: Datatype::byte() };
        let pattern = Pattern { src: from, tag };
        // SAFETY: the buffer is kept until its request has ended (`collect`).
        let id = unsafe { self.process.recv(message, &self.world, Channel::User, pattern, None) };
        self.requests.push(Request { number, id, kept: Kept::Message { _bytes: buffer } });
        Ok(())
    }

    /// Looks at what was started; true when what is waited for has ended.
    fn collect(&mut self, which: Option<u64>) -> Result<bool, Error> {
        let (mut under_way, mut failed) = (Vec::new(), None);
        for request in core::mem::take(&mut self.requests) {
            match (self.process.take_outcome(request.id), request.kept) {
                (None, kept) => under_way.push(Request { kept, ..request }),
                (Some(outcome), kept) => {
                    failed = failed.take().or(outcome.error);
                    if let (Kept::Collective(call, blocks), None) = (kept, &failed) {
                        self.check(call, &blocks)?;
                    }
                }
            }
        }
        self.requests = under_way;
        if let Some(error) = failed {
            return Err(Error::new(format!("rank {}: {error}", self.rank)));
        }
        let waits = |request: &Request| which.is_none_or(|number| request.number == number);
        if self.requests.iter().any(waits) {
            self.running = Some(Running::Requests(which));
        }
        Ok(self.running.is_none())
    }

    /// Those who take part.
    fn comm(&self, call: Collective) -> Result<&Fixed, Error> {
        if call.group == 0 {
            return Ok(&self.world);
        }
        let found = self.parts.iter().find(|(number, _)| *number == call.group);
        let missing = || Error::new(format!("rank {} is in no group {}", self.rank, call.group));
        found.map(|(_, comm)| comm).ok_or_else(missing)
    }

    fn start_collective(&mut self, call: Collective) -> Result<(), Error> {
        let comm = self.comm(call)?;
        if call.kind.has_root() && call.root >= comm.size() {
            let (root, size) = (call.root, comm.size());
            return Err(Error::new(format!("rank {}: root {root} of {size}", self.rank)));
        }
        // SAFETY: the communicator is boxed and outlives `running` and `process`, which are dropped first and name it no
        // longer than this rank lives.
        let comm: &'static Arc<Comm> = unsafe { &*core::ptr::from_ref(&**comm) };
        let mut blocks = blocks(call, comm);
        let (bytes, args, plan) = self.plan(call, comm, &mut blocks)?;
        let slots = args.filter(|_| !call.pending && self.process.may_use_slots(comm));
        if let Some(args) = slots {
            self.net.borrow_mut().place(self.rank).shows = bytes.min(u64::from(u32::MAX)) as u32;
            let slot_work = self.net.borrow().machine.slot_work;
            // SAFETY: the blocks belong to this rank and stay until the collective has ended.
            let begun = unsafe { self.process.begin_shm(comm, args, bytes) };
            if let Some(shm) = begun.map_err(|e| self.said(call, &e))? {
                self.net.borrow_mut().work(self.rank, slot_work);
                let way = Way::ShmOperation(Box::new((shm, plan)));
                self.running = Some(Running::Collective(call, way, blocks));
                return Ok(());
            }
        }
        // SAFETY: as above.
        let id = unsafe { self.process.start_collective(comm, plan) };
        if call.pending {
            let number = self.number();
            self.requests.push(Request { number, id, kept: Kept::Collective(call, blocks) });
        } else {
            self.running = Some(Running::Collective(call, Way::Messages(id), blocks));
        }
        Ok(())
    }

    /// Goes on with a collective; true when it has ended.
    fn poll(&mut self, call: Collective, way: Way, blocks: Blocks) -> Result<bool, Error> {
        match way {
            Way::ShmOperation(mut under_way) => {
                let (shm, _) = &mut *under_way;
                let done = shm.poll(&mut self.process).map_err(|e| self.said(call, &e))?;
                if !done {
                    if shm.lacks_room() {
                        // No bell tells when there is room.
                        let mut net = self.net.borrow_mut();
                        let at = net.now + net.machine.slot.max(crate::time::NS);
                        net.look(self.rank, at);
                    }
                    self.running =
                        Some(Running::Collective(call, Way::ShmOperation(under_way), blocks));
                    return Ok(false);
                }
                self.net.borrow_mut().has_read(self.rank);
                if shm.goes_by_messages() {
                    let (world, plan) = (&self.world, under_way.1);
                    // SAFETY: as in `start_collective`.
                    let id = unsafe { self.process.start_collective(world, plan) };
                    self.running = Some(Running::Collective(call, Way::Messages(id), blocks));
                    return Ok(true);
                }
            }
            Way::Messages(id) => match self.process.take_outcome(id) {
                None => {
                    self.running = Some(Running::Collective(call, Way::Messages(id), blocks));
                    return Ok(false);
                }
                Some(outcome) => {
                    if let Some(error) = outcome.error {
                        return Err(self.said(call, &error));
                    }
                }
            },
        }
        self.check(call, &blocks)?;
        Ok(true)
    }

    fn said(&self, call: Collective, error: &hpvm_mpi::Error) -> Error {
        Error::new(format!("rank {}: {call:?}: {error}", self.rank))
    }

    /// Whether the collective that has ended gave what it should.
    fn check(&self, call: Collective, blocks: &Blocks) -> Result<(), Error> {
        let comm = self.comm(call)?;
        let (me, size, root) = (comm.rank(), u64::from(comm.size()), u64::from(call.root));
        let all = |number: u64| blocks.recv.iter().all(|word| *word == number);
        let in_turn = || {
            let words = (call.bytes / 8).max(1);
            !call.bytes.is_multiple_of(8)
                || (1..)
                    .zip(blocks.recv.chunks(words))
                    .all(|(n, block)| block.iter().all(|word| *word == n))
        };
        let right = match call.kind {
            Kind::Allreduce | Kind::ReduceScatter | Kind::Reduce => all(size * (size + 1) / 2),
            Kind::Scan => all(u64::from(me + 1) * u64::from(me + 2) / 2),
            Kind::Bcast | Kind::Scatter => all(root + 1),
            Kind::Alltoall | Kind::Allgather | Kind::Gather => in_turn(),
            Kind::Barrier => true,
        };
        match right {
            true => Ok(()),
            false => Err(Error::new(format!("rank {}: {call:?} gave other data", self.rank))),
        }
    }

    /// What a member shows of a collective, the collective for shared memory where it has one, and its plan for messages.
    fn plan(
        &self,
        call: Collective,
        comm: &Comm,
        blocks: &mut Blocks,
    ) -> Result<(u64, Option<CollArgs>, Plan), Error> {
        let byte = Datatype::byte();
        let (send, recv) = (blocks.send.as_ptr().cast(), blocks.recv.as_mut_ptr().cast());
        let (planner, root, count) = (self.process.plan(comm), call.root, call.bytes as i64);
        let all = call.bytes as u64 * u64::from(comm.size());
        let out = Outgoing { buf: send, count, ty: byte };
        let into = Incoming { buf: recv, count, ty: byte };
        let buffers = || BlockBuffers {
            send: Some(send),
            send_count: count,
            send_ty: TypeRef::new(byte),
            recv,
            recv_count: count,
            recv_ty: TypeRef::new(byte),
        };
        Ok(match call.kind {
            Kind::Barrier => (1, Some(CollArgs::Barrier), planner.barrier()),
            Kind::Bcast => {
                let args = CollArgs::Bcast { root, buf: recv, count, ty: TypeRef::new(byte) };
                (call.bytes as u64, Some(args), planner.bcast(Root::Rank(root), into))
            }
            Kind::Allgather => {
                let args = CollArgs::Allgather(buffers());
                (call.bytes as u64, Some(args), planner.allgather(Some(out), into))
            }
            Kind::Alltoall => {
                (all, Some(CollArgs::Alltoall(buffers())), planner.alltoall(Some(out), into))
            }
            Kind::Gather => {
                let args = CollArgs::Gather { root, buffers: buffers() };
                let plan = planner.gather(Root::Rank(root), Some(out), Some(into));
                (call.bytes as u64, Some(args), plan)
            }
            Kind::Scatter => {
                let args = CollArgs::Scatter { root, buffers: buffers(), in_place: false };
                let plan = planner.scatter(Root::Rank(root), Some(out), Some(into));
                (all, Some(args), plan)
            }
            Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter | Kind::Scan => {
                let (count, ty) = (call.bytes / 8, numbers()?);
                let op = Arc::new(Op::Predefined(Predef::Sum));
                let combine = Combine { count: count as i64, ty, op: &op };
                let predefined = ty.as_predefined();
                let args = CollArgs::Reduce {
                    root: (call.kind == Kind::Reduce).then_some(root),
                    send,
                    recv,
                    count,
                    bytes: call.bytes,
                    ty: predefined.ok_or_else(|| Error::new("MPI_UINT64_T is derived"))?,
                    op: Predef::Sum,
                };
                let (args, plan) = match call.kind {
                    Kind::Reduce => {
                        (Some(args), planner.reduce(Root::Rank(root), Some(send), recv, combine))
                    }
                    Kind::Allreduce => (Some(args), planner.allreduce(Some(send), recv, combine)),
                    Kind::Scan => (None, planner.scan(Some(send), recv, combine)),
                    _ => (None, planner.reduce_scatter_block(Some(send), recv, combine)),
                };
                (call.bytes as u64, args, plan)
            }
        })
    }
}

/// Room for a collective, and what this rank gives: its number from 1 on, everywhere.
fn blocks(call: Collective, comm: &Comm) -> Blocks {
    let (size, me) = (comm.size() as usize, comm.rank());
    let is_root = me == call.root;
    let words = |blocks: usize| (call.bytes * blocks).div_ceil(8);
    let (send, recv) = match call.kind {
        Kind::Barrier => (0, 0),
        Kind::Bcast => (0, words(1)),
        Kind::Reduce => (words(1), if is_root { words(1) } else { 0 }),
        Kind::Allreduce | Kind::Scan => (words(1), words(1)),
        Kind::ReduceScatter => (words(size), words(1)),
        Kind::Gather => (words(1), if is_root { words(size) } else { 0 }),
        Kind::Scatter => (if is_root { words(size) } else { 0 }, words(1)),
        Kind::Allgather => (words(1), words(size)),
        Kind::Alltoall => (words(size), words(size)),
    };
    let own = u64::from(me) + 1;
    let first = if call.kind == Kind::Bcast && is_root { own } else { 0 };
    Blocks { send: vec![own; send], recv: vec![first; recv] }
}

enum Advance {
    Worked,
    Waits,
    Done,
}
