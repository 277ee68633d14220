//! Ranks on processors: who runs where, and moving away from a crowd.
//!
//! With more ranks than processors, three on one and one on the other is half as fast as two and
//! two, and the kernel, to which ranks that wait look busy, leaves it so for seconds. A rank that
//! finds itself in the larger crowd moves over once; it binds itself to nothing.

use crate::endpoint::Shm;
use crate::processors::{self, Processors};
use core::sync::atomic::Ordering;
use hpvm_transport::{Packets, Rank};
use hpvm_wire::segment::PROCESSOR_WORDS;

/// Most ranks of a host that look after each other: looking costs a cache line for each.
const MAX_RANKS: u32 = 64;
/// Times in a row that a better processor has to be seen before it is taken.
const SIGHTINGS: u32 = 4;
/// Processors that are told apart: more than any Linux has.
const PROCESSORS: usize = 64 * PROCESSOR_WORDS;

impl Shm {
    /// True when another rank that is awake was last seen waiting on the processor that runs us:
    /// polling would keep that rank from answering. Tells the others where we are. Costs a cache
    /// line per rank, so jobs of many ranks do not ask.
    pub fn shares_processor(&self) -> bool {
        const FEW: u32 = 16;
        if self.size() > FEW {
            return false;
        }
        let here = self.show_processor();
        (0..self.size()).filter(|r| *r != self.rank()).any(|r| {
            // Relaxed: a hint, which orders nothing.
            let awake = self.mapping().control(r).doorbell.load(Ordering::Relaxed) == 0;
            here != 0 && self.processor(r) == here && awake
        })
    }

    /// Shows the others on which processor we run: one more than its number, 0 for unknown.
    #[inline]
    pub fn show_processor(&self) -> u32 {
        // SAFETY: no arguments; a failure is -1, which becomes 0: nowhere.
        let here = (unsafe { libc::sched_getcpu() } + 1) as u32;
        let word = &self.mapping().control(self.rank()).processor;
        // Relaxed, here and below: a hint, which orders nothing.
        if word.load(Ordering::Relaxed) != here {
            word.store(here, Ordering::Relaxed); // relaxed: as above
        }
        here
    }

    /// Where `rank` was when it last said so, as [`Shm::show_processor`] does.
    #[inline]
    pub fn processor(&self, rank: Rank) -> u32 {
        // Relaxed: as above.
        self.mapping().control(rank).processor.load(Ordering::Relaxed)
    }

    /// Moves this thread to a processor with at least two ranks less than its own, if there is one
    /// that it may use and no higher rank is on ours that could go. To be called now and then while
    /// waiting: it moves when it has been so a few times in a row, because what ranks last said of
    /// what they show may be old. Two system calls when it moves.
    pub fn migrate(&mut self) {
        if self.size() > MAX_RANKS {
            return;
        }
        let here = self.show_processor();
        let processors = (0..self.size()).map(|rank| self.processor(rank));
        let processors: Vec<usize> = processors.map(|processor| processor as usize).collect();
        let Some(allowed) = processors::own() else { return };
        match better(&processors, self.rank() as usize, here as usize, &allowed) {
            None => self.displaced = 0,
            Some(_) if self.displaced < SIGHTINGS => self.displaced += 1,
            Some(target) => {
                move_to(target, &allowed);
                self.show_processor();
                self.displaced = 0;
            }
        }
    }
}

/// The one of the processors in `allowed` that rank `me` on processor `here - 1` should move to. `processors` holds, one
/// more than its number, the processor of each rank; 0 for unknown.
fn better(processors: &[usize], me: usize, here: usize, allowed: &Processors) -> Option<usize> {
    // As long as somebody has not said where it is, the counts mean nothing.
    if here == 0 || processors.iter().any(|p| *p == 0 || *p > PROCESSORS) {
        return None;
    }
    let count = |processor: usize| processors.iter().filter(|p| **p == processor).count();
    let last = processors.iter().rposition(|p| *p == here)?;
    let ours = count(here);
    let enough = ours.checked_sub(2)?;
    let emptiest = numbers(allowed).min_by_key(|p| count(p + 1))?;
    (last == me && count(emptiest + 1) <= enough).then_some(emptiest)
}

/// The numbers of the processors in a mask.
fn numbers(mask: &Processors) -> impl Iterator<Item = usize> + '_ {
    let words = mask.iter().enumerate().filter(|(_, bits)| **bits != 0);
    words.flat_map(|(word, bits)| {
        let set = (0..64).filter(move |bit| bits >> *bit & 1 != 0);
        set.map(move |bit| 64 * word + bit)
    })
}

/// Moves this thread to `processor` and lets it go on from there wherever it was allowed.
fn move_to(processor: usize, allowed: &Processors) {
    let mut target: Processors = [0; PROCESSOR_WORDS];
    target[processor / 64] = 1 << (processor % 64);
    for mask in [&target, allowed] {
        // SAFETY: the kernel reads a mask of as many bytes. A failure leaves us where we are.
        unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(processors: &[usize]) -> Processors {
        let mut mask = [0; PROCESSOR_WORDS];
        processors.iter().for_each(|p| mask[p / 64] |= 1 << (p % 64));
        mask
    }

    #[test]
    fn the_last_of_a_crowd_moves() {
        let two = &mask(&[0, 1]);
        assert_eq!(better(&[1, 1, 1, 2], 2, 1, two), Some(1));
        assert_eq!(better(&[1, 1, 1, 2], 1, 1, two), None, "a higher rank goes");
        assert_eq!(better(&[1, 1, 2, 2], 1, 1, two), None);
        assert_eq!(better(&[1, 1, 2], 1, 1, two), None, "no better there");
        assert_eq!(better(&[1, 1], 1, 1, two), Some(1));
        assert_eq!(better(&[1, 1], 1, 1, &mask(&[0])), None, "may not go there");
        assert_eq!(better(&[1, 1, 0, 1], 3, 1, two), None, "one is unknown");
        assert_eq!(better(&[1, 1, usize::MAX, 1], 3, 1, two), None, "garbage");
        assert_eq!(better(&[2, 2, 2, 2, 2], 4, 1, two), None, "we are not where we said");
    }

    #[test]
    fn on_a_large_machine_ranks_move_too() {
        let allowed = &mask(&[1500, 1501, PROCESSORS - 1]);
        assert_eq!(better(&[1501, 1501], 1, 1501, allowed), Some(1501));
        assert_eq!(better(&[1501, 1501, 1502, 1502], 3, 1502, allowed), Some(PROCESSORS - 1));
    }

    #[test]
    fn moving_binds_to_nothing() {
        let before = processors::own().unwrap();
        for processor in numbers(&before) {
            move_to(processor, &before);
            assert_eq!(processors::own().unwrap(), before);
        }
    }
}
