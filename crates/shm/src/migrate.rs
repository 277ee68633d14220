//! Ranks on processors: who runs where, and moving away from a crowd.
//!
//! With more ranks than processors, three on one and one on the other is half as fast as two and
//! two, and the kernel, to which ranks that wait look busy, leaves it so for seconds. A rank that
//! finds itself in the larger crowd moves over once; it binds itself to nothing.

use crate::endpoint::Shm;
use core::sync::atomic::Ordering;
use hpvm_transport::{Packets, Rank};

/// Most ranks of a host that look after each other: looking costs a cache line for each.
const MAX_RANKS: u32 = 64;
/// Times in a row that a better processor has to be seen before it is taken.
const SIGHTINGS: u32 = 4;
/// Processors that are told apart.
const PROCESSORS: usize = libc::CPU_SETSIZE as usize;

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
        let Some(allowed) = allowed() else { return };
        // SAFETY: the set is a plain bit mask, and the number is below its size.
        let may_use = |processor: usize| unsafe { libc::CPU_ISSET(processor, &allowed) };
        match better(&processors, self.rank() as usize, here as usize, may_use) {
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

/// The processor that rank `me` on processor `here - 1` should move to. `processors` holds, one more
/// than its number, the processor of each rank; 0 for unknown.
fn better(
    processors: &[usize],
    me: usize,
    here: usize,
    may_use: impl Fn(usize) -> bool,
) -> Option<usize> {
    // As long as somebody has not said where it is, the counts mean nothing.
    if here == 0 || processors.iter().any(|p| *p == 0 || *p > PROCESSORS) {
        return None;
    }
    let count = |processor: usize| processors.iter().filter(|p| **p == processor).count();
    let last = processors.iter().rposition(|p| *p == here)?;
    let ours = count(here);
    let enough = ours.checked_sub(2)?;
    let emptiest = (0..PROCESSORS).filter(|p| may_use(*p)).min_by_key(|p| count(p + 1))?;
    (last == me && count(emptiest + 1) <= enough).then_some(emptiest)
}

/// The processors that this thread may use.
fn allowed() -> Option<libc::cpu_set_t> {
    // SAFETY: all zeroes is an empty set.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: the set is as long as we say.
    let failed = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0;
    (!failed).then_some(set)
}

/// Moves this thread to `processor` and lets it go on from there wherever it was allowed.
fn move_to(processor: usize, allowed: &libc::cpu_set_t) {
    // SAFETY: all zeroes is an empty set; the number is below its size.
    let target = unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        set
    };
    // SAFETY: both sets are as long as we say. A failure leaves us where we are.
    unsafe {
        libc::sched_setaffinity(0, size_of_val(&target), &target);
        libc::sched_setaffinity(0, size_of_val(allowed), allowed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_crowd_moves() {
        let two = |p: usize| p < 2;
        assert_eq!(better(&[1, 1, 1, 2], 2, 1, two), Some(1));
        assert_eq!(better(&[1, 1, 1, 2], 1, 1, two), None, "a higher rank goes");
        assert_eq!(better(&[1, 1, 2, 2], 1, 1, two), None);
        assert_eq!(better(&[1, 1, 2], 1, 1, two), None, "no better there");
        assert_eq!(better(&[1, 1], 1, 1, two), Some(1));
        assert_eq!(better(&[1, 1], 1, 1, |p| p == 0), None, "may not go there");
        assert_eq!(better(&[1, 1, 0, 1], 3, 1, two), None, "one is unknown");
        assert_eq!(better(&[1, 1, usize::MAX, 1], 3, 1, two), None, "garbage");
        assert_eq!(better(&[2, 2, 2, 2, 2], 4, 1, two), None, "we are not where we said");
    }

    #[test]
    fn moving_binds_to_nothing() {
        let before = allowed().unwrap();
        let processors = (0..PROCESSORS)
            // SAFETY: the number is below the size of the set.
            .filter(|p| unsafe { libc::CPU_ISSET(*p, &before) });
        for processor in processors {
            move_to(processor, &before);
            let after = allowed().unwrap();
            // SAFETY: plain masks.
            assert!(unsafe { libc::CPU_EQUAL(&before, &after) });
        }
    }
}
