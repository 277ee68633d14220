//! Collectives through shared memory: collective slots (`hpvm_wire::coll_slots`), without messages.
//!
//! Where all members of a communicator share memory, a small blocking collective is one exchange through
//! slots: each member posts what others need, waits for what it needs, and reads it itself. All members read in
//! the order of ranks, so a reduction has the same bits everywhere. A member that needs nothing from others, as
//! the root of a broadcast, waits for nobody.
//!
//! Where members are on several hosts, those of each host use slots among themselves, and one of them exchanges
//! messages with the other hosts ([`Hierarchical`]).
//!
//! Each method has a file of its own. [`run`] chooses the method and runs its steps ([`Process::begin_shm`]).

mod blocks;
mod coll_args;
mod data_ring;
mod direct_read;
mod hierarchical;
mod history;
mod host_part;
mod large;
mod limits;
mod members;
mod packed;
mod per_member;
mod ring_reduce;
mod run;
mod slots;
mod staging;

pub use coll_args::{BlockBuffers, CollArgs, Shows};
pub use hierarchical::Hierarchical;
pub(crate) use history::History;
pub use large::Part;
pub(crate) use limits::KnownLimits;
use limits::Limits;
pub use run::ShmOperation;
pub use slots::Exchange;
pub use staging::MAX_STAGED;

use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::Result;
use hpvm_coll::hosts::Hosts;
use hpvm_coll::select::{ALWAYS_SLOTS, COLL_KINDS};
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::{CollSlots, SLOT_BYTES};
use staging::StagingBuffers;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Most bytes that a member shows to others through a slot and its data ring.
pub const MAX_SLOT: u64 = SLOT_BYTES as u64;
/// Up to so many bytes a collective goes through slots, whatever the members find out about each other.
const ALWAYS: u32 = ALWAYS_SLOTS as u32;
/// Most members on a host: each of them looks at the slots of all others.
const MAX_MEMBERS: u32 = 64;

/// The state of a communicator's collective slots. Only one thread at a time is in a collective on a
/// communicator (MPI 5.0, section 12.6.1), so the atomic fields order nothing and relaxed accesses are enough.
#[derive(Debug)]
pub(crate) struct SlotState {
    /// What the communicator may use: `NEW`, `READY`, `NEVER` or `HOSTS`.
    stage: AtomicU8,
    /// What the members have agreed on for long data: 0 (nothing yet), or `AGREED` and maybe `ALL_READ`.
    agreed: AtomicU8,
    /// One more than the number of its set of slots; 0: none.
    index: AtomicU32,
    /// The last operation that was begun.
    number: AtomicU64,
    /// The latest operation that all members are known to have finished; 0: a member of an earlier communicator
    /// may still read what was posted in the set for that one.
    safe: AtomicU64,
    /// For each kind of collective ([`CollArgs::limit_index`]): up to so many bytes it goes through slots, whatever
    /// else is known. The same on all members.
    slots_up_to: [AtomicU32; KINDS],
    /// For each kind of collective but the barrier: above so many bytes it goes by messages, whatever else is
    /// known. The same on all members.
    messages_above: [AtomicU64; COLL_KINDS],
    /// The values of `slots_up_to` while those are suspended, that is 0, in a process that counts what it sends to
    /// whom: so every collective leaves the fast path and is counted ([`Process::suspend_slots`]).
    suspended: [AtomicU32; KINDS],
    /// The entry in which such a process counts what it shows to all other members on its host: one more than the
    /// entry's index; 0: it has not been looked for, or there is none.
    traffic_entry: AtomicU32,
    /// The staging buffers for long data of hierarchical collectives, once the members have agreed on them.
    staging: OnceLock<Option<StagingBuffers>>,
}

/// Kinds of collectives that slots carry: those of the tables, and the barrier.
const KINDS: usize = COLL_KINDS + 1;

/// Not set up yet.
const NEW: u8 = 0;
/// All members share memory.
const READY: u8 = 1;
/// Messages only.
const NEVER: u8 = 2;
/// Members are on several hosts; those of each host share memory.
const HOSTS: u8 = 3;

/// The members have agreed on the flags below.
const AGREED: u8 = 1;
/// All members can read long data out of each other's memory.
const ALL_READ: u8 = 2;

