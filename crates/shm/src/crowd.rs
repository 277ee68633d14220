//! Who runs on which processor, and moving away from a crowd: what ranks of a job and tasks of PVM have in common.
//!
//! With more waiting processes than processors, three on one and one on the other is half as fast as two and two, and
//! two on one are slower than two on two; the kernel, to which processes that wait look busy, leaves it so for seconds. Each
//! shows the others on which processor it waits. One that finds itself in the larger crowd moves over once; it binds
//! itself to nothing.

use hpvm_sync::atomic::{AtomicU32, Ordering};

/// Times in a row that a better processor has to be seen before it is taken: what others last showed may be old.
const SIGHTINGS: u32 = 4;
/// Processors that are told apart.
const PROCESSORS: usize = libc::CPU_SETSIZE as usize;

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

/// What a process remembers of crowds that it was in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowd {
    /// Times in a row that a better processor was seen.
    displaced: u32,
}

impl Crowd {
    /// Moves this thread to a processor with at least two processes less than its own, if there is one that it may use and
    /// nobody behind it in `shown` is on ours, who could go. `shown` is where each process was when it last said so, ours
    /// at `me`, as [`here`] counts. To be called now and then while waiting: it moves when it has been so a few times in a
    /// row. Two system calls when it moves. Whether it has.
    pub fn leave(&mut self, shown: &[u32], me: usize) -> bool {
        let here = shown.get(me).copied().unwrap_or_default();
        let Some(allowed) = allowed() else { return false };
        // SAFETY: the set is a plain bit mask, and the number is below its size.
        let may_use = |processor: usize| unsafe { libc::CPU_ISSET(processor, &allowed) };
        let target = better(shown, me, here, may_use);
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
pub fn choice() -> usize {
    // SAFETY: reads a plain bit mask.
    allowed().map_or(0, |set| unsafe { libc::CPU_COUNT(&set) } as usize)
}

/// The processor that the process at `me`, on processor `here - 1`, should move to.
fn better(shown: &[u32], me: usize, here: u32, may_use: impl Fn(usize) -> bool) -> Option<usize> {
    // As long as somebody has not said where it is, the counts mean nothing.
    if here == 0 || shown.iter().any(|p| *p == 0 || *p as usize > PROCESSORS) {
        return None;
    }
    let count = |processor: usize| shown.iter().filter(|p| **p as usize == processor).count();
    let last = shown.iter().rposition(|p| *p == here)?;
    let enough = count(here as usize).checked_sub(2)?;
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
        assert_eq!(better(&[1, 1, u32::MAX, 1], 3, 1, two), None, "garbage");
        assert_eq!(better(&[2, 2, 2, 2, 2], 4, 1, two), None, "we are not where we said");
    }

    /// The set of a thread, and so that of other tests, stays as it is.
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

    #[test]
    fn a_crowd_is_left_when_it_was_seen_a_few_times_in_a_row() {
        let before = allowed().unwrap();
        // SAFETY: the numbers are below the size of the set.
        let mut usable = (0..PROCESSORS).filter(|p| unsafe { libc::CPU_ISSET(*p, &before) });
        let (Some(first), Some(_)) = (usable.next(), usable.next()) else { return };
        let here = first as u32 + 1;
        let mut crowd = Crowd::default();
        for _ in 0..SIGHTINGS {
            assert!(!crowd.leave(&[here, here], 1));
        }
        // Alone meanwhile: counted anew.
        assert!(!crowd.leave(&[here + 1, here], 1));
        for _ in 0..SIGHTINGS {
            assert!(!crowd.leave(&[here, here], 1));
        }
        assert!(crowd.leave(&[here, here], 1), "the fifth time in a row");
    }
}
