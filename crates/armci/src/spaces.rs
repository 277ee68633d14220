//! Whose memory an address is in: for each process, the memory that it has of `ARMCI_Malloc`, by its own addresses.

use core::ops::Range;

/// Memory of each of some processes, with what is known about it.
#[derive(Debug)]
pub struct Spaces<T> {
    /// By process, sorted by the first address; none overlap.
    by_process: Vec<Vec<(Range<usize>, T)>>,
}

impl<T> Spaces<T> {
    pub fn new(processes: usize) -> Spaces<T> {
        Spaces { by_process: (0..processes).map(|_| Vec::new()).collect() }
    }

    /// Adds memory of a process that is not empty. False: it overlaps with other memory, or there is no such process.
    pub fn insert(&mut self, process: usize, memory: Range<usize>, value: T) -> bool {
        let Some(all) = self.by_process.get_mut(process) else { return false };
        let at = all.partition_point(|(other, _)| other.start < memory.start);
        let before = at.checked_sub(1).is_some_and(|i| all[i].0.end > memory.start);
        let behind = all.get(at).is_some_and(|(other, _)| other.start < memory.end);
        if before || behind || memory.is_empty() {
            return false;
        }
        all.insert(at, (memory, value));
        true
    }

    /// What is known about the memory of a process that all of `len` bytes at `address` are in.
    #[inline]
    pub fn find(&self, process: usize, address: usize, len: usize) -> Option<&T> {
        let all = self.by_process.get(process)?;
        // The one that most programs use is the first, or among few.
        let at = all.partition_point(|(memory, _)| memory.start <= address).checked_sub(1)?;
        let (memory, value) = &all[at];
        (len <= memory.end - memory.start && address <= memory.end - len).then_some(value)
    }

    /// Takes out the memory of a process that begins at `address`.
    pub fn remove(&mut self, process: usize, address: usize) -> Option<T> {
        let all = self.by_process.get_mut(process)?;
        let at = all.iter().position(|(memory, _)| memory.start == address)?;
        Some(all.remove(at).1)
    }

    /// All memory of a process.
    pub fn of(&self, process: usize) -> impl Iterator<Item = (&Range<usize>, &T)> {
        self.by_process.get(process).into_iter().flatten().map(|(memory, value)| (memory, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_belong_to_nobody() {
        let mut spaces = Spaces::new(2);
        assert!(spaces.insert(0, 100..200, 'a') && spaces.insert(0, 200..300, 'b'));
        assert!(spaces.insert(1, 100..120, 'c'));
        assert_eq!(spaces.find(0, 100, 100), Some(&'a'));
        assert_eq!(spaces.find(0, 199, 1), Some(&'a'));
        assert_eq!(spaces.find(0, 199, 2), None);
        assert_eq!(spaces.find(0, 200, 100), Some(&'b'));
        assert_eq!((spaces.find(0, 99, 1), spaces.find(0, 300, 1)), (None, None));
        assert_eq!((spaces.find(1, 110, 11), spaces.find(2, 110, 1)), (None, None));
        assert_eq!(spaces.find(0, usize::MAX, usize::MAX), None);
        assert_eq!((spaces.remove(0, 150), spaces.remove(0, 100)), (None, Some('a')));
        assert_eq!(spaces.find(0, 150, 1), None);
        for overlap in [199..201, 250..260, 299..400, 100..400, 200..300, 5..5] {
            assert!(!spaces.insert(0, overlap.clone(), 'd'), "{overlap:?}");
        }
    }

    proptest! {
        #[test]
        fn finds_what_a_search_of_all_finds(
            starts in prop::collection::btree_set(0..100_usize, 1..20),
            (address, len) in (0..1100_usize, 0..30_usize),
        ) {
            let mut spaces = Spaces::new(1);
            let memory: Vec<Range<usize>> = starts.iter().map(|i| i * 10..i * 10 + 3 + i % 8).collect();
            for range in memory.iter().rev() {
                prop_assert!(spaces.insert(0, range.clone(), range.start));
            }
            let inside = |range: &&Range<usize>| range.start <= address && address + len <= range.end;
            // An empty run behind the end of one may be at the beginning of the next.
            let last = memory.iter().rfind(inside).map(|range| range.start);
            prop_assert_eq!(spaces.find(0, address, len).copied(), last);
        }
    }
}
