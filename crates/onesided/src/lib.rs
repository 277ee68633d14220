//! One-sided operations: memory that a rank exposes, and that others put to, get from and update atomically.
//!
//! The layer below MPI's windows, SHMEM, ARMCI and their kin. It knows memory and ranks; epochs, teams and
//! supersteps belong to the models. They exchange [`RegionKey`]s themselves, and [`OneSided::attach`] chooses
//! once for each how its memory is reached ([`select`]).
//!
//! Nothing blocks: an operation is complete when it returns `None`; otherwise it returns an [`OpId`]. [`OneSided::on_packet`]
//! handles packets and never sends; answers go to a bounded list that [`OneSided::drain`] sends.
//!
//! Deliberately absent: registration with hardware, queues of completions, a memory allocator.

mod apply;
mod atomic;
mod atomicity;
mod before_notice;
mod control;
mod cross_memory;
mod delegation;
mod element;
mod error;
mod key;
mod kind;
mod mapped;
mod messages;
mod ops;
mod region;
mod runs;
mod select;
mod under_way;

pub use apply::{Apply, MAX_ELEMENT};
pub use control::{MAX_WORDS, Words};
pub use error::{Error, Result};
pub use hpvm_fm::Rank;
pub use key::RegionKey;
pub use kind::{AtomicOp, Kind, LOCKED_F32, LOCKED_F64, MPI_CODES};
pub use messages::Message;
pub use region::{Path, Target};
pub use runs::{Run, Update};
pub use select::Allowed;
pub use under_way::OpId;

use apply::Appliers;
use atomicity::OwnWord;
use control::Blocks;
use core::ops::Range;
use delegation::{OwnerSlot, Patience};
use hpvm_fm::{Fm, Transport};
use messages::Queues;
use region::{Region, Regions};
use select::{Facts, Way, select};
use std::collections::VecDeque;
use under_way::UnderWay;

/// The one-sided operations of one process: what it exposes, and what it has under way.
pub struct OneSided {
    me: Rank,
    allowed: Allowed,
    /// Some rank is reached in packets, or reaches us so, since anything has been exposed.
    by_messages: bool,
    regions: Regions,
    blocks: Blocks,
    /// Our word in the segment, since anything has been exposed or attached, if there is a segment.
    own: Option<OwnWord>,
    /// Where others leave operations on what we have exposed, while there is anything that they reach through the kernel.
    slot: Option<OwnerSlot>,
    /// What we remember of others that we leave operations for.
    patience: Patience,
    appliers: Appliers,
    queues: Queues,
    under_way: UnderWay,
    /// Messages of models at other ranks that this rank's has not taken.
    messages: VecDeque<Message>,
}

impl OneSided {
    pub fn new(me: Rank) -> OneSided {
        let mut appliers = Appliers::default();
        appliers.register(kind::LOCKED_CODES, Box::new(apply::Locked));
        OneSided {
            me,
            allowed: Allowed::default(),
            by_messages: false,
            regions: Regions::default(),
            blocks: Blocks::default(),
            own: None,
            slot: None,
            patience: Patience::default(),
            appliers,
            queues: Queues::default(),
            under_way: UnderWay::default(),
            messages: VecDeque::new(),
        }
    }

    /// Restricts the ways that are taken. To be called before the first region is exposed, with the same value
    /// on all ranks.
    pub fn set_allowed(&mut self, allowed: Allowed) {
        self.allowed = allowed;
    }

    /// Says how elements of [`Kind::Other`] with these codes are updated: on all ranks alike, before the first
    /// operation on them.
    pub fn register_apply(&mut self, codes: Range<u16>, apply: Box<dyn Apply>) {
        self.appliers.register(codes, apply);
    }

