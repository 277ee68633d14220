//! Collectives through shared memory: collective slots (`hpvm_wire::coll_slots`), without messages.
//!
//! Where all members of a communicator share memory, a small blocking collective is one exchange
//! through slots: each member posts what others need, waits for what it needs, and reads it
//! itself. Everybody reads in the order of ranks, so a reduction has the same bits everywhere. A member from
//! whom others need something, but who needs nothing, waits for nobody.
//!
//! Where members are on several hosts, those of each host use slots among themselves, and one of
//! them talks to other hosts ([`Hierarchical`]).
//!
//! One file for each way; [`run`] goes from one to the next and says which ([`Process::begin_shm`]).

mod blocks;
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
mod what;

pub use hierarchical::Hierarchical;
pub(crate) use history::History;
pub use large::Part;
pub(crate) use limits::KnownLimits;
use limits::Limits;
pub use run::Shm;
pub use slots::Exchange;
pub use staging::MAX_STAGED;
pub use what::{Shows, Sides, What};

use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::Result;
use hpvm_coll::hosts::Hosts;
use hpvm_coll::select::{ALWAYS_SLOTS, SMALL};
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::{CollSlots, SLOT_BYTES};
use staging::StagingBuffers;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Most bytes that a member shows in a slot.
pub const MAX_SLOT: u64 = SLOT_BYTES as u64;
/// Up to so many bytes slots are the way, whatever members may tell each other.
const ALWAYS: u32 = ALWAYS_SLOTS as u32;
/// Most members on a host: each of them looks at the slots of all others.
const MAX_MEMBERS: u32 = 64;

/// What a communicator knows of its slots. One thread at a time is in a collective on it (MPI 5.0,
/// section 12.6.1), so the fields order nothing.
#[derive(Debug)]
pub(crate) struct Use {
    stage: AtomicU8,
    /// What all members have said of long data: 0, or `SAID` and others.
    said: AtomicU8,
    /// One more than the number of its set.
    index: AtomicU32,
    /// The last operation that was begun.
    number: AtomicU64,
    /// An operation that all members are known to have finished; 0: somebody may still read what an earlier
    /// communicator has left in the set.
    safe: AtomicU64,
    /// For each kind of collective ([`What::kind`]) the bytes up to which it goes through slots without further
    /// questions. The same on all members.
    slots_up_to: [AtomicU32; KINDS],
    /// For each kind of collective but the barrier the bytes above which it goes by messages without further questions.
    /// The same on all members.
    messages_above: [AtomicU64; SMALL],
    /// In a process that counts what it sends to whom, the same between two collectives, while `slots_up_to` is 0: each
    /// of them then asks, and is counted ([`Process::veil_slots`]).
    veiled: [AtomicU32; KINDS],
    /// Where such a process counts what it shows to all others of its host: one more than the place; 0: it has not been
    /// looked for, or there is none.
    audience: AtomicU32,
    /// For long data between hosts, once the members have agreed on it.
    staging: OnceLock<Option<StagingBuffers>>,
}

/// Kinds of collectives that slots carry: those of the tables, and the barrier.
const KINDS: usize = SMALL + 1;

/// Nothing has been looked at yet.
const NEW: u8 = 0;
/// All members share memory.
const READY: u8 = 1;
/// Messages only.
const NEVER: u8 = 2;
/// Ready, in each host.
const HOSTS: u8 = 3;

/// The members have told each other what follows.
const SAID: u8 = 1;
/// All members can read long data out of each other's memory.
const READS: u8 = 2;

/// A collective through shared memory: what its waiting needs to know.
pub trait ShmCollective {
    /// Goes on as far as possible; true when the collective is done.
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool>;
    /// Whether a slot is missing of a process of which `which` is true.
    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool;
    /// A number that grows by one from a collective of short data to the next, the same on all members.
    fn number(&self) -> u64 {
        0
    }
    /// Whether it waits for others to finish an earlier operation, of which no bell tells.
    fn lacks_room(&self) -> bool;
    /// Whether `poll` would go on.
    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool;
    /// Whether it waits for messages, not for slots.
    fn is_crossing(&self) -> bool {
        false
    }
    /// Whether data are so long that others work on them for a while.
    fn is_long(&self) -> bool {
        false
    }
}

