//! Copies of other ranks' objects in bounded memory. Those not used since the hand last passed go first.

use crate::Name;
use crate::machine::Machine;
use crate::message::Head;
use crate::values::Role;
use std::collections::VecDeque;

/// What a copy is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    Value,
    Snapshot,
}

pub(crate) struct Cache {
    limit: usize,
    bytes: usize,
    /// How many copies there are; `clock` may also have names of copies that are gone.
    copies: usize,
    clock: VecDeque<(Name, Copied)>,
}

/// What the hand does with a copy.
enum Verdict {
    Gone,
    Stays,
    Evict(usize),
}

impl Cache {
    pub fn new(limit: usize) -> Cache {
        Cache { limit, bytes: 0, copies: 0, clock: VecDeque::new() }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    pub fn is_over(&self) -> bool {
        self.bytes > self.limit
    }

    pub fn lacks(&self, weight: usize) -> bool {
        self.bytes.saturating_add(weight) > self.limit
    }

    /// Names of copies that are gone are not most of the names.
    pub fn is_tidy(&self) -> bool {
        self.clock.len() <= 2 * self.copies + 64
    }

    pub fn added(&mut self, name: Name, copied: Copied, weight: usize) {
        self.bytes += weight;
        self.copies += 1;
        self.clock.push_back((name, copied));
    }

    /// A value of this weight has come with a message. One that goes with the use that it came for is not for the hand to look at.
    #[inline(always)]
    pub fn added_value(&mut self, head: &Head, weight: usize) {
        if head.is_last_use() {
            self.bytes += weight;
            self.copies += 1;
        } else {
            self.added(head.name, Copied::Value, weight);
        }
    }

    /// A copy of this weight is gone.
    pub fn removed(&mut self, weight: usize) {
        self.bytes -= weight;
        self.copies -= 1;
    }
}

impl Machine {
    /// Throws copies away until `weight` more bytes are within the limit; false if what is in use leaves no room.
    #[inline]
    pub(crate) fn make_room(&mut self, weight: usize) -> bool {
        if !self.cache.lacks(weight) && self.cache.is_tidy() {
            return true;
        }
        self.make_room_slowly(weight)
    }

    #[cold]
    fn make_room_slowly(&mut self, weight: usize) -> bool {
        self.tidy_clock();
        let mut looks = 2 * self.cache.clock.len();
        while self.cache.lacks(weight) {
            let Some((name, copied)) = self.cache.clock.pop_front() else { return false };
            match self.look_at(name, copied) {
                Verdict::Gone => {}
                Verdict::Stays => self.cache.clock.push_back((name, copied)),
                Verdict::Evict(weight) => {
                    self.cache.removed(weight);
                    self.counters.evictions += 1;
                }
            }
            looks -= 1;
            if looks == 0 {
                return !self.cache.lacks(weight);
            }
        }
        true
    }

    fn look_at(&mut self, name: Name, copied: Copied) -> Verdict {
        match copied {
            Copied::Value => {
                let Some(value) = self.values.get_mut(&name) else { return Verdict::Gone };
                let Role::Copy { granted, .. } = value.role else { return Verdict::Gone };
                if value.pins > 0 || granted || std::mem::take(&mut value.referenced) {
                    return Verdict::Stays;
                }
                let weight = value.len;
                self.values.remove(&name);
                Verdict::Evict(weight)
            }
            Copied::Snapshot => {
                let Some(entry) = self.accumulators.get_mut(&name) else { return Verdict::Gone };
                let weight = match &entry.snapshot {
                    None => return Verdict::Gone,
                    Some(_) if entry.pins() > 0 => return Verdict::Stays,
                    Some(snapshot) => snapshot.content.weight(),
                };
                entry.snapshot = None;
                self.forget_if_empty(name);
                Verdict::Evict(weight)
            }
        }
    }

    /// Forgets names of copies that are gone, when they are most of the names.
    fn tidy_clock(&mut self) {
        if self.cache.is_tidy() {
            return;
        }
        let mut clock = std::mem::take(&mut self.cache.clock);
        let mut seen = std::collections::HashSet::new();
        clock.retain(|(name, copied)| {
            let there = match copied {
                Copied::Value => {
                    self.values.get(name).is_some_and(|v| matches!(v.role, Role::Copy { .. }))
                }
                Copied::Snapshot => {
                    self.accumulators.get(name).is_some_and(|a| a.snapshot.is_some())
                }
            };
            there && seen.insert((name.space, name.key, *copied == Copied::Value))
        });
        self.cache.clock = clock;
    }
}