    /// Lets others access `len` bytes at `memory`, by the key that is returned. Beside the region
    /// are control words, `words` of them for the model, at most [`MAX_WORDS`], which begin as zeros.
    ///
    /// Memory that the transport lends (`PeerMemory::lend`) is reached by loads and stores inside the host.
    ///
    /// # Safety
    /// The memory is valid for reads and writes until the region is withdrawn, and the program expects that
    /// others change it.
    pub unsafe fn expose<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        memory: *mut u8,
        len: usize,
        words: u32,
    ) -> RegionKey {
        let address = memory.expose_provenance() as u64;
        let lent = self.allowed.mapped
            && fm.transport_mut().mapped_mut(self.me, address, len as u64).is_some();
        self.insert(fm, memory, len, words, lent)
    }

    /// As `expose`, of memory that another rank lends: all that access it have it mapped, and attach by
    /// [`OneSided::attach_mapped`].
    ///
    /// # Safety
    /// As for `expose`.
    pub unsafe fn expose_mapped<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        memory: *mut u8,
        len: usize,
        words: u32,
    ) -> RegionKey {
        self.insert(fm, memory, len, words, true)
    }

    fn insert<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        memory: *mut u8,
        len: usize,
        words: u32,
        lent: bool,
    ) -> RegionKey {
        self.register(fm);
        let address = memory.expose_provenance() as u64;
        let (control, shared) = self.blocks.take(fm, words);
        let locked = shared && !lent && self.allowed.cross_memory;
        if locked {
            self.offer_slot(fm);
        }
        let key = RegionKey {
            rank: self.me,
            id: 0,
            generation: 0,
            flags: if locked { RegionKey::LOCKED } else { 0 },
            address,
            len: len as u64,
            control: if shared { control.address() as u64 } else { 0 },
            words,
        };
        self.regions.insert(Region { key, base: memory, control })
    }

    /// As `expose`, of any memory of this process: offsets are addresses, and what may be accessed is said by
    /// `add_part`. Others reach it through the kernel, which checks no more than that there is memory, or in packets, which
    /// are checked.
    pub fn expose_dynamic<T: Transport>(&mut self, fm: &mut Fm<T>, words: u32) -> RegionKey {
        self.register(fm);
        let (control, shared) = self.blocks.take(fm, words);
        let locked = if shared && self.allowed.cross_memory { RegionKey::LOCKED } else { 0 };
        if locked != 0 {
            self.offer_slot(fm);
        }
        let key = RegionKey {
            rank: self.me,
            id: 0,
            generation: 0,
            flags: RegionKey::DYNAMIC | locked,
            address: 0,
            len: u64::MAX,
            control: if shared { control.address() as u64 } else { 0 },
            words,
        };
        self.regions.insert(Region { key, base: core::ptr::null_mut(), control })
    }

    /// From now on all atomic operations on a region of ours are done under its lock: long updates are then fast, and
    /// others wait for them. Returns the key for the others, who must not have one yet. Regions that others reach in
    /// packets alone stay as they are.
    pub fn lock_atomics(&mut self, key: &RegionKey) -> RegionKey {
        if key.control == 0 {
            return *key;
        }
        self.add_flag(key, RegionKey::LOCKED)
    }

    /// From now on models use the processor's atomics on mapped memory of a region of ours by themselves. Returns the key
    /// for the others, who must not have one yet.
    pub fn set_direct(&mut self, key: &RegionKey) -> RegionKey {
        self.add_flag(key, RegionKey::DIRECT)
    }

    fn add_flag(&mut self, key: &RegionKey, flag: u32) -> RegionKey {
        let region = self.regions.get_mut(key.id, key.generation);
        region.map_or(*key, |region| {
            region.key.flags |= flag;
            region.key
        })
    }

    /// Sees to it that our word in the segment says how we share locks, before our first update.
    fn register<T: Transport>(&mut self, fm: &Fm<T>) {
        if self.own.is_none()
            && let Some(updating) = fm.transport().updating(self.me)
        {
            self.own = Some(OwnWord::new(updating));
            self.appliers.ask(fm.transport().life());
        }
    }

    /// Lets others access `len` bytes at `memory` by the dynamic region `key`. False: it is not one of ours, or the
    /// memory overlaps with another part.
    ///
    /// # Safety
    /// As for `expose`, until the part is removed.
    pub unsafe fn add_part(&mut self, key: &RegionKey, memory: *mut u8, len: usize) -> bool {
        let (first, len) = (memory.expose_provenance() as u64, len as u64);
        let Some(parts) = self.regions.parts(key.id, key.generation) else { return false };
        let Some(end) = first.checked_add(len) else { return false };
        let before = parts.range(..end).next_back();
        if before.is_some_and(|(at, size)| at + size > first) {
            return false;
        }
        parts.insert(first, len);
        true
    }

    /// Ends what `add_part` began. False: no part begins there.
    pub fn remove_part(&mut self, key: &RegionKey, memory: *const u8) -> bool {
        let parts = self.regions.parts(key.id, key.generation);
        parts.is_some_and(|parts| parts.remove(&(memory.addr() as u64)).is_some())
    }

    /// Ends a region of ours: what still comes for it is answered with an error. The caller has seen to it that
    /// nobody accesses the memory any more by loads and stores. False: it is not exposed.
    pub fn withdraw(&mut self, key: &RegionKey) -> bool {
        match self.regions.remove(key.id, key.generation) {
            Some(region) => {
                self.blocks.give_back(region.control);
                self.by_messages &= !self.regions.is_empty();
                if self.regions.is_empty() {
                    self.retract_slot();
                }
                true
            }
            None => false,
        }
    }

    /// True while some region of ours is exposed.
    pub fn is_exposed(&self) -> bool {
        !self.regions.is_empty()
    }

    /// Whether others may need our progress although we call nothing: memory is exposed, and some of the ranks with
    /// which we have to do are reached in packets, as we are by them.
    pub fn needs_progress(&self) -> bool {
        self.by_messages && !self.regions.is_empty()
    }

    /// Finds out how the region of `key` is reached.
    ///
    /// # Errors
    /// `NotExposed`: the key is of a region of ours that has been withdrawn. `Unreachable`.
    pub fn attach<T: Transport>(&mut self, fm: &mut Fm<T>, key: &RegionKey) -> Result<Target> {
        self.register(fm);
        if key.rank == self.me {
            let region = self.regions.get(key.id, key.generation);
            let not_exposed = || Error::NotExposed { rank: key.rank, region: key.id };
            let region = region.ok_or_else(not_exposed)?;
            return Ok(Target {
                key: region.key,
                path: Path::Mapped(region.base),
                control: Some(region.control),
                slot: None,
            });
        }
        let control = self.map_control(fm, key);
        let transport = fm.transport_mut();
        let mapped = match self.allowed.mapped && !key.is_dynamic() {
            true => transport.mapped_mut(key.rank, key.address, key.len),
            false => None,
        };
        let facts = Facts {
            own: false,
            mapped: mapped.is_some(),
            control: control.is_some(),
            cross_memory: self.allowed.cross_memory && transport.can_read(key.rank),
        };
        let path = match (select(facts), mapped) {
            (Way::Mapped, Some(base)) => Path::Mapped(base.as_ptr()),
            (Way::CrossMemory, _) => Path::CrossMemory,
            _ => Path::Messages,
        };
        self.by_messages |= path == Path::Messages;
        let slot = match path {
            Path::CrossMemory => fm.transport().delegation(key.rank).map(OwnerSlot::new),
            _ => None,
        };
        Ok(Target { key: *key, path, control, slot })
    }

    /// As `attach`, where the caller knows that the region lies at `base` in our address space.
    ///
    /// # Errors
    /// `Unreachable`: its control words can't be mapped.
    ///
    /// # Safety
    /// The region's bytes at `base` are valid for reads and writes as long as the target is used, and are the
    /// memory that all others access.
    pub unsafe fn attach_mapped<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        key: &RegionKey,
        base: *mut u8,
    ) -> Result<Target> {
        if key.rank == self.me {
            return self.attach(fm, key);
        }
        self.register(fm);
        match self.map_block(fm, key) {
            Some(control) => {
                let (path, control) = (Path::Mapped(base), Some(control));
                Ok(Target { key: *key, path, control, slot: None })
            }
            None => Err(Box::new(Error::Unreachable { rank: key.rank, region: key.id })),
        }
    }

    /// The control words of a region of another rank, if it is of our host.
    fn map_control<T: Transport>(&self, fm: &mut Fm<T>, key: &RegionKey) -> Option<Words> {
        let some_way = self.allowed.mapped || self.allowed.cross_memory;
        if some_way { self.map_block(fm, key) } else { None }
    }

    fn map_block<T: Transport>(&self, fm: &mut Fm<T>, key: &RegionKey) -> Option<Words> {
        let there = key.control != 0
            && key.control.is_multiple_of(control::UNIT as u64)
            && key.words <= MAX_WORDS;
        if !there {
            return None;
        }
        let bytes = control::bytes(key.words) as u64;
        let block = fm.transport_mut().mapped_mut(key.rank, key.control, bytes)?;
        // SAFETY: lent memory of this size that all access by atomics; it stays mapped with the transport.
        Some(unsafe { Words::new(block, key.words) })
    }

    /// Whether something waits to be sent: answers, or operations that found no credit. A credit that comes back rings
    /// no bell, so whoever sleeps meanwhile must not sleep long.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        self.queues.has_work()
    }

    /// The ranks for which something waits to be sent.
    pub fn has_work_for(&self) -> &[Rank] {
        self.queues.waiting()
    }

    /// That rank has died, and the job goes on. Operations in packets on its memory fail, those that are under way and those to
    /// come; mapped memory of a rank that is gone can be accessed still. True: some have failed.
    pub fn lose(&mut self, rank: Rank) -> bool {
        if !self.queues.lose(rank) {
            return false;
        }
        self.under_way.lose(rank, || Box::new(Error::Died { rank }))
    }

    /// Sends what waits, as far as credits go. True when something has left.
    pub fn drain<T: Transport>(&mut self, fm: &mut Fm<T>) -> bool {
        self.queues.drain(fm, &self.regions, &mut self.under_way)
    }

    /// Whether messages wait for the model.
    #[inline(always)]
    pub fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    /// The messages that have come for the model.
    pub fn take_messages(&mut self) -> impl Iterator<Item = Message> + '_ {
        self.messages.drain(..)
    }
}
