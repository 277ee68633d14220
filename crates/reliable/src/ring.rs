//! A window of a stream of numbered things, in a vector that grows and shrinks with the window.

/// Entries of the smallest ring.
const MIN_CAPACITY: usize = 16;

/// Holds the entries of consecutive numbers, each at the index that its number names.
#[derive(Default)]
pub(crate) struct Ring<T> {
    entries: Vec<T>,
}

impl<T: Copy + Default> Ring<T> {
    /// The entry of a number within the window that `make_room` was told.
    #[inline(always)]
    pub fn at(&mut self, number: u32) -> &mut T {
        let mask = self.entries.len() - 1;
        &mut self.entries[number as usize & mask]
    }

    /// Makes room for `wanted` entries from `first` on, of which `live` are there. What a new
    /// entry holds is arbitrary.
    #[inline]
    pub fn make_room(&mut self, first: u32, live: u32, wanted: u32) {
        if wanted as usize > self.entries.len() {
            self.grow(first, live, wanted);
        }
    }

    #[cold]
    fn grow(&mut self, first: u32, live: u32, wanted: u32) {
        let len = (wanted as usize).next_power_of_two().max(MIN_CAPACITY);
        let mut entries = vec![T::default(); len];
        for i in 0..live {
            let number = first.wrapping_add(i);
            entries[number as usize & (len - 1)] = *self.at(number);
        }
        self.entries = entries;
    }

    /// Frees all entries. Nothing is in the window.
    pub fn shrink(&mut self) {
        self.entries = Vec::new();
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.entries.len() * size_of::<T>()
    }

    /// What `memory` is at most for windows of `wanted`.
    pub fn bound(wanted: usize) -> usize {
        wanted.next_power_of_two().max(MIN_CAPACITY) * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_with_their_numbers() {
        let mut ring = Ring::default();
        let first = u32::MAX - 20;
        for live in 0..100 {
            ring.make_room(first, live, live + 1);
            *ring.at(first.wrapping_add(live)) = live;
            for i in 0..=live {
                assert_eq!(*ring.at(first.wrapping_add(i)), i);
            }
        }
        assert_eq!(ring.memory(), Ring::<u32>::bound(100));
        ring.shrink();
        assert_eq!(ring.memory(), 0);
    }
}
