//! Load balance between processors: where processes wait, and when one moves. Ranks of a job and tasks of PVM share
//! these rules.
//!
//! With more waiting processes than processors, three processes on one processor and one on the other are half as fast
//! as two and two, and two processes that exchange messages are slower on one processor than on two. The kernel leaves
//! it so for seconds, because processes that poll look busy. So each process shows the others on which processor it
//! waits. A process that sees a processor with fewer of them moves there once; it does not bind itself.

use crate::processors::{self, Processors};
use hpvm_sync::atomic::{AtomicU32, Ordering};
use hpvm_wire::segment::PROCESSOR_WORDS;

/// Times in a row that a better processor has to be seen before it is taken: what others last showed may be old.
const SIGHTINGS: u32 = 4;
/// Processors that are told apart: more than any Linux has.
const PROCESSORS: usize = 64 * PROCESSOR_WORDS;

/// The processor that runs us: one more than its number, 0 for unknown.
#[inline]
pub fn here() -> u32 {
    // SAFETY: no arguments; a failure is -1, which becomes 0.
    (unsafe { libc::sched_getcpu() } + 1) as u32
}

/// Shows in `word` that we are on the processor `here`.
#[inline]
pub fn show(word: &AtomicU32, here: u32) {
    // Relaxed: a hint, which orders nothing.
    if word.load(Ordering::Relaxed) != here {
        word.store(here, Ordering::Relaxed); // relaxed: as above
    }
}

/// What a process remembers of better processors that it has seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balance {
    /// Times in a row that one was seen.
    displaced: u32,
}

impl Balance {
    /// Moves this thread to a processor with at least two processes less than its own, if there is one that it may use and
    /// nobody behind it in `shown` is on ours, who could go. `shown` is where each process was when it last said so, ours
    /// at `me`, as [`here`] counts. To be called now and then while waiting: it moves when it has been so a few times in a
    /// row. Two system calls when it moves. Returns whether it has.
    pub fn migrate(&mut self, shown: &[u32], me: usize) -> bool {
        let here = shown.get(me).copied().unwrap_or_default();
        let Some(allowed) = processors::own() else { return false };
        let target = better(shown, me, here, &allowed);
        self.displaced = if target.is_some() { self.displaced + 1 } else { 0 };
        match target {
            Some(target) if self.displaced > SIGHTINGS => {
                move_to(target, &allowed);
                self.displaced = 0;
                true
            }
            _ => false,
        }
    }
}

/// The number of processors that this thread may use; 0: the system does not tell.
pub fn usable() -> usize {
    let ones = |mask: Processors| mask.iter().map(|word| word.count_ones() as usize).sum();
    processors::own().map_or(0, ones)
}

/// The one of the processors in `allowed` that the process at `me`, on processor `here - 1`, should move to.
fn better(shown: &[u32], me: usize, here: u32, allowed: &Processors) -> Option<usize> {
    // As long as somebody has not said where it is, the counts mean nothing.
    if here == 0 || shown.iter().any(|p| *p == 0 || *p as usize > PROCESSORS) {
        return None;
    }
    let count = |processor: usize| shown.iter().filter(|p| **p as usize == processor).count();
    let last = shown.iter().rposition(|p| *p == here)?;
    let enough = count(here as usize).checked_sub(2)?;
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
    fn the_last_on_a_full_processor_moves() {
        let two = &mask(&[0, 1]);
        assert_eq!(better(&[1, 1, 1, 2], 2, 1, two), Some(1));
        assert_eq!(better(&[1, 1, 1, 2], 1, 1, two), None, "a higher rank goes");
        assert_eq!(better(&[1, 1, 2, 2], 1, 1, two), None);
        assert_eq!(better(&[1, 1, 2], 1, 1, two), None, "no better there");
        assert_eq!(better(&[1, 1], 1, 1, two), Some(1));
        assert_eq!(better(&[1, 1], 1, 1, &mask(&[0])), None, "may not go there");
        assert_eq!(better(&[1, 1, 0, 1], 3, 1, two), None, "one is unknown");
        assert_eq!(better(&[1, 1, u32::MAX, 1], 3, 1, two), None, "garbage");
        assert_eq!(better(&[2, 2, 2, 2, 2], 4, 1, two), None, "we are not where we said");
    }

    #[test]
    fn on_a_large_machine_processes_move_too() {
        let allowed = &mask(&[1500, 1501, PROCESSORS - 1]);
        assert_eq!(better(&[1501, 1501], 1, 1501, allowed), Some(1501));
        assert_eq!(better(&[1501, 1501, 1502, 1502], 3, 1502, allowed), Some(PROCESSORS - 1));
    }

    /// The set of a thread, and so that of other tests, stays as it is.
    #[test]
    fn moving_binds_to_nothing() {
        let before = processors::own().unwrap();
        for processor in numbers(&before) {
            move_to(processor, &before);
            assert_eq!(processors::own().unwrap(), before);
        }
    }

    #[test]
    fn a_full_processor_is_left_when_it_was_seen_a_few_times_in_a_row() {
        let before = processors::own().unwrap();
        let mut usable = numbers(&before);
        let (Some(first), Some(_)) = (usable.next(), usable.next()) else { return };
        let here = first as u32 + 1;
        let mut balance = Balance::default();
        for _ in 0..SIGHTINGS {
            assert!(!balance.migrate(&[here, here], 1));
        }
        // Alone meanwhile: counted anew.
        assert!(!balance.migrate(&[here + 1, here], 1));
        for _ in 0..SIGHTINGS {
            assert!(!balance.migrate(&[here, here], 1));
        }
        assert!(balance.migrate(&[here, here], 1), "the fifth time in a row");
    }
}
