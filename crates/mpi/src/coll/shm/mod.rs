//! Small collectives through collective slots (`hpvm_wire::slots`), without messages.
//!
//! Where all members of a communicator share memory, a small blocking collective is one exchange
//! of slots: each member posts what others need, waits for the slots it needs, and reads them
//! itself. Everybody reads in the order of ranks, so a reduction has the same bits everywhere.
//!
//! Where members are on several hosts, those of each host use slots among themselves, and one of
//! them talks to other hosts ([`Hierarchical`]).
//!
//! Members have to agree that a communicator uses slots, and from which number on. They do so in
//! one reduction by messages ([`Process::proposal`]) when it has seen a few collectives; until
//! then, and where one of them says no, collectives go by messages.

mod direct_read;
mod hierarchical;
mod host_part;
mod large;
mod members;
mod packed;
mod per_member;
mod ring_reduce;
mod slots;
mod staging;

pub use direct_read::DirectRead;
pub use hierarchical::Hierarchical;
pub use large::{LongWay, Part, Step, Steps};
pub use ring_reduce::RingReduce;
pub use slots::{Call, Sides, What};
pub use staging::{LONG, StagingBuffers};

use crate::comm::Comm;
use crate::comm::group::Group;
use crate::engine::process::Process;
use crate::error::Result;
use crate::pt2pt::protocol::MAX_FRAGMENTED;
use hpvm_coll::hosts::Hosts;
use hpvm_coll::select::Carrier;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::{COLL_SLOTS, CollSlots, SLOT_BYTES};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Most bytes of a slot.
pub const MOST: u64 = SLOT_BYTES as u64;
/// Most members: each of them looks at the slots of all others.
const MEMBERS: u32 = 64;
/// Collectives that a communicator goes through before its members agree on slots. One that
/// lives for a few calls is not worth it.
const TRIAL: u32 = 4;

/// What a communicator knows of its slots. One thread at a time is in a collective on it (MPI 5.0,
/// section 12.6.1), so the fields order nothing.
#[derive(Debug, Default)]
pub(crate) struct Use {
    stage: AtomicU8,
    /// One of the members shares its processors with others, as far as it knows.
    oversubscribed: AtomicBool,
    /// All members read long messages out of each other's memory.
    reads: AtomicBool,
    calls: AtomicU32,
    /// The last operation that was begun.
    number: AtomicU64,
    /// An operation that all members are known to have finished.
    safe: AtomicU64,
    /// For long slots, once the members have agreed on it.
    staging: OnceLock<Option<StagingBuffers>>,
}

const TRYING: u8 = 0;
const READY: u8 = 1;
const NEVER: u8 = 2;
/// Ready, in each host.
const HIERARCHICAL: u8 = 3;

/// How a small collective is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Messages,
    /// Members negotiate first, then ask again.
    Negotiate,
    Slots,
    /// Slots within hosts and messages between them, if it fits ([`Process::longest_slot`]).
    Hierarchical,
}

/// What a member says of itself before slots are used, or what all of them say.
pub type Proposal = [u64; 4];

/// A collective over slots: what its waiting needs to know.
pub trait ShmCollective {
    /// Goes on as far as possible; true when the collective is done.
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool>;
    /// Whether a slot is missing of a process of which `which` is true.
    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool;
    /// Whether it waits for others to finish an earlier operation, of which no bell tells.
    fn lacks_room(&self) -> bool;
    /// Whether `poll` would go on.
    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool;
    /// Whether it waits for messages, not for slots.
    fn is_crossing(&self) -> bool {
        false
    }
    /// Whether slots are so long that others work on them for a while.
    fn is_long(&self) -> bool {
        false
    }
}

impl ShmCollective for Call<'_> {
    #[inline]
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        Call::poll(self, p)
    }

    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool {
        Call::awaits(self, p, which)
    }

    fn lacks_room(&self) -> bool {
        Call::lacks_room(self)
    }

    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool {
        Call::is_ready(self, p)
    }

    fn is_long(&self) -> bool {
        Call::is_long(self)
    }
}

/// What a process remembers of one of its slots beyond the life of a communicator.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The last number used on it.
    last: u64,
    /// Who may still read its slots.
    readers: Option<Arc<Group>>,
    /// For its long slots.
    staging: Option<staging::Own>,
}

/// Which slots a communicator uses, if there are so many.
#[inline(always)]
fn index(comm: &Comm) -> Option<usize> {
    let index = (comm.base_context() / crate::comm::CONTEXTS) as usize;
    (index < COLL_SLOTS).then_some(index)
}

/// The same for a communicator that may use one at all; where its members are must be known.
fn suitable(comm: &Comm) -> Option<usize> {
    let members = comm.known_hosts().map_or(comm.size(), Hosts::largest);
    let suits = !comm.is_inter() && comm.size() > 1 && members <= MEMBERS;
    index(comm).filter(|_| suits)
}

impl<T: Transport> Process<T> {
    /// Whether small collectives on `comm` may go over slots, now or when its members have agreed.
    #[inline(always)]
    pub fn may_use_slots(&self, comm: &Comm) -> bool {
        comm.coll_slots().stage.load(Ordering::Relaxed) != NEVER // relaxed: see `Use`
    }

