//! Requests: operations that have been started (MPI 5.0, section 3.7).
//!
//! All requests live in one table. A [`ReqId`] names an entry of the table and a generation, so an id that a program or a
//! peer made up, or that was freed, is recognised.

use crate::coll::Collective;
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::engine::buffer::packed_size;
use crate::engine::matching::Pattern;
use crate::engine::several::Several;
use crate::error::{Class, Error};
use crate::pt2pt::cancel::Cancelling;
use crate::pt2pt::select::ReceiveMethod;
use crate::status::Status;
use hpvm_fm::{Exposed, Rank};
use std::sync::Arc;

/// Names a request of this process. The number fits a handle and travels in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReqId(u64);

impl ReqId {
    fn new(index: u32, generation: u32) -> ReqId {
        ReqId(u64::from(generation) << 32 | u64::from(index))
    }

    /// Makes an id of a number that a program or a peer alleges to be one; [`Requests::get`] checks it.
    pub fn from_number(number: u64) -> ReqId {
        ReqId(number)
    }

    pub fn number(self) -> u64 {
        self.0
    }

    fn index(self) -> usize {
        self.0 as u32 as usize
    }
}

/// What a request does.
#[derive(Debug)]
pub enum Operation {
    /// Nothing any more; the status says how the operation ended.
    Complete,
    Send(SendOp),
    Recv(RecvOp),
    /// A collective; taken out of its entry while it advances.
    Collective(Option<Box<Collective>>),
    /// A request of several parts, which waits for the requests that are its parts.
    Several(Several),
    /// An operation that the program completes (`MPI_Grequest_complete`).
    External,
}

/// Parameters of a send that has not ended yet.
#[derive(Debug)]
pub struct SendOp {
    pub buf: *const u8,
    pub count: i64,
    pub ty: Arc<Datatype>,
    pub dst: Rank,
    /// Context id and tag.
    pub envelope: u64,
    pub synchronous: bool,
    /// The message is a stream: the transport reads the buffer until it says that the stream has ended.
    pub streaming: bool,
    /// The receiver has asked for the message (CTS), which it may do only once.
    pub asked: bool,
    /// The message has been announced, and the receiver may be reading the buffer.
    pub offered: bool,
    /// The message has been exposed to the receiver's card, under the request's number.
    pub exposed: bool,
    /// How far `MPI_Cancel` has come.
    pub(crate) cancelling: Cancelling,
    /// The library's copy of the message, if there is one (`MPI_Bsend`); `buf` points into it.
    pub copy: Option<Box<[u8]>>,
}

/// Parameters of a receive that has not ended yet.
#[derive(Debug)]
pub struct RecvOp {
    pub buf: *mut u8,
    pub count: i64,
    pub ty: Arc<Datatype>,
    pub comm: Arc<Comm>,
    pub context: u32,
    pub pattern: Pattern,
    /// The transfer, once the receive has matched an announcement.
    pub transfer: Option<Box<Transfer>>,
}

impl Operation {
    fn context(&self) -> Option<u32> {
        match self {
            Operation::Send(op) => Some((op.envelope >> 32) as u32),
            Operation::Recv(op) => Some(op.context),
            Operation::Collective(Some(c)) => Some(c.context()),
            Operation::Several(s) => Some(s.context()),
            _ => None,
        }
    }
}

impl SendOp {
    /// Packed bytes of the message.
    pub fn packed_size(&self) -> u64 {
        packed_size(&self.ty, self.count)
    }
}

impl RecvOp {
    /// Packed bytes that the buffer can take.
    pub fn packed_size(&self) -> u64 {
        packed_size(&self.ty, self.count)
    }
}

/// An announced message that the receiver is fetching.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub src: Rank,
    /// The sender's request.
    pub request: u64,
    /// Packed bytes of the message.
    pub len: u64,
    /// Packed bytes that have come.
    pub done: u64,
    /// Address of the message in the sender's memory; 0 if it is not one run there.
    pub address: u64,
    /// What a card needs to read the message, if the sender has exposed it.
    pub exposed: Option<Exposed>,
    /// The sender has opened a stream for the message.
    pub stream_opened: bool,
    /// An attempt to read the sender's memory has been refused.
    pub unreadable: bool,
    /// The method by which the message is fetched, once it has been chosen.
    pub method: Option<ReceiveMethod>,
}

