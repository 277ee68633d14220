//! A network interface (section 3.6): its objects, its limits, and who the others are.
//!
//! Calls of the program and what arrives go in, with a [`Carrier`] by which packets go out and memory is accessed. Events,
//! counts and what they trigger are dealt with before a call returns. Nothing in it blocks.

mod descriptor;
mod initiate;
mod outcome;
mod reply;
mod table;
mod target;

use descriptor::Descriptor;
pub use descriptor::MdOptions;
pub use initiate::{Ack, Get, Local, Put, Request, Verb};
use table::Start;
pub use table::{Appended, PtOptions};
pub use target::discard;

use crate::carrier::{Carrier, Transfer};
use crate::counters::{Count, Counters, Triggered};
use crate::event::{Effect, NiFail, Register};
use crate::fault::{Fault, Result};
use crate::handle::{Handle, Kind};
use crate::limits::Limits;
use crate::message::Process;
use crate::queue::{FullEvent, Queue};
use crate::slab::{Id, Slab};
use crate::wire::{Head, Kind as Packet, Malformed, Reply};
use std::collections::VecDeque;
use std::sync::Arc;

/// A process of the job, as the carrier numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub nid: u32,
    pub pid: u32,
    pub uid: u32,
}

/// `PTL_RANK_ANY`, `PTL_UID_ANY`.
pub const ANY: u32 = u32::MAX;
/// `PTL_NID_ANY`, `PTL_PID_ANY`.
pub const ANY_ID: u32 = 0xffff;
/// `PTL_PT_ANY`.
pub const ANY_INDEX: u32 = u32::MAX;

/// Whom an operation is for, as the program says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Physical { nid: u32, pid: u32 },
    Logical(u32),
}

/// Which of the four interfaces of a process it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    pub matching: bool,
    pub logical: bool,
}

impl Nature {
    /// 0 to 3.
    pub fn number(self) -> u8 {
        u8::from(self.matching) | u8::from(self.logical) << 1
    }
}

pub struct Interface {
    nature: Nature,
    generation: u32,
    limits: Limits,
    me: u32,
    peers: Arc<[Peer]>,
    /// The map of a logical interface as the program gave it, the peer of each rank, and the rank of each peer.
    map: Vec<(u32, u32)>,
    peer_of: Vec<u32>,
    rank_of: Vec<u32>,
    queues: Slab<Queue>,
    counters: Counters<Start>,
    descriptors: Slab<Descriptor>,
    portals: Vec<Option<table::Index>>,
    entries: Slab<table::Link>,
    /// Operations of this process that are not over, and those of others whose data moves.
    pending: Slab<initiate::Pending>,
    moving: Slab<target::Moving>,
    /// Pushes of this process whose data has not left.
    pushing: usize,
    unexpected_headers: usize,
    status: [i32; 3],
    effects: Vec<Effect>,
    due: VecDeque<Start>,
    /// Old bytes of an atomic operation.
    scratch: Vec<u8>,
    news: bool,
}

impl Interface {
    /// `generation` tells interfaces of the same nature apart that follow each other.
    pub fn new(nature: Nature, generation: u32, wish: Limits, me: u32, peers: Arc<[Peer]>) -> Self {
        let limits = wish.granted();
        let mut portals = Vec::new();
        portals.resize_with(limits.max_pt_index as usize + 1, || None);
        Interface {
            nature,
            generation,
            limits,
            me,
            rank_of: vec![ANY; peers.len()],
            peers,
            map: Vec::new(),
            peer_of: Vec::new(),
            queues: Slab::new(),
            counters: Counters::new(),
            descriptors: Slab::new(),
            portals,
            entries: Slab::new(),
            pending: Slab::new(),
            moving: Slab::new(),
            pushing: 0,
            unexpected_headers: 0,
            status: [0; 3],
            effects: Vec::new(),
            due: VecDeque::new(),
            scratch: Vec::new(),
            news: false,
        }
    }

