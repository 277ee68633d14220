//! The owner's account of the data ring behind its slots: which bytes others may still read, and where the next data go.

use hpvm_wire::coll_slots::{DATA_BYTES, INLINE, SLOT_BYTES};
use std::collections::VecDeque;

/// Data begin with a pair of cache lines, which processors fetch together.
const ALIGN: usize = 128;

/// Longer data go round in the first half of the ring: what eight of them touch leaves a processor's own cache, so
/// that the ring would be written out of a slower one.
const HALF_RING_BYTES_MIN: usize = SLOT_BYTES / 4 * 3;

/// Data that members may be reading, the oldest first: the operation's number, and where they begin.
#[derive(Debug, Default)]
pub(super) struct DataRing {
    outstanding: VecDeque<(u64, usize)>,
    /// Behind the last data.
    end: usize,
}

impl DataRing {
    /// Where `len` bytes can go when all members have finished operation `safe`; `None`: not yet. What lies in a slot,
    /// or is too long for the ring, needs no room.
    pub fn find(&self, len: usize, safe: u64) -> Option<usize> {
        if !(INLINE + 1..=SLOT_BYTES).contains(&len) {
            return Some(0);
        }
        let oldest = self.outstanding.iter().find(|(number, _)| *number > safe);
        let ring = if len > HALF_RING_BYTES_MIN { DATA_BYTES / 2 } else { DATA_BYTES };
        let fits = |from: usize, to: usize| from + len <= to.min(ring);
        match oldest {
            None if fits(self.end, ring) => Some(self.end),
            None => Some(0),
            // The bytes from `start` on are read: to `end`, or to the end of the ring and on from its beginning.
            Some((_, start)) if *start < self.end => {
                let behind = fits(self.end, ring).then_some(self.end);
                behind.or((fits(0, *start)).then_some(0))
            }
            Some((_, start)) => fits(self.end, *start).then_some(self.end),
        }
    }

    /// The data of operation `number` have been put at `at`, which `find` has told for `safe`.
    pub fn take(&mut self, number: u64, at: usize, len: usize, safe: u64) {
        if !(INLINE + 1..=SLOT_BYTES).contains(&len) {
            return;
        }
        while self.outstanding.front().is_some_and(|(number, _)| *number <= safe) {
            self.outstanding.pop_front();
        }
        self.outstanding.push_back((number, at));
        self.end = (at + len).next_multiple_of(ALIGN);
    }

    /// Nobody reads any more.
    pub fn clear(&mut self) {
        self.outstanding.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Of data that are outstanding no byte is given away, and what all have finished can be used again.
        #[test]
        fn outstanding_data_stay(steps in proptest::collection::vec((1..SLOT_BYTES, 0..6u64), 1..200)) {
            let (mut ring, mut safe) = (DataRing::default(), 0);
            let mut live: Vec<(u64, usize, usize)> = Vec::new();
            for (number, (len, lag)) in (1..).zip(steps) {
                let at = loop {
                    match ring.find(len, safe) {
                        Some(at) => break at,
                        None => safe += 1,
                    }
                    prop_assert!(safe < number, "with all finished there is room");
                };
                live.retain(|(n, ..)| *n > safe);
                if len > INLINE {
                    prop_assert!(at + len <= DATA_BYTES);
                    for (_, from, bytes) in &live {
                        prop_assert!(at + len <= *from || from + bytes <= at, "{live:?} {at} {len}");
                    }
                    live.push((number, at, len));
                }
                ring.take(number, at, len, safe);
                safe = safe.max(number.saturating_sub(lag));
            }
        }
    }
}
