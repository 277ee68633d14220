//! Context ids of this process: which are free, and who is about to take some.

use crate::comm::{CONTEXTS, Comm, ContextId};
use crate::engine::process::MAX_COMMS;
use std::sync::Arc;

pub(crate) const WORDS: usize = MAX_COMMS as usize / 64;
/// Classes of ids: so many agreements may be outstanding in a process without one waiting for
/// another. Word `i` of the set belongs to class `i % CLASSES`.
pub(crate) const CLASSES: usize = 16;
/// Ids that exist from the start: the world, the process alone, and building from a bare group.
const RESERVED: u64 = 0b111;
/// The free ids of this process.
pub(crate) struct Contexts {
    /// Bit set: free.
    pub free: Box<[u64]>,
    /// The agreement that owns each class now.
    pub owners: [Option<Precedence>; CLASSES],
    /// All agreements under way, with the class that each tries.
    pub waiting: Vec<(usize, Precedence)>,
    /// Freed communicators on which operations may be under way.
    pub retired: Vec<Arc<Comm>>,
}

/// Parent and tag of an agreement: the lowest goes first.
pub(crate) type Precedence = (ContextId, i32);

impl Contexts {
    pub fn new() -> Contexts {
        let mut free = vec![u64::MAX; WORDS].into_boxed_slice();
        free[0] &= !RESERVED;
        Contexts { free, owners: [None; CLASSES], waiting: Vec::new(), retired: Vec::new() }
    }

    /// Takes a class for an agreement if it is free and nobody has precedence.
    pub fn acquire(&mut self, class: usize, mine: Precedence) -> bool {
        let first = self.waiting.iter().all(|(c, w)| *c != class || *w >= mine);
        if self.owners[class].is_none() && first {
            self.owners[class] = Some(mine);
            return true;
        }
        false
    }

    /// The free ids of a class.
    pub fn of_class(&self, class: usize) -> impl Iterator<Item = u64> + '_ {
        self.free.iter().skip(class).step_by(CLASSES).copied()
    }

    pub fn release(&mut self, base: ContextId) {
        let id = base / CONTEXTS;
        if let Some(word) = self.free.get_mut(id as usize / 64) {
            *word |= 1 << (id % 64);
        }
    }
}
