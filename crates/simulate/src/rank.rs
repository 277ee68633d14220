//! One rank: a whole engine, and the calls that it makes one after the other.

use crate::end::End;
use crate::error::Error;
use crate::net::Net;
use crate::program::{Call, Program};
use crate::time::Time;
use core::cell::RefCell;
use hpvm_mpi::coll::shm::{Shm, ShmCollective, Sides, What};
use hpvm_mpi::coll::{Combine, Plan, Root};
use hpvm_mpi::datatype::{Datatype, TypeRef};
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::op::{Op, Predef};
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Comm, Process, ReqId};
use std::rc::Rc;
use std::sync::Arc;

/// The handle value of `MPI_UINT64_T`.
const UINT64_T: usize = 0x259;

/// A collective under way, by shared memory or by messages.
enum Way {
    /// And what is done if it has to go by messages after all.
    Shm(Box<(Shm<'static>, Plan)>),
    Messages(ReqId),
}

enum Running {
    Collective(Call, Way),
    /// A blocking send or receive, or a wait for all that was started.
    Requests,
}

pub(crate) struct Rank {
    /// Before what it borrows, and before the buffers that it writes to.
    running: Option<Running>,
    pub process: Process<End>,
    /// At an address that does not change: what runs borrows it.
    #[expect(
        clippy::redundant_allocation,
        reason = "what runs borrows the handle, not the communicator"
    )]
    world: Box<Arc<Comm>>,
    net: Rc<RefCell<Net>>,
    program: Rc<dyn Program>,
    step: usize,
    requests: Vec<ReqId>,
    send: Vec<u64>,
    recv: Vec<u64>,
    /// Of the messages that are under way.
    buffers: Vec<Box<[u8]>>,
    pub marks: Vec<Time>,
    rank: u32,
}

/// Reads `size` numbers' type.
fn numbers() -> Result<&'static Arc<Datatype>, Error> {
    Datatype::predefined(UINT64_T).ok_or_else(|| Error::new("MPI_UINT64_T is missing"))
}

impl Rank {
    pub fn new(process: Process<End>, net: Rc<RefCell<Net>>, program: Rc<dyn Program>) -> Rank {
        let (world, rank) = (Box::new(process.world().clone()), process.fm().rank());
        Rank {
            running: None,
            process,
            world,
            net,
            program,
            step: 0,
            requests: Vec::new(),
            send: Vec::new(),
            recv: Vec::new(),
            buffers: Vec::new(),
            marks: Vec::new(),
            rank,
        }
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
                Running::Collective(call, way) => self.poll(call, way)?,
                Running::Requests => self.collect()?,
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
            Call::Waitall => self.running = Some(Running::Requests),
            Call::Isend { to, bytes, tag } => self.start_send(to, bytes, tag)?,
            Call::Irecv { from, bytes, tag } => self.start_recv(from, bytes, tag)?,
            Call::Send { to, bytes, tag } => {
                self.start_send(to, bytes, tag)?;
                self.running = Some(Running::Requests);
            }
            Call::Recv { from, bytes, tag } => {
                self.start_recv(from, bytes, tag)?;
                self.running = Some(Running::Requests);
            }
            Call::Barrier | Call::Allreduce(_) | Call::Alltoall(_) | Call::Bcast(..) => {
                self.start_collective(call)?;
            }
        }
        Ok(())
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

    fn start_send(&mut self, to: u32, bytes: usize, tag: i32) -> Result<(), Error> {
        self.check_rank(to)?;
        let buffer = vec![tag as u8; bytes].into_boxed_slice();
        let message = Outgoing { buf: buffer.as_ptr(), count: bytes as i64, ty: Datatype::byte() };
        self.buffers.push(buffer);
        let context = self.world.context(Channel::User);
        // SAFETY: the buffer is kept until its request has ended (`collect`).
        let started = unsafe { self.process.send(message, to, context, tag, Mode::Standard, None) };
        if let Started::Pending(id) = started {
            self.requests.push(id);
        }
        Ok(())
    }

