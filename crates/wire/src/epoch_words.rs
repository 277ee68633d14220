//! Words in which ranks of a host tell a rank of a window that they have posted or completed (`MPI_Win_post` and
//! `MPI_Win_complete`, MPI 5.0, section 12.5.2): beside the memory of the rank that is told, which looks at them while it
//! waits. What is told so crosses from one processor to the other as one line.
//!
//! Each rank has two words there, counts that nobody else writes, so that it needs no locked operation. Who has looked in vain for long
//! says so in a word of its own ([`EpochWords::set_waits`]), and whoever tells it something from then on also sends it a packet, by which it waits
//! as for everything else.

use hpvm_sync::atomic::{AtomicU64, fence};
use hpvm_sync::order;

/// The words of one rank. `waits` is written by that rank, of the counts each by the rank that it is of.
#[derive(Clone, Copy, Debug)]
pub struct EpochWords<'a> {
    waits: &'a AtomicU64,
    posts: &'a [AtomicU64],
    completions: &'a [AtomicU64],
}

/// What a rank tells another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Post,
    Complete,
}

/// Words for a window of `ranks` ranks.
pub const fn words(ranks: usize) -> usize {
    1 + 2 * ranks
}

impl<'a> EpochWords<'a> {
    /// `None`: there are too few words.
    #[inline]
    pub fn new(words: &'a [AtomicU64], ranks: usize) -> Option<EpochWords<'a>> {
        let (waits, counts) = words.split_first()?;
        let (posts, counts) = counts.split_at_checked(ranks)?;
        let completions = counts.get(..ranks)?;
        Some(EpochWords { waits, posts, completions })
    }

    #[inline]
    fn of(&self, told: Told) -> &'a [AtomicU64] {
        match told {
            Told::Post => self.posts,
            Told::Complete => self.completions,
        }
    }

    /// How often rank `from` has told it.
    #[inline]
    pub fn count(&self, from: usize, told: Told) -> u64 {
        // Acquire pairs with the release in `tell`: what the rank did before comes first.
        self.of(told)[from].load(order!(Acquire, "epoch_words.count"))
    }

    /// Rank `from`, the caller's, tells it for the `count`th time. `has_told` is to follow, and then `waits`.
    #[inline]
    pub fn tell(&self, from: usize, told: Told, count: u64) {
        // Release pairs with the acquire in `count`.
        self.of(told)[from].store(count, order!(Release, "epoch_words.tell"));
    }

    /// Between `tell` and `waits`, once for all ranks that have been told.
    #[inline]
    pub fn has_told() {
        // SeqCst pairs with the fence in `set_waits`: either that rank sees the count, or this one sees that it waits.
        fence(order!(SeqCst, "epoch_words.told"));
    }

    /// Whether the rank is to get a packet, because it does not look.
    #[inline]
    pub fn waits(&self) -> bool {
        self.waits.load(order!(Relaxed, "")) != 0
    }

    /// From now on `waiting` threads of the rank wait for packets. They look at the counts once more.
    pub fn set_waits(&self, waiting: u64) {
        self.waits.store(waiting, order!(Relaxed, ""));
        // SeqCst pairs with the fence in `has_told`.
        fence(order!(SeqCst, "epoch_words.waits"));
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_words_of_its_own() {
        let memory: Vec<_> = (0..words(3)).map(|_| AtomicU64::new(0)).collect();
        assert!(EpochWords::new(&memory[..words(3) - 1], 3).is_none());
        let words = EpochWords::new(&memory, 3).unwrap();
        words.tell(0, Told::Post, 1);
        words.tell(2, Told::Complete, 7);
        words.set_waits(1);
        assert!(words.waits());
        let counts = |told| [0, 1, 2].map(|from| words.count(from, told));
        assert_eq!((counts(Told::Post), counts(Told::Complete)), ([1, 0, 0], [0, 0, 7]));
    }
}

#[cfg(all(test, hpvm_loom))]
mod loom_tests {
    use super::*;
    use hpvm_sync::atomic::AtomicBool;
    use hpvm_sync::loom;
    use hpvm_sync::loom::cell::UnsafeCell;
    use hpvm_sync::weaken::{Table, check_noticed};
    use std::sync::Arc;

    struct Model {
        words: Vec<AtomicU64>,
        /// The packet.
        packet: AtomicBool,
        memory: UnsafeCell<u32>,
    }

    /// One rank puts and completes, and the other one looks once, says that it waits, and looks again: it has the data, or a packet comes.
    fn nobody_waits_in_vain() {
        loom::model(|| {
            let words = (0..words(2)).map(|_| AtomicU64::new(0)).collect();
            let (packet, memory) = (AtomicBool::new(false), UnsafeCell::new(0));
            let model = Arc::new(Model { words, packet, memory });
            let origin = {
                let model = model.clone();
                loom::thread::spawn(move || {
                    // SAFETY: the target looks when it has been told; loom looks whether that is so.
                    model.memory.with_mut(|memory| unsafe { *memory = 5 });
                    let words = EpochWords::new(&model.words, 2).unwrap();
                    words.tell(1, Told::Complete, 1);
                    EpochWords::has_told();
                    // The packet carries nothing: the counts are looked at again when it comes.
                    model.packet.store(words.waits(), std::sync::atomic::Ordering::Relaxed);
                })
            };
            let words = EpochWords::new(&model.words, 2).unwrap();
            let mut over = words.count(1, Told::Complete) == 1;
            if !over {
                words.set_waits(1);
                over = words.count(1, Told::Complete) == 1;
            }
            if over {
                // SAFETY: as above.
                model.memory.with(|memory| assert_eq!(unsafe { *memory }, 5));
            }
            origin.join().unwrap();
            assert!(over || model.packet.load(std::sync::atomic::Ordering::Relaxed));
        });
    }

    #[test]
    fn every_ordering_is_needed() {
        nobody_waits_in_vain();
        let table: &Table = &[
            ("epoch_words.count", nobody_waits_in_vain),
            ("epoch_words.tell", nobody_waits_in_vain),
            ("epoch_words.told", nobody_waits_in_vain),
            ("epoch_words.waits", nobody_waits_in_vain),
        ];
        check_noticed(table);
    }
}
