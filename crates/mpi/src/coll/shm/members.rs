//! The slots of a communicator's members on one host, for operations of several rounds of slots.

use super::SlotState;
use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::{Class, Result};
use core::ops::Range;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::{CollSlots, LargeSlot};
use std::sync::atomic::Ordering;

/// A communicator, and which slots of each member belongs to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Members<'a> {
    comm: &'a Comm,
    index: usize,
}

impl<'a> Members<'a> {
    pub fn new(comm: &'a Comm) -> Option<Members<'a>> {
        comm.coll_slots().index().map(|index| Members { comm, index })
    }

    pub fn state(&self) -> &'a SlotState {
        self.comm.coll_slots()
    }

    pub fn rank(&self) -> u32 {
        self.comm.rank()
    }

    pub fn size(&self) -> u32 {
        self.comm.size()
    }

    pub fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let rank = self.rank();
        (0..self.size()).filter(move |member| *member != rank)
    }

    pub fn process(&self, member: u32) -> Result<Rank> {
        self.comm.group().process(member).ok_or_else(|| Class::Intern.into())
    }

    pub fn coll_slots<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
    ) -> Result<&'p CollSlots> {
        // `set_up_slots` has found all of them.
        p.slots_of(self.process(member)?, self.index).ok_or_else(|| Class::Intern.into())
    }

    /// The first byte of the large slot for slot `number` of `member`.
    pub fn large_slot<T: Transport>(
        &self,
        p: &Process<T>,
        member: u32,
        number: u64,
    ) -> Result<*mut u8> {
        let large_slot = p.fm().transport().large_slot(self.process(member)?, self.index, number);
        // Where there are slots there are large slots.
        large_slot.map(LargeSlot::start).ok_or_else(|| Class::Intern.into())
    }

    /// Whether `member` has posted slot `number`.
    pub fn has<T: Transport>(&self, p: &Process<T>, member: u32, number: u64) -> bool {
        self.coll_slots(p, member).is_ok_and(|slots| slots.has(number))
    }

    /// Whether all members have finished the number `ahead` before this one.
    pub fn has_room<T: Transport>(&self, p: &mut Process<T>, number: u64, ahead: usize) -> bool {
        let (state, wanted) = (self.state(), number - ahead as u64);
        // Relaxed: see `SlotState`.
        if state.safe.load(Ordering::Relaxed) >= wanted {
            return true;
        }
        p.look_for_room(state, self.index, wanted, |p| self.slowest(p, number))
    }

    /// What `has_room` would find, changing nothing.
    pub fn would_have_room<T: Transport>(&self, p: &Process<T>, number: u64, ahead: usize) -> bool {
        let wanted = number - ahead as u64;
        p.would_have_room(self.state(), self.index, wanted, |p| self.slowest(p, number))
    }

    /// The last operation before `number` that all other members have finished.
    fn slowest<T: Transport>(&self, p: &Process<T>, number: u64) -> u64 {
        let finished =
            self.others().map(|m| self.coll_slots(p, m).map_or(u64::MAX, CollSlots::finished));
        finished.min().unwrap_or(u64::MAX).min(number - 1)
    }

    /// Posts our slot `number`, a few words, and wakes those who may sleep for want of it.
    ///
    /// # Safety
    /// There is room.
    pub unsafe fn post<T: Transport>(
        &self,
        p: &Process<T>,
        number: u64,
        words: &[u64],
        readers: impl Iterator<Item = u32>,
    ) -> Result<()> {
        let fill = |out: &mut [u8]| {
            for (to, word) in out.chunks_exact_mut(size_of::<u64>()).zip(words) {
                to.copy_from_slice(&word.to_ne_bytes());
            }
        };
        let slots = self.coll_slots(p, self.rank())?;
        // SAFETY: it is ours; the caller's promise.
        unsafe { slots.post(number, 0, size_of_val(words), fill) };
        for process in readers.filter_map(|m| self.comm.group().process(m)) {
            p.fm().transport().wake(process);
        }
        Ok(())
    }

    /// The first one in `range`, other than this one, whose slot `number` is not there yet.
    pub fn missing<T: Transport>(
        &self,
        p: &Process<T>,
        mut range: Range<u32>,
        number: u64,
    ) -> Option<u32> {
        range.find(|member| *member != self.rank() && !self.has(p, *member, number))
    }

    /// Whether a slot `number` is missing in `range` of a process of which `which` is true.
    pub fn awaits<T: Transport>(
        &self,
        p: &Process<T>,
        mut range: Range<u32>,
        number: u64,
        which: impl Fn(Rank) -> bool,
    ) -> bool {
        let group = self.comm.group();
        range.any(|m| !self.has(p, m, number) && group.process(m).is_some_and(&which))
    }

    /// The words of slot `number` of `member`; `Err` with the bytes that are there instead.
    ///
    /// # Safety
    /// The slot is there, and we have not finished.
    pub unsafe fn words<const N: usize, T: Transport>(
        &self,
        p: &Process<T>,
        member: u32,
        number: u64,
    ) -> Result<core::result::Result<[u64; N], usize>> {
        // SAFETY: the caller's promise.
        let slot = match unsafe { self.coll_slots(p, member)?.read(number) } {
            Ok(slot) if slot.len() == size_of::<[u64; N]>() => slot,
            Ok(slot) => return Ok(Err(slot.len())),
            Err(found) => return Ok(Err(found)),
        };
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(slot.chunks_exact(size_of::<u64>())) {
            *word = bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default();
        }
        Ok(Ok(words))
    }

    /// We are through with slot `number` of all members.
    pub fn finish<T: Transport>(&self, p: &mut Process<T>, number: u64) -> Result<()> {
        self.coll_slots(p, self.rank())?.finish(number);
        Ok(())
    }

    /// All have posted slot `number`, so they are through with the one before.
    pub fn note_all_posted(&self, number: u64) {
        self.state().note_all_posted(number);
    }
}