    fn start_recv(&mut self, from: u32, bytes: usize, tag: i32) -> Result<(), Error> {
        self.check_rank(from)?;
        let mut buffer = vec![!tag as u8; bytes].into_boxed_slice();
        let message =
            Incoming { buf: buffer.as_mut_ptr(), count: bytes as i64, ty: Datatype::byte() };
        self.buffers.push(buffer);
        let pattern = Pattern { src: from, tag };
        // SAFETY: the buffer is kept until its request has ended (`collect`).
        let id = unsafe { self.process.recv(message, &self.world, Channel::User, pattern, None) };
        self.requests.push(id);
        Ok(())
    }

    /// Looks at what was started; true when all of it has ended.
    fn collect(&mut self) -> Result<bool, Error> {
        let (process, mut failed) = (&mut self.process, None);
        self.requests.retain(|id| match process.take_outcome(*id) {
            None => true,
            Some(outcome) => {
                failed = failed.take().or(outcome.error);
                false
            }
        });
        if let Some(error) = failed {
            return Err(Error::new(format!("rank {}: {error}", self.rank)));
        }
        match self.requests.is_empty() {
            true => self.buffers.clear(),
            false => self.running = Some(Running::Requests),
        }
        Ok(self.running.is_none())
    }

    fn start_collective(&mut self, call: Call) -> Result<(), Error> {
        self.fill(call);
        let (bytes, what, plan) = self.plan(call)?;
        self.net.borrow_mut().place(self.rank).shows = bytes.min(u64::from(u32::MAX)) as u32;
        let slot_work = self.net.borrow().machine.slot_work;
        // SAFETY: the communicator is boxed and outlives `running`, which is dropped first and names it no longer than
        // this rank lives.
        let world: &'static Arc<Comm> = unsafe { &*core::ptr::from_ref(&*self.world) };
        if self.process.may_use_slots(world) {
            // SAFETY: the buffers belong to this rank and stay until the collective has ended.
            let begun = unsafe { self.process.begin_shm(world, what, bytes) };
            if let Some(shm) = begun.map_err(|e| self.said(call, &e))? {
                self.net.borrow_mut().work(self.rank, slot_work);
                self.running = Some(Running::Collective(call, Way::Shm(Box::new((shm, plan)))));
                return Ok(());
            }
        }
        // SAFETY: as above.
        let id = unsafe { self.process.start_collective(world, plan) };
        self.running = Some(Running::Collective(call, Way::Messages(id)));
        Ok(())
    }

    /// Goes on with a collective; true when it has ended.
    fn poll(&mut self, call: Call, way: Way) -> Result<bool, Error> {
        match way {
            Way::Shm(mut under_way) => {
                let (shm, _) = &mut *under_way;
                let done = shm.poll(&mut self.process).map_err(|e| self.said(call, &e))?;
                if !done {
                    if shm.lacks_room() {
                        // No bell tells when there is room.
                        let mut net = self.net.borrow_mut();
                        let at = net.now + net.machine.slot.max(crate::time::NS);
                        net.look(self.rank, at);
                    }
                    self.running = Some(Running::Collective(call, Way::Shm(under_way)));
                    return Ok(false);
                }
                self.net.borrow_mut().has_read(self.rank);
                if shm.goes_by_messages() {
                    let (world, plan) = (&self.world, under_way.1);
                    // SAFETY: as in `start_collective`.
                    let id = unsafe { self.process.start_collective(world, plan) };
                    self.running = Some(Running::Collective(call, Way::Messages(id)));
                    return Ok(true);
                }
            }
            Way::Messages(id) => match self.process.take_outcome(id) {
                None => {
                    self.running = Some(Running::Collective(call, Way::Messages(id)));
                    return Ok(false);
                }
                Some(outcome) => {
                    if let Some(error) = outcome.error {
                        return Err(self.said(call, &error));
                    }
                }
            },
        }
        self.check(call)?;
        Ok(true)
    }