/// A collective through shared memory that is under way, as the waiting thread sees it.
pub trait ShmCollective {
    /// Goes on as far as possible; true when the collective is done.
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool>;
    /// Whether it waits for the slot of a process for which `which` is true.
    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool;
    /// The number of the collective among those of short data on its communicator, the same on all members.
    fn number(&self) -> u64 {
        0
    }
    /// Whether it waits for others to finish an earlier operation, which rings no doorbell.
    fn lacks_room(&self) -> bool;
    /// Whether `poll` would go on.
    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool;
    /// Whether it waits for messages, not for slots.
    fn is_crossing(&self) -> bool {
        false
    }
    /// Whether the data are so long that other members copy or combine them for a while.
    fn is_long(&self) -> bool {
        false
    }
}

impl Default for SlotState {
    fn default() -> SlotState {
        SlotState {
            stage: AtomicU8::new(NEW),
            agreed: AtomicU8::default(),
            index: AtomicU32::default(),
            number: AtomicU64::default(),
            safe: AtomicU64::default(),
            slots_up_to: Default::default(),
            messages_above: [const { AtomicU64::new(u64::MAX) }; COLL_KINDS],
            suspended: Default::default(),
            traffic_entry: AtomicU32::default(),
            staging: OnceLock::new(),
        }
    }
}

impl SlotState {
    /// The number of the next operation.
    #[inline(always)]
    fn begin(&self) -> u64 {
        // Relaxed: see `SlotState`.
        let number = self.number.load(Ordering::Relaxed) + 1;
        self.number.store(number, Ordering::Relaxed); // relaxed: see `SlotState`
        number
    }

