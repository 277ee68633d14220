//! A table whose entries are found by number, and whose numbers are not confused with those of entries that have gone.

use crate::handle::{GENERATION, GENERATION_MASK};

/// Number of an entry of a [`Slab`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    index: u32,
    generation: u32,
}

impl Id {
    pub fn index(self) -> u32 {
        self.index
    }

    pub fn generation(self) -> u32 {
        self.generation
    }

    /// For packets: the index, and the low bits of the generation, which tell the entries of a place apart that follow each other.
    /// As long as there are fewer than four million entries it has 32 bits.
    #[inline(always)]
    pub(crate) fn to_ticket(self) -> u64 {
        u64::from(self.index) << GENERATION | u64::from(self.generation & GENERATION_MASK)
    }

    /// Nothing has this number.
    pub const NONE: Id = Id { index: u32::MAX, generation: u32::MAX };

    /// As a word.
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    pub fn from_bits(bits: u64) -> Id {
        Id { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab { slots: Vec::new(), free: Vec::new() }
    }

    /// # Panics
    /// With 2^32 entries at once, more than memory holds.
    #[inline(always)]
    pub fn insert(&mut self, value: T) -> Id {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.grow(),
        };
        let slot = &mut self.slots[index as usize];
        slot.value = Some(value);
        Id { index, generation: slot.generation }
    }

    #[inline(never)]
    fn grow(&mut self) -> u32 {
        self.slots.push(Slot { generation: 0, value: None });
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 entries")
    }

    #[inline(always)]
    pub fn get(&self, id: Id) -> Option<&T> {
        let slot = self.slots.get(id.index as usize)?;
        slot.value.as_ref().filter(|_| slot.generation == id.generation)
    }

    #[inline(always)]
    pub fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        let slot = self.slots.get_mut(id.index as usize)?;
        slot.value.as_mut().filter(|_| slot.generation == id.generation)
    }

    /// The number of the entry with this ticket ([`Id::to_ticket`]).
    #[inline(always)]
    pub fn of_ticket(&self, ticket: u64) -> Option<Id> {
        let index = u32::try_from(ticket >> GENERATION).ok()?;
        self.find(index, ticket as u32 & GENERATION_MASK)
    }

    #[inline]
    pub fn remove(&mut self, id: Id) -> Option<T> {
        self.get(id)?;
        let slot = &mut self.slots[id.index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.index);
        slot.value.take()
    }

    /// As `remove`, without a look at what goes.
    #[inline(always)]
    pub fn forget(&mut self, id: Id) {
        if let Some(slot) = self.slots.get_mut(id.index as usize)
            && slot.generation == id.generation
            && slot.value.is_some()
        {
            slot.generation = slot.generation.wrapping_add(1);
            slot.value = None;
            self.free.push(id.index);
        }
    }

    /// The number of the entry with this index, if the low bits of its generation are these.
    #[inline(always)]
    pub fn find(&self, index: u32, generation: u32) -> Option<Id> {
        let slot = self.slots.get(index as usize)?;
        let same = slot.generation & GENERATION_MASK == generation;
        (slot.value.is_some() && same).then_some(Id { index, generation: slot.generation })
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_number_finds_nothing() {
        let mut slab = Slab::new();
        let old = slab.insert('a');
        assert_eq!(slab.remove(old), Some('a'));
        assert!(slab.is_empty());
        let new = slab.insert('b');
        assert_eq!(slab.of_ticket(old.to_ticket()), None);
        assert_eq!(slab.of_ticket(new.to_ticket()), Some(new));
        assert_eq!(slab.of_ticket(new.to_ticket() | 1 << GENERATION), None);
        assert_eq!(slab.of_ticket(u64::MAX), None);
        assert_eq!(slab.get(old), None);
        assert_eq!(slab.remove(old), None);
        assert_eq!(slab.get(new), Some(&'b'));
        assert!(!slab.is_empty());
    }
}
