//! Whose a process's sets of slots are, and whose they were.
//!
//! A communicator has the set that its context id says, on every member: ids are used by one communicator of a
//! process at a time, so sets are. Its operations are counted from a number that came with the id
//! (`comm::agreement`). So there is nothing to be agreed on when it is first used.
//!
//! Members of an earlier communicator may be late, and still read what this process has posted there. Before it posts
//! anything for the next one it waits until they have finished: they can, because their operation does not
//! depend on anything that this process does later (as if that operation had been synchronising, which a
//! program has to allow for).

use super::data_ring::DataRing;
use super::{Use, staging};
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

/// The operations of the communicators that exist from the start are counted from here: so far behind 0 that
/// no operation of the first ones is near it, which says that nothing is known (`Use`).
const FIRST: u64 = 1 << 32;

/// What a process remembers of one of its sets beyond the life of a communicator.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The operations of the communicator that has it now are counted from here, or from `FIRST`.
    base: u64,
    /// Who may still read what an earlier one has posted, and the last number of it.
    readers: Option<(Arc<Group>, u64)>,
    pub(super) data: DataRing,
    /// For data that are too long for the ring.
    pub(super) staging: Option<staging::Own>,
}

/// Which set a communicator uses, if there are so many. Ids are taken from the lowest bits of all words
/// first, so the communicators that are made first have the lowest sets, which have large slots, too.
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

    /// A communicator is freed, and all operations on it have ended.
    pub fn close_coll_slots(&mut self, comm: &Comm) {
        let used = comm.coll_slots();
        let Some(index) = used.index() else { return };
        // Relaxed, both: see `Use`. Who has posted nothing leaves the readers before as they were.
        let (number, safe) =
            (used.number.load(Ordering::Relaxed), used.safe.load(Ordering::Relaxed));
        if let Some(history) = self.coll_slots.get_mut(index)
            && safe > 0
        {
            history.readers = Some((comm.group().clone(), number));
        }
    }

    /// Makes `comm` the one that has its set.
    pub(super) fn take_coll_slots(&mut self, comm: &Comm, used: &Use, index: usize) {
        if self.coll_slots.len() <= index {
            self.coll_slots.resize_with(index + 1, History::default);
        }
        let base = self.coll_slots[index].base.max(FIRST);
        let own = comm.group().process(comm.rank());
        if let Some(slots) = own.and_then(|own| self.slots_of(own, index)) {
            // We read nothing of before.
            slots.finish(base.max(slots.finished()));
        }
        used.number.store(base, Ordering::Relaxed); // relaxed: see `Use`
        self.release_readers(used, index);
    }

    /// Whether nobody reads any more what an earlier communicator has left in set `index`. From then on members may be
    /// as far behind as the set is deep.
    pub(super) fn release_readers(&mut self, used: &Use, index: usize) -> bool {
        if !self.may_release_readers(index) {
            return false;
        }
        let Some(history) = self.coll_slots.get_mut(index) else { return false };
        history.readers = None;
        history.data.clear();
        // Relaxed: see `Use`. It is not 0 from now on.
        used.safe.fetch_max(history.base.max(FIRST), Ordering::Relaxed);
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

    /// Looks how far the others are, of which `slowest` tells what all of them have finished; whether that is
    /// operation `wanted` or a later one.
    #[cold]
    pub(super) fn look_for_room(
        &mut self,
        used: &Use,
        index: usize,
        wanted: u64,
        slowest: impl Fn(&Self) -> u64,
    ) -> bool {
        // Relaxed, here and below: see `Use`.
        if used.safe.load(Ordering::Relaxed) == 0 && !self.release_readers(used, index) {
            return false;
        }
        used.safe.fetch_max(slowest(self), Ordering::Relaxed); // relaxed: see `Use`
        used.safe.load(Ordering::Relaxed) >= wanted // relaxed: see `Use`
    }

    /// What that would find, changing nothing.
    #[cold]
    pub(super) fn would_have_room(
        &self,
        used: &Use,
        index: usize,
        wanted: u64,
        slowest: impl Fn(&Self) -> u64,
    ) -> bool {
        // Relaxed: see `Use`.
        match used.safe.load(Ordering::Relaxed) {
            // relaxed: see `Use`
            0 => self.may_release_readers(index),
            safe => safe.max(slowest(self)) >= wanted,
        }
    }

    /// Finds room in the data ring for `len` bytes of operation `number`, and takes it.
    #[inline(never)]
    pub(super) fn take_data_room(
        &mut self,
        used: &Use,
        index: usize,
        (number, len): (u64, usize),
        slowest: impl Fn(&Self) -> u64,
    ) -> Option<usize> {
        loop {
            let safe = used.safe.load(Ordering::Relaxed); // relaxed: see `Use`
            let data = &mut self.coll_slots.get_mut(index)?.data;
            if let Some(at) = data.find(len, safe) {
                data.take(number, at, len, safe);
                return Some(at);
            }
            if !self.look_for_room(used, index, safe + 1, &slowest) {
                return None;
            }
        }
    }
}