    fn said(&self, call: Call, error: &hpvm_mpi::Error) -> Error {
        Error::new(format!("rank {}: {call:?}: {error}", self.rank))
    }

    /// Room for a collective, and what this rank gives.
    fn fill(&mut self, call: Call) {
        let (me, size) = (u64::from(self.rank), self.world.size() as usize);
        let words = |bytes: usize| bytes.div_ceil(8);
        let (send, recv) = match call {
            Call::Allreduce(bytes) => (words(bytes), words(bytes)),
            Call::Alltoall(bytes) => (words(bytes * size), words(bytes * size)),
            Call::Bcast(_, bytes) => (0, words(bytes)),
            _ => (0, 0),
        };
        self.send.clear();
        self.send.resize(send, me + 1);
        self.recv.clear();
        let first = match call {
            Call::Bcast(root, _) if root == self.rank => 7,
            _ => 0,
        };
        self.recv.resize(recv, first);
    }

    /// Whether the collective that has ended gave what it should.
    fn check(&self, call: Call) -> Result<(), Error> {
        let size = u64::from(self.world.size());
        let right = match call {
            Call::Allreduce(_) => self.recv.iter().all(|n| *n == size * (size + 1) / 2),
            Call::Alltoall(bytes) if bytes % 8 == 0 => {
                let words = (bytes / 8).max(1);
                (1..).zip(self.recv.chunks(words)).all(|(n, c)| c.iter().all(|word| *word == n))
            }
            Call::Bcast(..) => self.recv.iter().all(|n| *n == 7),
            _ => true,
        };
        match right {
            true => Ok(()),
            false => Err(Error::new(format!("rank {}: {call:?} gave other data", self.rank))),
        }
    }

    /// What a member shows of a collective, the collective for shared memory, and its plan for messages.
    fn plan(&mut self, call: Call) -> Result<(u64, What, Plan), Error> {
        let (byte, recv) = (Datatype::byte(), self.recv.as_mut_ptr().cast::<u8>());
        let send = self.send.as_ptr().cast::<u8>();
        let planner = self.process.plan(&self.world);
        Ok(match call {
            Call::Allreduce(bytes) => {
                let (count, ty) = (bytes / 8, numbers()?);
                let op = Arc::new(Op::Predefined(Predef::Sum));
                let predefined = ty.as_predefined();
                let what = What::Reduce {
                    root: None,
                    send,
                    recv,
                    count,
                    bytes,
                    ty: predefined.ok_or_else(|| Error::new("MPI_UINT64_T is derived"))?,
                    op: Predef::Sum,
                };
                let combine = Combine { count: count as i64, ty, op: &op };
                (bytes as u64, what, planner.allreduce(Some(send), recv, combine))
            }
            Call::Alltoall(bytes) => {
                let count = bytes as i64;
                let sides = Sides {
                    send: Some(send),
                    send_count: count,
                    send_ty: TypeRef::new(byte),
                    recv,
                    recv_count: count,
                    recv_ty: TypeRef::new(byte),
                };
                let out = Outgoing { buf: send, count, ty: byte };
                let into = Incoming { buf: recv, count, ty: byte };
                let all = bytes as u64 * u64::from(self.world.size());
                (all, What::Alltoall(sides), planner.alltoall(Some(out), into))
            }
            Call::Bcast(root, bytes) => {
                let count = bytes as i64;
                let what = What::Bcast { root, buf: recv, count, ty: TypeRef::new(byte) };
                let m = Incoming { buf: recv, count, ty: byte };
                (bytes as u64, what, planner.bcast(Root::Rank(root), m))
            }
            _ => (1, What::Barrier, planner.barrier()),
        })
    }
}

enum Advance {
    Worked,
    Waits,
    Done,
}