impl Transfer {
    /// The transport writes into the receive buffer until it says that it has ended.
    pub fn is_moved_by_transport(&self) -> bool {
        matches!(self.method, Some(ReceiveMethod::Stream | ReceiveMethod::RdmaRead))
    }
}

/// One request.
#[derive(Debug)]
pub struct Request {
    generation: u32,
    pub done: bool,
    /// Nobody will ask for the outcome: the entry is freed on completion.
    pub detached: bool,
    pub status: Status,
    pub error: Option<Box<Error>>,
    /// The request that waits for this one, which is freed on completion.
    pub parent: Option<ReqId>,
    /// A context of the communicator it belongs to, for error handlers.
    pub context: Option<u32>,
    pub op: Operation,
}

/// The table of requests.
#[derive(Debug, Default)]
pub struct Requests {
    entries: Vec<Request>,
    free: Vec<u32>,
    live: usize,
    /// References that ended receives have held, kept for later receives: most receives are like the last ones, and counting
    /// references would take four locked instructions for each.
    spare: Vec<(Arc<Comm>, Arc<Datatype>)>,
}

/// Number of such pairs of a communicator and a datatype that are kept.
const SPARE: usize = 64;

impl Requests {
    /// Bytes of the table.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Request>()
            + self.free.capacity() * size_of::<u32>()
            + self.spare.capacity() * size_of::<(Arc<Comm>, Arc<Datatype>)>()
    }

    /// A new request that is not complete.
    #[inline]
    pub fn insert(&mut self, op: Operation, parent: Option<ReqId>) -> ReqId {
        self.live += 1;
        let Some(index) = self.free.pop() else { return self.grow(op, parent) };
        let entry = &mut self.entries[index as usize];
        // Odd while live, even while free. Done, detached and error were reset when it was freed.
        entry.generation = entry.generation.wrapping_add(1);
        entry.status = Status::EMPTY;
        entry.parent = parent;
        entry.context = op.context();
        // What lies there is `Complete`, which owns nothing: no need to drop it.
        core::mem::forget(core::mem::replace(&mut entry.op, op));
        ReqId::new(index, entry.generation)
    }

    #[cold]
    fn grow(&mut self, op: Operation, parent: Option<ReqId>) -> ReqId {
        self.entries.push(Request {
            generation: 1,
            done: false,
            detached: false,
            status: Status::EMPTY,
            error: None,
            parent,
            context: op.context(),
            op,
        });
        ReqId::new((self.entries.len() - 1) as u32, 1)
    }

    /// References to `comm` and `ty` for a receive.
    #[inline]
    pub(crate) fn hold(
        &mut self,
        comm: &Arc<Comm>,
        ty: &Arc<Datatype>,
    ) -> (Arc<Comm>, Arc<Datatype>) {
        match self.spare.pop() {
            Some(held) if Arc::ptr_eq(&held.0, comm) && Arc::ptr_eq(&held.1, ty) => held,
            _ => (comm.clone(), ty.clone()),
        }
    }

    /// Nothing is held any more by receives that have ended: to be called when a communicator or a type
    /// is freed.
    pub fn hold_nothing(&mut self) {
        self.spare.clear();
    }

    /// Marks a request done and lets go what its operation held.
    #[inline]
    pub(crate) fn end(&mut self, id: ReqId) -> Option<&mut Request> {
        let Requests { entries, spare, .. } = self;
        let entry = entries.get_mut(id.index()).filter(|r| r.names(id))?;
        entry.done = true;
        match core::mem::replace(&mut entry.op, Operation::Complete) {
            Operation::Recv(op) if spare.len() < SPARE => spare.push((op.comm, op.ty)),
            other => drop(other),
        }
        Some(entry)
    }

    /// A request that was complete from the start.
    pub fn insert_done(&mut self, status: Status) -> ReqId {
        let id = self.insert(Operation::Complete, None);
        let entry = &mut self.entries[id.index()];
        entry.done = true;
        entry.status = status;
        id
    }

    #[inline]
    pub fn get(&self, id: ReqId) -> Option<&Request> {
        self.entries.get(id.index()).filter(|r| r.names(id))
    }

    #[inline]
    pub fn get_mut(&mut self, id: ReqId) -> Option<&mut Request> {
        self.entries.get_mut(id.index()).filter(|r| r.names(id))
    }

    /// The live request in a entry of the table.
    #[inline]
    pub fn at(&self, index: u32) -> Option<ReqId> {
        let request = self.entries.get(index as usize).filter(|r| r.live())?;
        Some(ReqId::new(index, request.generation))
    }

    /// Frees a request and returns what was in its entry.
    #[inline]
    pub fn remove(&mut self, id: ReqId) -> Option<Outcome> {
        let entry = self.get_mut(id)?;
        entry.generation = entry.generation.wrapping_add(1);
        (entry.done, entry.detached) = (false, false);
        if !matches!(entry.op, Operation::Complete) {
            entry.op = Operation::Complete;
        }
        let outcome =
            Outcome { status: entry.status, error: entry.error.take(), context: entry.context };
        self.free.push(id.index() as u32);
        self.live -= 1;
        Some(outcome)
    }

    /// Frees a request that is done and without error, and returns its status. `None`: it is not,
    /// and stays.
    #[inline]
    pub fn take_clean(&mut self, id: ReqId) -> Option<Status> {
        let entry = self.get_mut(id).filter(|r| r.done && r.error.is_none())?;
        let status = entry.status;
        entry.generation = entry.generation.wrapping_add(1);
        (entry.done, entry.detached) = (false, false);
        self.free.push(id.index() as u32);
        self.live -= 1;
        Some(status)
    }

    /// Requests that have not been freed.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Ids and requests that have not been freed, for diagnosis.
    pub fn iter(&self) -> impl Iterator<Item = (ReqId, &Request)> {
        let live = self.entries.iter().enumerate().filter(|(_, r)| r.live());
        live.map(|(i, r)| (ReqId::new(i as u32, r.generation), r))
    }
}