impl Default for Use {
    fn default() -> Use {
        Use {
            stage: AtomicU8::new(NEW),
            said: AtomicU8::default(),
            index: AtomicU32::default(),
            number: AtomicU64::default(),
            safe: AtomicU64::default(),
            slots_up_to: Default::default(),
            messages_above: [const { AtomicU64::new(u64::MAX) }; SMALL],
            veiled: Default::default(),
            audience: AtomicU32::default(),
            staging: OnceLock::new(),
        }
    }
}

impl Use {
    /// The number of the next operation.
    #[inline(always)]
    fn begin(&self) -> u64 {
        // Relaxed: see `Use`.
        let number = self.number.load(Ordering::Relaxed) + 1;
        self.number.store(number, Ordering::Relaxed); // relaxed: see `Use`
        number
    }

    /// Which set of slots its communicator uses, if it uses one.
    #[inline(always)]
    fn index(&self) -> Option<usize> {
        // Relaxed: see `Use`.
        (self.index.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    /// All members have posted `number`, so they are through with the one before.
    #[inline(always)]
    fn all_have(&self, number: u64) {
        // Relaxed, both: see `Use`. A member that has posted nothing may have left something for others elsewhere.
        if self.safe.load(Ordering::Relaxed) > 0 {
            self.safe.fetch_max(number - 1, Ordering::Relaxed); // relaxed: see `Use`
        }
    }

    fn keep(&self, limits: &Limits) {
        let Limits { slots_up_to, messages_above, .. } = limits;
        for (to, limit) in self.slots_up_to.iter().zip(slots_up_to) {
            to.store(*limit, Ordering::Relaxed); // relaxed: see `Use`
        }
        for (to, limit) in self.messages_above.iter().zip(messages_above) {
            to.store(*limit, Ordering::Relaxed); // relaxed: see `Use`
        }
    }

    fn says(&self, what: u8) -> bool {
        self.said.load(Ordering::Relaxed) & what != 0 // relaxed: see `Use`
    }
}

/// Which set of slots a communicator may use at all; where its members are must be known.
fn suitable(comm: &Comm) -> Option<usize> {
    let members = comm.known_hosts().map_or(comm.size(), Hosts::largest);
    let suits = !comm.is_inter() && (2..=MAX_MEMBERS).contains(&members);
    history::index_of(comm.base_context()).filter(|_| suits)
}

impl<T: Transport> Process<T> {
    /// Whether blocking collectives on `comm` may go through shared memory.
    #[inline(always)]
    pub fn may_use_slots(&self, comm: &Comm) -> bool {
        comm.coll_slots().stage.load(Ordering::Relaxed) != NEVER // relaxed: see `Use`
    }

    /// A member of `comm` has died in the middle of a collective through shared memory, or this process has left
    /// one: from now on there are messages only, which end with an error.
    #[cold]
    pub fn give_up_slots(&self, comm: &Comm) {
        comm.coll_slots().stage.store(NEVER, Ordering::Relaxed); // relaxed: see `Use`
    }

    /// From now on every collective on `comm` but a barrier asks for its way, until `unveil_slots`.
    pub fn veil_slots(&self, comm: &Comm) {
        let used = comm.coll_slots();
        for (limit, veiled) in used.slots_up_to.iter().zip(&used.veiled).take(SMALL) {
            // Relaxed, both: see `Use`.
            veiled.store(limit.load(Ordering::Relaxed), Ordering::Relaxed);
            limit.store(0, Ordering::Relaxed); // relaxed: as above
        }
    }

    /// Ends what `veil_slots` began.
    pub fn unveil_slots(&self, comm: &Comm) {
        let used = comm.coll_slots();
        for (limit, veiled) in used.slots_up_to.iter().zip(&used.veiled).take(SMALL) {
            // Relaxed, both: see `Use`.
            limit.store(veiled.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// A collective on `comm` has gone through shared memory: counts what was shown as a message to each member of
    /// our host that reads it. What went between hosts were messages, which count themselves.
    #[inline]
    pub fn count_shown(&mut self, comm: &Comm, shows: Shows) {
        match shows {
            Shows::Nothing => {}
            // Relaxed: see `Use`.
            Shows::Everybody(bytes) => match comm.coll_slots().audience.load(Ordering::Relaxed) {
                0 => self.count_audience(comm, bytes),
                place => self.count_at(place - 1, bytes),
            },
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

    /// What goes to all others of our host for the first time, or where they have no place together.
    #[cold]
    fn count_audience(&mut self, comm: &Comm, bytes: u64) {
        let me = self.fm().rank();
        let readers: Vec<Rank> = neighbours(comm).filter(|reader| *reader != me).collect();
        if let Some(at) = self.team(&readers) {
            comm.coll_slots().audience.store(at + 1, Ordering::Relaxed); // relaxed: see `Use`
            return self.count_at(at, bytes);
        }
        readers.into_iter().for_each(|reader| self.count_sent(reader, 1, bytes));
    }

    /// Whether members of `comm` are on several hosts, and some share one.
    pub fn spans_hosts(&self, comm: &Comm) -> bool {
        comm.hosts(&self.nodes).is_some()
    }

    /// Looks at `comm`, which was just made, so that its first collective need not: to make one takes far longer. What
    /// takes time for many members, or has to begin with the first collective, is left to that.
    pub fn look_ahead(&mut self, comm: &Comm) {
        let is_new = comm.coll_slots().stage.load(Ordering::Relaxed) == NEW; // relaxed: see `Use`
        if is_new && self.nodes.alone() && !self.is_monitored() && suitable(comm).is_some() {
            self.look_at(comm);
        }
    }

    /// The first collective on `comm`: finds out what it may use. All members find the same.
    #[cold]
    fn look_at(&mut self, comm: &Comm) {
        let used = comm.coll_slots();
        comm.hosts(&self.nodes);
        let index = suitable(comm)
            .filter(|index| neighbours(comm).all(|m| self.slots_of(m, *index).is_some()));
        let stage = match (index, comm.known_hosts()) {
            (None, _) => NEVER,
            (Some(_), None) => READY,
            (Some(_), Some(_)) => HOSTS,
        };
        if let Some(index) = index {
            used.index.store(index as u32 + 1, Ordering::Relaxed); // relaxed: see `Use`
            self.take_coll_slots(comm, used, index);
        }
        if stage == READY {
            // No table names a barrier.
            used.slots_up_to[SMALL].store(ALWAYS, Ordering::Relaxed); // relaxed: see `Use`
            // What was measured is asked every time.
            if !self.carriers_tuned {
                let facts = self.facts(comm);
                used.keep(self.limits.of(facts));
            }
        }
        used.stage.store(stage, Ordering::Relaxed); // relaxed: see `Use`
    }

    #[inline(always)]
    fn slots_of(&self, member: Rank, index: usize) -> Option<&CollSlots> {
        self.fm().transport().coll_slots(member, index)
    }
}

/// The members that share our host, as processes: all, where hosts do not matter.
fn neighbours(comm: &Comm) -> impl Iterator<Item = Rank> {
    let team = comm.known_hosts().map(|hosts| hosts.team(hosts.host(comm.rank())));
    // Members of the own host, or all: one of the two is empty.
    let all = if team.is_none() { 0..comm.size() } else { 0..0 };
    let members = team.unwrap_or_default().iter().copied().chain(all);
    members.filter_map(|m| comm.group().process(m))
}
