//! Locks on ranges of a striped file, kept by the owner of its first stripe. Pure state.

use std::ops::Range;

/// Who has a lock or waits for one: a rank, and the number that it has given the lock.
pub type Holder = (usize, u32);

/// Locks in the order in which they were asked for. Nobody is overtaken by a later lock that conflicts with its own,
/// so none waits for ever.
#[derive(Debug, Default)]
pub struct Locks {
    all: Vec<Lock>,
}

#[derive(Debug)]
struct Lock {
    holder: Holder,
    range: Range<u64>,
    /// For writing.
    alone: bool,
    held: bool,
}

impl Lock {
    fn conflicts(&self, other: &Lock) -> bool {
        (self.alone || other.alone)
            && self.range.start < other.range.end
            && other.range.start < self.range.end
    }
}

impl Locks {
    /// Asks for a lock. Says who has got one.
    pub fn ask(&mut self, holder: Holder, range: Range<u64>, alone: bool) -> Vec<Holder> {
        self.all.push(Lock { holder, range, alone, held: false });
        self.grant()
    }

    /// Ends a lock, or the wait for it. Says who has got one.
    pub fn release(&mut self, holder: Holder) -> Vec<Holder> {
        self.all.retain(|lock| lock.holder != holder);
        self.grant()
    }

    /// Ends all locks of ranks that have died. Says who has got one.
    pub fn lose(&mut self, is_lost: impl Fn(usize) -> bool) -> Vec<Holder> {
        self.all.retain(|lock| !is_lost(lock.holder.0));
        self.grant()
    }

    /// Somebody waits for a lock.
    pub fn has_waiting(&self) -> bool {
        self.all.iter().any(|lock| !lock.held)
    }

    fn grant(&mut self) -> Vec<Holder> {
        let mut granted = Vec::new();
        for place in 0..self.all.len() {
            let (before, rest) = self.all.split_at_mut(place);
            let Some(lock) = rest.first_mut() else { break };
            if !lock.held && !before.iter().any(|other| other.conflicts(lock)) {
                lock.held = true;
                granted.push(lock.holder);
            }
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn readers_share_and_a_writer_is_not_overtaken() {
        let mut locks = Locks::default();
        assert_eq!(locks.ask((0, 1), 0..10, false), [(0, 1)]);
        assert_eq!(locks.ask((1, 1), 5..6, false), [(1, 1)]);
        assert_eq!(locks.ask((2, 1), 0..10, true), []);
        assert_eq!(locks.ask((3, 1), 5..6, false), [], "the writer came first");
        assert_eq!(locks.ask((3, 2), 10..11, true), [(3, 2)], "another range");
        assert_eq!(locks.release((0, 1)), []);
        assert_eq!(locks.lose(|rank| rank == 1), [(2, 1)]);
        assert_eq!(locks.lose(|rank| rank == 2), [(3, 1)]);
    }

    proptest! {
        /// Whatever is asked for, released and lost: no two locks that are held conflict, whoever waits is held up by an
        /// earlier one, and all get theirs in the end.
        #[test]
        fn no_conflict_and_no_starvation(
            steps in prop::collection::vec((0usize..5, 0u64..20, 1u64..8, any::<bool>(), 0u8..4), 1..60),
        ) {
            let mut locks = Locks::default();
            let mut held: Vec<Holder> = Vec::new();
            for (number, (rank, at, len, alone, step)) in steps.iter().enumerate() {
                let got = match step {
                    0 | 1 => locks.ask((*rank, number as u32), *at..at + len, *alone),
                    2 if !held.is_empty() => {
                        let holder = held.swap_remove(*at as usize % held.len());
                        locks.release(holder)
                    }
                    _ => {
                        held.retain(|holder| holder.0 != *rank);
                        locks.lose(|lost| lost == *rank)
                    }
                };
                held.extend(got);
                for (place, one) in locks.all.iter().enumerate() {
                    let hinders = |other: &&Lock| other.conflicts(one);
                    let hindered = locks.all[..place].iter().any(|other| hinders(&other));
                    prop_assert_eq!(one.held, !hindered);
                    prop_assert_eq!(one.held, held.contains(&one.holder));
                }
            }
            while let Some(holder) = held.pop() {
                held.extend(locks.release(holder));
            }
            prop_assert!(locks.all.is_empty());
        }
    }
}