impl Request {
    fn live(&self) -> bool {
        self.generation % 2 == 1
    }

    /// Whether it is the one that `id`, which names its entry, was made for.
    fn names(&self, id: ReqId) -> bool {
        self.generation == (id.0 >> 32) as u32 && self.live()
    }
}

/// How a request ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: Status,
    pub error: Option<Box<Error>>,
    /// A context of the communicator that the operation was on.
    pub context: Option<u32>,
}

impl Outcome {
    pub const EMPTY: Outcome = Outcome { status: Status::EMPTY, error: None, context: None };

    /// The status, or the error.
    pub fn into_status(self) -> Result<Status, Error> {
        match self.error {
            None => Ok(self.status),
            Some(error) => Err(*error),
        }
    }

    /// The error class, `Success` if there was no error.
    pub fn class(&self) -> Class {
        self.error.as_ref().map_or(Class::Success, |e| e.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::group::Group;

    #[test]
    fn stale_and_made_up_ids_are_refused() {
        let mut t = Requests::default();
        let a = t.insert(Operation::External, None);
        assert!(t.get(a).is_some());
        assert!(t.remove(a).is_some());
        assert!(t.get(a).is_none() && t.remove(a).is_none());
        let b = t.insert_done(Status::EMPTY);
        assert_ne!(a, b);
        assert!(t.get(ReqId::from_number(b.number() + 1)).is_none());
        assert!(t.get(ReqId::from_number(2 << 32)).is_none(), "even generations are never live");
        assert_eq!(t.live(), 1);
    }

    #[test]
    fn what_an_ended_receive_held_serves_the_next_like_it() {
        let mut t = Requests::default();
        let comm = |context| Comm::intra(context, Group::run(0, 1), 0).unwrap();
        let (one, other) = (comm(0), comm(2));
        let ty = Datatype::byte();
        for comm in [&one, &one, &other] {
            let (held, ty) = t.hold(comm, ty);
            let id = t.insert(Operation::Recv(receive(held, ty)), None);
            assert!(t.end(id).is_some_and(|r| r.done));
            assert!(t.remove(id).is_some());
            assert_eq!(Arc::strong_count(comm), 2, "kept for the next");
        }
        assert_eq!((Arc::strong_count(&one), Arc::strong_count(&other)), (1, 2));
        t.hold_nothing();
        assert_eq!(Arc::strong_count(&other), 1);
    }

    fn receive(comm: Arc<Comm>, ty: Arc<Datatype>) -> RecvOp {
        let pattern = Pattern { src: 0, tag: 0 };
        let buf = core::ptr::null_mut();
        RecvOp { buf, count: 0, ty, comm, context: 0, pattern, transfer: None }
    }
}
