//! Which communicator owns each of a process's sets of slots, and which one owned it before.
//!
//! A communicator's context id says which set it has, the same set on every member. Only one communicator of a
//! process has an id at a time, so only one has the set. Its operations are counted from a number that the members
//! agreed on together with the id (`comm::agreement`). So nothing has to be agreed on when it is first used.
//!
//! Members of an earlier communicator may be late, and may still read what this process has posted in the set.
//! Before it posts anything for the next communicator it waits until they have finished. They always finish, because
//! their operation does not depend on anything that this process does later. (It is as if that operation had been
//! synchronising, which a program has to allow for.)

use super::data_ring::DataRing;
use super::{SlotState, staging};
use crate::comm::group::Group;
use crate::comm::{CONTEXTS, Comm, ContextId};
use crate::engine::process::Process;
use hpvm_fm::Transport;
use hpvm_wire::coll_slots::COLL_SLOTS;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Words of the set of context ids whose lowest bits have slots.
const WORDS: usize = 16;
/// Ids in a word.
const WORD_BITS: usize = 64;

/// The operations of the communicators that exist from the start are counted from here. It is far above 0, which
/// means that nothing is known (`SlotState::safe`).
const FIRST_OPERATION: u64 = 1 << 32;

/// What a process remembers of one of its sets beyond the life of a communicator that owned it.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The operations of the present owner are counted from here, or from `FIRST_OPERATION`, whichever is higher.
    base: u64,
    /// The members of an earlier owner that may still read what was posted for it, and its last operation.
    readers: Option<(Arc<Group>, u64)>,
    pub(super) data: DataRing,
    /// The buffer for data that are too long for the data ring.
    pub(super) staging: Option<staging::Own>,
}

/// The set of a communicator, if there is one for its id. Ids are taken from the lowest bits of all words first, so
/// the communicators that are made first have the lowest sets. These have large slots, too.
pub(super) fn index_of(base: ContextId) -> Option<usize> {
    let id = (base / CONTEXTS) as usize;
    let (word, bit) = (id / WORD_BITS, id % WORD_BITS);
    let index = bit * WORDS + word;
    (word < WORDS && index < COLL_SLOTS).then_some(index)
}

impl<T: Transport> Process<T> {
    /// The members of a new communicator have agreed on its context ids and epoch.
    pub fn open_coll_slots(&mut self, base: ContextId, epoch: u64) {
        let Some(index) = index_of(base) else { return };
        if self.coll_slots.len() <= index {
            self.coll_slots.resize_with(index + 1, History::default);
        }
        // The upper half counts communicators, the lower half operations.
        self.coll_slots[index].base = epoch << 32;
    }

    /// `comm` is freed, and all operations on it have ended: remembers who may still read its slots.
    pub fn close_coll_slots(&mut self, comm: &Comm) {
        let state = comm.coll_slots();
        let Some(index) = state.index() else { return };
        // Relaxed, both: see `SlotState`. Who has posted nothing leaves the readers before as they were.
        let (number, safe) =
            (state.number.load(Ordering::Relaxed), state.safe.load(Ordering::Relaxed));
        if let Some(history) = self.coll_slots.get_mut(index)
            && safe > 0
        {
            history.readers = Some((comm.group().clone(), number));
        }
    }

    /// Makes `comm` the owner of its set.
    pub(super) fn take_coll_slots(&mut self, comm: &Comm, state: &SlotState, index: usize) {
        if self.coll_slots.len() <= index {
            self.coll_slots.resize_with(index + 1, History::default);
        }
        let base = self.coll_slots[index].base.max(FIRST_OPERATION);
        let own = comm.group().process(comm.rank());
        if let Some(slots) = own.and_then(|own| self.slots_of(own, index)) {
            // This process reads nothing that was posted for earlier owners.
            slots.finish(base.max(slots.finished()));
        }
        state.number.store(base, Ordering::Relaxed); // relaxed: see `SlotState`
        self.release_readers(state, index);
    }

    /// Whether nobody reads any more what was posted in set `index` for an earlier owner. From then on room in the set
    /// depends on the present owner's members alone.
    pub(super) fn release_readers(&mut self, state: &SlotState, index: usize) -> bool {
        if !self.may_release_readers(index) {
            return false;
        }
        let Some(history) = self.coll_slots.get_mut(index) else { return false };
        history.readers = None;
        history.data.clear();
        // Relaxed: see `SlotState`. It is not 0 from now on.
        state.safe.fetch_max(history.base.max(FIRST_OPERATION), Ordering::Relaxed);
        true
    }

    /// As `release_readers`, which changes nothing yet.
    pub(super) fn may_release_readers(&self, index: usize) -> bool {
        let Some(History { readers: Some((readers, last)), .. }) = self.coll_slots.get(index)
        else {
            return true;
        };
        readers.processes().filter(|m| !self.is_lost(*m)).all(|m| {
            let slots = self.slots_of(m, index);
            slots.is_none_or(|slots| slots.finished() >= *last)
        })
    }

    /// Looks how far the other members are: whether all of them have finished operation `wanted`. `slowest` returns the
    /// latest operation that all have finished.
    #[cold]
    pub(super) fn look_for_room(
        &mut self,
        state: &SlotState,
        index: usize,
        wanted: u64,
        slowest: impl Fn(&Self) -> u64,
    ) -> bool {
        // Relaxed, here and below: see `SlotState`.
        if state.safe.load(Ordering::Relaxed) == 0 && !self.release_readers(state, index) {
            return false;
        }
        state.safe.fetch_max(slowest(self), Ordering::Relaxed); // relaxed: see `SlotState`
        state.safe.load(Ordering::Relaxed) >= wanted // relaxed: see `SlotState`
    }

    /// The answer that `look_for_room` would give; changes nothing.
    #[cold]
    pub(super) fn would_have_room(
        &self,
        state: &SlotState,
        index: usize,
        wanted: u64,
        slowest: impl Fn(&Self) -> u64,
    ) -> bool {
        // Relaxed: see `SlotState`.
        match state.safe.load(Ordering::Relaxed) {
            // relaxed: see `SlotState`
            0 => self.may_release_readers(index),
            safe => safe.max(slowest(self)) >= wanted,
        }
    }

    /// Takes room in the data ring for `len` bytes of operation `number`; `None`: there is none yet.
    #[inline(never)]
    pub(super) fn take_data_room(
        &mut self,
        state: &SlotState,
        index: usize,
        (number, len): (u64, usize),
        slowest: impl Fn(&Self) -> u64,
    ) -> Option<usize> {
        loop {
            let safe = state.safe.load(Ordering::Relaxed); // relaxed: see `SlotState`
            let data = &mut self.coll_slots.get_mut(index)?.data;
            if let Some(at) = data.find(len, safe) {
                data.take(number, at, len, safe);
                return Some(at);
            }
            if !self.look_for_room(state, index, safe + 1, &slowest) {
                return None;
            }
        }
    }
}