    /// Which set of slots its communicator uses, if it uses one.
    #[inline(always)]
    fn index(&self) -> Option<usize> {
        // Relaxed: see `SlotState`.
        (self.index.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    /// All members have posted operation `number`, so they have finished the one before.
    #[inline(always)]
    fn note_all_posted(&self, number: u64) {
        // Relaxed, both: see `SlotState`. While `safe` is 0 an earlier communicator's data may still be read.
        if self.safe.load(Ordering::Relaxed) > 0 {
            self.safe.fetch_max(number - 1, Ordering::Relaxed); // relaxed: see `SlotState`
        }
    }

    fn keep(&self, limits: &Limits) {
        let Limits { slots_up_to, messages_above, .. } = limits;
        for (to, limit) in self.slots_up_to.iter().zip(slots_up_to) {
            to.store(*limit, Ordering::Relaxed); // relaxed: see `SlotState`
        }
        for (to, limit) in self.messages_above.iter().zip(messages_above) {
            to.store(*limit, Ordering::Relaxed); // relaxed: see `SlotState`
        }
    }

    /// Whether the members have agreed that they read long data out of each other's memory. The same on all members.
    pub(crate) fn all_read(&self) -> bool {
        self.has_agreed(ALL_READ)
    }

    fn has_agreed(&self, args: u8) -> bool {
        self.agreed.load(Ordering::Relaxed) & args != 0 // relaxed: see `SlotState`
    }
}

/// The set of slots that a communicator may use, if any. It must be known on which hosts its members are.
fn suitable(comm: &Comm) -> Option<usize> {
    let members = comm.known_hosts().map_or(comm.size(), Hosts::largest);
    let suits = !comm.is_inter() && (2..=MAX_MEMBERS).contains(&members);
    history::index_of(comm.base_context()).filter(|_| suits)
}

impl<T: Transport> Process<T> {
    /// Whether blocking collectives on `comm` may go through shared memory.
    #[inline(always)]
    pub fn may_use_slots(&self, comm: &Comm) -> bool {
        comm.coll_slots().stage.load(Ordering::Relaxed) != NEVER // relaxed: see `SlotState`
    }

    /// A member of `comm` has died in the middle of a collective through shared memory, or this process has left
    /// one: from now on collectives on `comm` go by messages, which end with an error.
    #[cold]
    pub fn give_up_slots(&self, comm: &Comm) {
        comm.coll_slots().stage.store(NEVER, Ordering::Relaxed); // relaxed: see `SlotState`
    }

    /// Until `resume_slots` every collective on `comm` but a barrier leaves the fast path through slots, so that
    /// it can be counted.
    pub fn suspend_slots(&self, comm: &Comm) {
        let state = comm.coll_slots();
        for (limit, suspended) in state.slots_up_to.iter().zip(&state.suspended).take(COLL_KINDS) {
            // Relaxed, both: see `SlotState`.
            suspended.store(limit.load(Ordering::Relaxed), Ordering::Relaxed);
            limit.store(0, Ordering::Relaxed); // relaxed: as above
        }
    }

    /// Ends what `suspend_slots` began.
    pub fn resume_slots(&self, comm: &Comm) {
        let state = comm.coll_slots();
        for (limit, suspended) in state.slots_up_to.iter().zip(&state.suspended).take(COLL_KINDS) {
            // Relaxed, both: see `SlotState`.
            limit.store(suspended.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// A collective on `comm` has gone through shared memory: counts what this process has shown as a message to
    /// each member on our host that reads it. Between hosts it used messages, which are counted as such.
    #[inline]
    pub fn count_shown(&mut self, comm: &Comm, shows: Shows) {
        match shows {
            Shows::Nothing => {}
            // Relaxed: see `SlotState`.
            Shows::Everybody(bytes) => {
                match comm.coll_slots().traffic_entry.load(Ordering::Relaxed) {
                    0 => self.count_to_neighbours(comm, bytes),
                    place => self.count_at(place - 1, bytes),
                }
            }
            Shows::One(member, bytes) => {
                let reader = comm.group().process(member);
                let here = |reader: &Rank| {
                    comm.known_hosts().is_none() || neighbours(comm).any(|m| m == *reader)
                };
                if let Some(reader) = reader.filter(here) {
                    self.count_sent(reader, 1, bytes);
                }
            }
        }
    }

    /// Counts what was shown to all other members on our host: in one entry for all of them, which it looks for, or
    /// one by one if there is none.
    #[cold]
    fn count_to_neighbours(&mut self, comm: &Comm, bytes: u64) {
        let me = self.fm().rank();
        let readers: Vec<Rank> = neighbours(comm).filter(|reader| *reader != me).collect();
        if let Some(at) = self.team(&readers) {
            comm.coll_slots().traffic_entry.store(at + 1, Ordering::Relaxed); // relaxed: see `SlotState`
            return self.count_at(at, bytes);
        }
        readers.into_iter().for_each(|reader| self.count_sent(reader, 1, bytes));
    }

    /// Whether members of `comm` are on several hosts, and some share one.
    pub fn spans_hosts(&self, comm: &Comm) -> bool {
        comm.hosts(&self.nodes).is_some()
    }

    /// Sets up the slots of `comm`, which was just made, so that its first collective need not; making a
    /// communicator takes far longer. Communicators over several hosts, and processes that count, set up later.
    pub fn prepare_slots(&mut self, comm: &Comm) {
        let is_new = comm.coll_slots().stage.load(Ordering::Relaxed) == NEW; // relaxed: see `SlotState`
        if is_new && self.nodes.alone() && !self.is_monitored() && suitable(comm).is_some() {
            self.set_up_slots(comm);
        }
    }

    /// Finds out whether `comm` may use slots, and which. At the latest in the first collective on `comm`. All
    /// members find the same.
    #[cold]
    fn set_up_slots(&mut self, comm: &Comm) {
        let state = comm.coll_slots();
        comm.hosts(&self.nodes);
        let index = suitable(comm)
            .filter(|index| neighbours(comm).all(|m| self.slots_of(m, *index).is_some()));
        let stage = match (index, comm.known_hosts()) {
            (None, _) => NEVER,
            (Some(_), None) => READY,
            (Some(_), Some(_)) => HOSTS,
        };
        if let Some(index) = index {
            state.index.store(index as u32 + 1, Ordering::Relaxed); // relaxed: see `SlotState`
            self.take_coll_slots(comm, state, index);
        }
        if stage == READY {
            // No table names a barrier.
            state.slots_up_to[COLL_KINDS].store(ALWAYS, Ordering::Relaxed); // relaxed: see `SlotState`
            // The tables of `hpvm tune` are looked up for each call.
            if !self.carriers_tuned {
                let facts = self.facts(comm);
                state.keep(self.limits.of(facts));
            }
        }
        state.stage.store(stage, Ordering::Relaxed); // relaxed: see `SlotState`
    }

    #[inline(always)]
    fn slots_of(&self, member: Rank, index: usize) -> Option<&CollSlots> {
        self.fm().transport().coll_slots(member, index)
    }
}

/// The members on our host, as ranks of the job. All members, if the communicator is on one host.
fn neighbours(comm: &Comm) -> impl Iterator<Item = Rank> {
    let team = comm.known_hosts().map(|hosts| hosts.team(hosts.host(comm.rank())));
    // Members of the own host, or all: one of the two is empty.
    let all = if team.is_none() { 0..comm.size() } else { 0..0 };
    let members = team.unwrap_or_default().iter().copied().chain(all);
    members.filter_map(|m| comm.group().process(m))
}