    /// How the next blocking collective on `comm` is done whose slots are up to `bytes` long. To
    /// be asked once per collective, with the same answer on all members.
    #[inline]
    pub fn way(&self, comm: &Comm, bytes: u64) -> Way {
        let used = comm.coll_slots();
        // Relaxed, here and below: see `Use`.
        match used.stage.load(Ordering::Relaxed) {
            READY if bytes <= MOST => Way::Slots,
            TRYING => self.on_trial(comm),
            HIERARCHICAL if bytes <= LONG => Way::Hierarchical,
            _ => Way::Messages,
        }
    }

    /// Whether slots are the faster way for `what`, as far as anybody has measured it.
    #[inline(always)]
    pub fn slots_pay(&self, comm: &Comm, what: &What, bytes: u64) -> bool {
        !self.carriers_tuned || self.tuned_to_slots(comm, what, bytes)
    }

    #[cold]
    fn tuned_to_slots(&self, comm: &Comm, what: &What, bytes: u64) -> bool {
        let Some(small) = what.small() else { return true };
        let bytes = bytes.try_into().unwrap_or(i64::MAX);
        self.select.carrier(small, comm.size(), bytes) == Carrier::SharedMemory
    }

    #[cold]
    fn on_trial(&self, comm: &Comm) -> Way {
        let used = comm.coll_slots();
        comm.hosts(|process| self.node(process));
        if suitable(comm).is_none() {
            used.stage.store(NEVER, Ordering::Relaxed); // relaxed: see `Use`
            return Way::Messages;
        }
        let calls = used.calls.fetch_add(1, Ordering::Relaxed); // relaxed: see `Use`
        if calls < TRIAL { Way::Messages } else { Way::Negotiate }
    }

    /// What this process tells the others about its slots: the last number used on it, 1 if it
    /// can't take part, 1 if it is `oversubscribed`, of which each rank has its own opinion, because a
    /// launcher or the program may have bound it, and 1 if it does not read long messages out of the
    /// memory of others. The members build the maximum of each word and hand
    /// it to [`Process::negotiated`].
    pub fn proposal(&self, comm: &Comm, oversubscribed: bool) -> Proposal {
        comm.hosts(|process| self.node(process));
        let Some(index) = suitable(comm) else { return [0, 1, 0, 0] };
        let last = self.coll_slots.get(index).map_or(0, |history| history.last);
        let mut here = neighbours(comm);
        let willing = here.all(|m| self.slots_of(m, index).is_some()) && self.quit(index);
        let reads = self.reads(self.fm().rank(), MAX_FRAGMENTED);
        [last, u64::from(!willing), u64::from(oversubscribed), u64::from(!reads)]
    }

    /// Nobody reads what an earlier communicator left on slots `index`.
    fn quit(&self, index: usize) -> bool {
        let Some(History { last, readers: Some(readers), .. }) = self.coll_slots.get(index) else {
            return true;
        };
        (0..readers.size()).filter_map(|m| readers.process(m)).all(|m| {
            let slots = self.slots_of(m, index);
            slots.is_none_or(|slots| slots.finished() >= *last)
        })
    }

    /// The members of `comm` have negotiated.
    pub fn negotiated(&mut self, comm: &Comm, words: Proposal) {
        let [last, unwilling, oversubscribed, copies] = words;
        let used = comm.coll_slots();
        let Some(index) = suitable(comm).filter(|_| unwilling == 0) else {
            used.stage.store(NEVER, Ordering::Relaxed); // relaxed: see `Use`
            return;
        };
        // The upper half counts communicators, the lower half operations.
        let base = ((last >> 32) + 1) << 32;
        if self.coll_slots.len() <= index {
            self.coll_slots.resize_with(index + 1, History::default);
        }
        let history = &mut self.coll_slots[index];
        (history.last, history.readers) = (base, Some(comm.group().clone()));
        let own = comm.group().process(comm.rank());
        if let Some(slots) = own.and_then(|own| self.slots_of(own, index)) {
            // We read nothing of before. A next communicator may come before the first operation.
            slots.finish(base);
        }
        // Relaxed: see `Use`.
        used.number.store(base, Ordering::Relaxed);
        used.safe.store(base, Ordering::Relaxed); // relaxed: see `Use`
        used.oversubscribed.store(oversubscribed != 0, Ordering::Relaxed); // relaxed: see `Use`
        used.reads.store(copies == 0, Ordering::Relaxed); // relaxed: see `Use`
        let stage = if comm.known_hosts().is_some() { HIERARCHICAL } else { READY };
        used.stage.store(stage, Ordering::Relaxed); // relaxed: see `Use`
    }

    #[inline(always)]
    fn slots_of(&self, member: Rank, index: usize) -> Option<&CollSlots> {
        self.fm().transport().coll_slots(member, index)
    }
}

/// The members that share our host, as processes: all, where hosts do not matter.
fn neighbours(comm: &Comm) -> impl Iterator<Item = Rank> {
    let hosts = comm.known_hosts();
    let here = hosts.map(|hosts| hosts.host(comm.rank()));
    let shares = move |m: &u32| hosts.is_none_or(|hosts| Some(hosts.host(*m)) == here);
    (0..comm.size()).filter(shares).filter_map(|m| comm.group().process(m))
}