    pub fn nature(&self) -> Nature {
        self.nature
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether events or counts have come since the last question: somebody may wait for them.
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    pub fn handle(&self) -> u32 {
        self.name(Kind::Interface, Id::from_bits(u64::from(self.generation) << 32))
    }

    fn name(&self, kind: Kind, id: Id) -> u32 {
        let (index, generation) = (id.index(), id.generation());
        Handle { kind, interface: self.nature.number(), generation, index }.to_bits()
    }

    /// The number of an object, if `handle` is that of one of this interface.
    #[inline(always)]
    fn object(&self, handle: u32, kind: Kind) -> Result<Id> {
        let numbers = Handle::numbers(handle, kind, self.nature.number());
        let (index, generation) = numbers.ok_or(Fault::ArgInvalid)?;
        let found = match kind {
            Kind::Interface => (self.handle() == handle).then_some(Id::from_bits(0)),
            Kind::Queue => self.queues.find(index, generation),
            Kind::Counter => self.counters.find(index, generation),
            Kind::Descriptor => self.descriptors.find(index, generation),
            Kind::ListEntry | Kind::MatchEntry => self.entries.find(index, generation),
        };
        found.ok_or(Fault::ArgInvalid)
    }

    /// Whether `handle` is that of the interface, or of an object of it.
    pub fn has(&self, handle: u32) -> bool {
        let kind = Handle::from_bits(handle).map(|h| h.kind);
        kind.is_some_and(|kind| self.object(handle, kind).is_ok())
    }

    /// `PtlNIStatus`
    pub fn status(&self, register: Register) -> i32 {
        self.status[register as usize]
    }

    fn count_refused(&mut self, register: Register) {
        let value = &mut self.status[register as usize];
        *value = value.saturating_add(1);
    }

    /// `PtlGetPhysId`
    pub fn physical_id(&self) -> Peer {
        self.peers[self.me as usize]
    }

    /// The rank of this process: [`ANY`] without a map, or outside of it.
    pub fn rank(&self) -> u32 {
        self.rank_of[self.me as usize]
    }

    /// `PtlSetMap`: the nid and pid of each rank.
    pub fn set_map(&mut self, map: Vec<(u32, u32)>) -> Result<()> {
        if !self.nature.logical || map.is_empty() || map.len() >= ANY as usize {
            return Err(Fault::ArgInvalid);
        }
        self.rank_of.fill(ANY);
        self.peer_of =
            map.iter().map(|&(nid, pid)| self.find_peer(nid, pid).unwrap_or(ANY)).collect();
        for (rank, &peer) in self.peer_of.iter().enumerate() {
            if let Some(place) = self.rank_of.get_mut(peer as usize) {
                *place = rank as u32;
            }
        }
        self.map = map;
        Ok(())
    }

    /// `PtlGetMap`
    pub fn map(&self) -> Result<&[(u32, u32)]> {
        if self.nature.logical { Ok(&self.map) } else { Err(Fault::ArgInvalid) }
    }

    fn find_peer(&self, nid: u32, pid: u32) -> Option<u32> {
        let found = self.peers.iter().position(|peer| (peer.nid, peer.pid) == (nid, pid))?;
        u32::try_from(found).ok()
    }

    /// The carrier's number of a target.
    #[inline]
    pub fn resolve(&self, target: Target) -> Result<u32> {
        let found = match target {
            Target::Physical { nid, pid } if !self.nature.logical => self.find_peer(nid, pid),
            Target::Logical(rank) if self.nature.logical => {
                self.peer_of.get(rank as usize).copied().filter(|&peer| peer != ANY)
            }
            _ => None,
        };
        found.ok_or(Fault::ArgInvalid)
    }

    #[inline(always)]
    fn process(&self, peer: u32) -> Process {
        let Peer { nid, pid, .. } = self.peers[peer as usize];
        Process { nid, pid, rank: self.rank_of[peer as usize] }
    }

    /// `PtlEQAlloc`
    pub fn queue_alloc(&mut self, count: u64) -> Result<u32> {
        if self.queues.len() >= self.limits.max_eqs as usize {
            return Err(Fault::NoSpace);
        }
        let count = usize::try_from(count).map_err(|_| Fault::NoSpace)?;
        let id = self.queues.insert(Queue::new(count, self.portals.len()));
        Ok(self.name(Kind::Queue, id))
    }

    /// `PtlEQFree`
    pub fn queue_free(&mut self, queue: u32) -> Result<()> {
        let id = self.object(queue, Kind::Queue)?;
        self.queues.remove(id);
        self.news = true;
        Ok(())
    }

    /// `PtlEQGet`: takes the next event, which `show` gets, and says whether others before it are lost.
    #[inline(always)]
    pub fn queue_take<R>(
        &mut self,
        queue: u32,
        show: impl FnOnce(&FullEvent) -> R,
    ) -> Result<(R, bool)> {
        let id = self.object(queue, Kind::Queue)?;
        self.queues.get_mut(id).ok_or(Fault::ArgInvalid)?.take(show)
    }

    fn post(&mut self, queue: Option<Id>, event: FullEvent) {
        if let Some(queue) = queue.and_then(|id| self.queues.get_mut(id)) {
            queue.push(event);
            self.news = true;
        }
    }

    /// The number of a queue that a program names for an object; `PTL_EQ_NONE` is none.
    fn optional(&self, handle: u32, kind: Kind, none: u32) -> Result<Option<Id>> {
        if handle == none { Ok(None) } else { self.object(handle, kind).map(Some) }
    }

    /// `PtlCTAlloc`
    pub fn counter_alloc(&mut self) -> Result<u32> {
        if self.counters.len() >= self.limits.max_cts as usize {
            return Err(Fault::NoSpace);
        }
        let id = self.counters.alloc();
        Ok(self.name(Kind::Counter, id))
    }

    /// `PtlCTFree`: operations that wait for it never happen.
    pub fn counter_free(&mut self, counter: u32) -> Result<()> {
        let id = self.object(counter, Kind::Counter)?;
        let waiting = self.counters.free(id).unwrap_or_default();
        self.forget(waiting);
        self.news = true;
        Ok(())
    }

    /// `PtlCTCancelTriggered`
    pub fn counter_cancel(&mut self, counter: u32) -> Result<()> {
        let id = self.object(counter, Kind::Counter)?;
        let waiting = self.counters.cancel(id).unwrap_or_default();
        self.forget(waiting);
        Ok(())
    }

    /// `PtlCTGet`
    #[inline(always)]
    pub fn counter_get(&self, counter: u32) -> Result<Count> {
        let id = self.object(counter, Kind::Counter)?;
        self.counters.get(id).ok_or(Fault::ArgInvalid)
    }

    /// `PtlCTInc`. A program adds successes or failures, not both.
    pub fn counter_inc(
        &mut self,
        counter: u32,
        count: Count,
        carrier: &mut impl Carrier,
    ) -> Result<()> {
        let id = self.object(counter, Kind::Counter)?;
        self.add(id, count);
        self.run_due(carrier);
        Ok(())
    }

    /// `PtlCTSet`
    pub fn counter_set(
        &mut self,
        counter: u32,
        count: Count,
        carrier: &mut impl Carrier,
    ) -> Result<()> {
        let id = self.object(counter, Kind::Counter)?;
        let due = self.counters.set(id, count);
        self.due.extend(due);
        self.news = true;
        self.run_due(carrier);
        Ok(())
    }

    /// Adds to a counting event. What that triggers happens in `run_due`.
    #[inline(always)]
    fn add(&mut self, counter: Id, count: Count) {
        self.news = true;
        if !self.counters.add(counter, count) {
            self.add_and_trigger(counter, count);
        }
    }

    #[inline(never)]
    fn add_and_trigger(&mut self, counter: Id, count: Count) {
        let due = self.counters.inc(counter, count);
        self.due.extend(due);
    }

    /// `PtlTriggeredCTInc`, `PtlTriggeredCTSet` (`set`).
    pub fn triggered_count(
        &mut self,
        (counter, count, set): (u32, Count, bool),
        (trigger, threshold): (u32, u64),
        carrier: &mut impl Carrier,
    ) -> Result<()> {
        let ct = self.object(counter, Kind::Counter)?;
        let what = if set { Triggered::Set { ct, count } } else { Triggered::Inc { ct, count } };
        self.trigger(trigger, threshold, what, carrier)
    }

    /// Lets an operation wait until the counting event `trigger` has reached `threshold`.
    fn trigger(
        &mut self,
        trigger: u32,
        threshold: u64,
        what: Triggered<Start>,
        carrier: &mut impl Carrier,
    ) -> Result<()> {
        let trigger = self.object(trigger, Kind::Counter)?;
        if self.counters.waiting() >= self.limits.max_triggered_ops as usize {
            return Err(Fault::NoSpace);
        }
        let due = self.counters.trigger(trigger, threshold, what).ok_or(Fault::ArgInvalid)?;
        self.due.extend(due);
        self.news = true;
        self.run_due(carrier);
        Ok(())
    }

    /// Starts what has been triggered, and what that triggers.
    #[inline(always)]
    pub fn run_due(&mut self, carrier: &mut impl Carrier) {
        if !self.due.is_empty() {
            self.run_all_due(carrier);
        }
    }

    /// Whether something has been triggered and not started.
    #[inline(always)]
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    #[inline(never)]
    fn run_all_due(&mut self, carrier: &mut impl Carrier) {
        while let Some(start) = self.due.pop_front() {
            match start {
                // What it names may have gone since the call: then nothing happens, as nobody is there to be told.
                Start::Request(request) => drop(self.begin(&request, carrier)),
                Start::Append { entry, list } => self.append_triggered(entry, list),
                Start::Unlink(entry) => drop(self.unlink(entry)),
            }
        }
    }

    /// Operations that waited, and never happen.
    fn forget(&mut self, waiting: Vec<Triggered<Start>>) {
        for what in waiting {
            if let Triggered::Start(Start::Append { entry, .. }) = what {
                self.entries.remove(entry);
            }
        }
    }

    /// A packet of process `from`, with the data behind its header.
    pub fn packet(
        &mut self,
        from: u32,
        head: &Head,
        data: &[u8],
        carrier: &mut impl Carrier,
    ) -> std::result::Result<(), Malformed> {
        let result = match head.kind {
            Packet::Put
            | Packet::Push
            | Packet::Get
            | Packet::Atomic(..)
            | Packet::FetchAtomic(..) => self.request(from, head, data, carrier),
            Packet::Ready => self.ready(from, head, carrier),
            Packet::Reply(fail) => {
                self.reply(from, &Reply::of(head, fail), (head.long, data), carrier)
            }
        };
        self.run_due(carrier);
        result
    }

    /// The end of an operation at its target `from`, with all that it fetched. What that triggers waits for [`Interface::run_due`].
    #[inline(always)]
    pub fn replied(&mut self, from: u32, reply: &Reply, data: &[u8], carrier: &mut impl Carrier) {
        // A reply to nothing is dropped.
        let _ = self.reply(from, reply, (false, data), carrier);
    }

    /// The end of a transfer that the carrier was asked for; [`NiFail::Ok`]: all bytes have moved.
    pub fn transferred(&mut self, transfer: Transfer, fail: NiFail, carrier: &mut impl Carrier) {
        use crate::carrier::Purpose::{Get, Push, Put};
        if (transfer.purpose, transfer.sends) == (Push, true) {
            self.pushing = self.pushing.saturating_sub(1);
        }
        match (transfer.purpose, transfer.sends) {
            (Put | Push, true) => self.put_sent(transfer.id, fail),
            (Put | Push, false) | (Get, true) => self.moved(transfer.id, fail, carrier),
            (Get, false) => self.got(transfer.id, fail),
        }
        self.run_due(carrier);
    }
}
