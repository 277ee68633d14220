//! The control block of a split copy: sender and receiver of a large message copy it at the same time, the receiver from
//! its beginning and the sender from its end, until they meet.
//!
//! The receiver *opens* one of its control blocks for a message and tells the sender. Both *claim* parts and copy them,
//! each as fast as it can: a sender that computes claims nothing, and the receiver copies everything. Parts become smaller
//! towards the middle, so that neither side waits long for the other's last part. The side that finishes the last part
//! sees this in the block, and tells the other.

use core::ops::Range;
use hpvm_sync::Padded;
use hpvm_sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Split copies that a receiver may have open at the same time.
pub const SPLIT_COPIES: usize = 4;
/// Most units of a message.
const MAX_UNITS: u64 = 0xffff;
/// Parts are whole pages.
const PAGE: u64 = 4096;
/// Shortest part but the last, bytes: a call of the kernel costs as much as copying 8 KiB.
const MIN_PART: u64 = 32 * 1024;
/// Longest part, bytes, as far as units are not longer: nobody else gets the engine of a process meanwhile,
/// which is some 100 µs.
const MAX_PART: u64 = 1024 * 1024;
/// A claim takes so much of what is left: one over this.
const SHARE: u32 = 3;

/// Bytes of a unit, in which the parts of a message of `len` bytes are counted.
pub const fn unit(len: u64) -> u64 {
    (len / MAX_UNITS + 1).next_multiple_of(PAGE)
}

/// Units of a message of `len` bytes, which is not 0.
pub const fn units(len: u64) -> u32 {
    len.div_ceil(unit(len)) as u32
}

/// Bytes of a message of `len` bytes that lie in `part`.
pub fn bytes(len: u64, part: &Range<u32>) -> Range<u64> {
    let at = |unit_index: u32| (u64::from(unit_index) * unit(len)).min(len);
    at(part.start)..at(part.end)
}

/// From which end parts are claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The receiver's.
    Front,
    /// The sender's.
    Back,
}

/// A control block.
///
/// Access rules: the owner, who is the receiver, alone opens it, and only when all parts of the last message
/// have been finished. Afterwards the owner and the sender whom it told the generation claim and finish.
pub struct SplitCopy {
    /// Generation (32 bits), first unit that nobody has claimed, and the one behind the last (16 each).
    claims: Padded<AtomicU64>,
    /// Units that have been finished.
    finished: AtomicU32,
}

impl SplitCopy {
    /// A control block as a fresh segment has it.
    pub fn new() -> SplitCopy {
        SplitCopy { claims: Padded(AtomicU64::new(0)), finished: AtomicU32::new(0) }
    }

    /// Opens it for a message of `units`, at most 65535. Returns what it is called until all of them are
    /// finished; `None` when it has been opened as often as there are such names, so that a sender
    /// that comes late can not take another message's control block for its own.
    pub fn open(&self, units: u32) -> Option<u32> {
        // Relaxed: only the owner changes the generation.
        let generation = generation(self.claims.0.load(Ordering::Relaxed)).checked_add(1)?;
        // Relaxed: the release below orders it before every claim.
        self.finished.store(0, Ordering::Relaxed);
        // Release pairs with the acquire in `claim`.
        self.claims.0.store(pack(generation, 0, units.min(MAX_UNITS as u32)), Ordering::Release);
        Some(generation)
    }

    /// The next part of the message of `len` bytes that it was opened for as `name`. `None`: all have been
    /// claimed, or it serves another message by now.
    pub fn claim(&self, name: u32, end: End, len: u64) -> Option<Range<u32>> {
        let least = MIN_PART.div_ceil(unit(len)) as u32;
        // Relaxed: a guess for the exchange.
        let mut seen = self.claims.0.load(Ordering::Relaxed);
        loop {
            let (front, back) = (seen as u32 & 0xffff, seen as u32 >> 16);
            let left = back.checked_sub(front).filter(|left| *left != 0)?;
            if generation(seen) != name {
                return None;
            }
            let longest = (MAX_PART / unit(len)).max(1) as u32;
            let most = (left / SHARE).max(least).min(longest);
            // What is left for the other should be worth its call.
            let n = if left < most + least / 2 { left } else { most };
            let (part, new) = match end {
                End::Front => (front..front + n, pack(name, front + n, back)),
                End::Back => (back - n..back, pack(name, front, back - n)),
            };
            // Acquire pairs with the release in `open`: `finished` counts from 0.
            match self.claims.0.compare_exchange_weak(
                seen,
                new,
                Ordering::Acquire,
                Ordering::Relaxed, // a guess again
            ) {
                Ok(_) => return Some(part),
                Err(now) => seen = now,
            }
        }
    }

    /// Says that `units` have been copied, of `all`. True: they were the last, and all bytes are there.
    pub fn finish(&self, units: u32, all: u32) -> bool {
        // Who has copied nothing may be late: the count can be that of another message.
        if units == 0 {
            return false;
        }
        // Release and acquire, each other's: whoever finishes last sees all bytes.
        self.finished.fetch_add(units, Ordering::AcqRel).wrapping_add(units) == all
    }

    /// Whether `all` units have been finished, as a sender says who finished the last. Asked by the owner
    /// about the message that it serves; all bytes are there then.
    pub fn is_finished(&self, all: u32) -> bool {
        // Acquire pairs with the release in `finish`.
        self.finished.load(Ordering::Acquire) == all
    }

    /// Whether `part` is what its sender claimed last and has not finished, of `all` units, having finished
    /// all that it claimed before. Asked by the owner when it has finished what it claimed itself.
    pub fn is_given_back(&self, part: &Range<u32>, all: u32) -> bool {
        // Relaxed: the owner's own claims, and the sender's, which came before its word.
        let claims = self.claims.0.load(Ordering::Relaxed);
        let (front, back) = (claims as u32 & 0xffff, claims as u32 >> 16);
        let is_part = part.start == back && part.start < part.end && part.end <= all;
        // Acquire as above.
        is_part && self.finished.load(Ordering::Acquire) == front + (all - part.end)
    }
}

impl Default for SplitCopy {
    fn default() -> Self {
        Self::new()
    }
}

fn pack(generation: u32, front: u32, back: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(back) << 16 | u64::from(front)
}

fn generation(claims: u64) -> u32 {
    (claims >> 32) as u32
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_both_make_the_message() {
        let lens = [1, 4096, 4097, 131_072, 1 << 20, (5 << 30) + 77, 1 << 45];
        // Miri would count through tens of thousands of units of the longest.
        for len in lens.into_iter().filter(|len| !cfg!(miri) || *len <= 1 << 20) {
            for taste in 0..4 {
                let (split, all) = (SplitCopy::new(), units(len));
                assert!(u64::from(all) * unit(len) >= len && all <= 65535);
                let name = split.open(all).unwrap();
                let (mut front, mut back, mut turn) = (0, len, 0u32);
                loop {
                    let end = if turn * 7 % 4 < taste { End::Front } else { End::Back };
                    turn += 1;
                    let Some(part) = split.claim(name, end, len) else { break };
                    let bytes = bytes(len, &part);
                    // The last part may be half a shortest one longer.
                    let longest = (MAX_PART + MIN_PART / 2).max(2 * unit(len));
                    assert!(bytes.end > bytes.start && bytes.end - bytes.start <= longest);
                    match end {
                        End::Front => {
                            assert_eq!(bytes.start, front);
                            front = bytes.end;
                        }
                        End::Back => {
                            assert_eq!(bytes.end, back);
                            back = bytes.start;
                        }
                    }
                    let last = split.finish(part.end - part.start, all);
                    assert_eq!(last, front == back);
                }
                assert_eq!(front, back, "{len}");
                let long = len / MAX_PART.max(unit(len));
                assert!(u64::from(turn) < 80 + 2 * long, "{len}: {turn} parts");
            }
        }
    }

    #[test]
    fn who_comes_late_gets_nothing() {
        let split = SplitCopy::new();
        let old = split.open(100).unwrap();
        while split.claim(old, End::Front, 409_600).is_some() {}
        let new = split.open(100).unwrap();
        assert_eq!(split.claim(old, End::Back, 409_600), None);
        assert!(split.claim(new, End::Back, 409_600).is_some());
        assert!(!split.finish(0, 0), "who has done nothing was not the last");
    }

    #[test]
    fn only_what_was_claimed_last_can_be_given_back() {
        let (split, len) = (SplitCopy::new(), 100 * 4096);
        let all = units(len);
        let name = split.open(all).unwrap();
        let front = split.claim(name, End::Front, len).unwrap();
        split.finish(front.end, all);
        assert!(!split.is_given_back(&(all - 1..all), all), "nobody has claimed it");
        let first = split.claim(name, End::Back, len).unwrap();
        assert!(split.is_given_back(&first, all));
        split.finish(first.end - first.start, all);
        assert!(!split.is_given_back(&first, all), "it has been finished");
        let second = split.claim(name, End::Back, len).unwrap();
        assert!(split.is_given_back(&second, all));
        for wrong in [first, second.start..all, second.start..second.start, 0..second.end, 0..all] {
            assert!(!split.is_given_back(&wrong, all), "{wrong:?}");
        }
        assert!(!split.is_given_back(&(second.start..u32::MAX), all));
        assert!(!split.is_finished(all));
        split.finish(second.start - front.end + second.end - second.start, all);
        assert!(split.is_finished(all));
    }

    #[test]
    fn names_are_never_used_again() {
        let split = SplitCopy::new();
        split.claims.0.store(pack(u32::MAX - 1, 0, 0), Ordering::Relaxed); // relaxed: one thread
        assert_eq!(split.open(1), Some(u32::MAX));
        assert_eq!(split.open(1), None);
    }
}

#[cfg(all(test, hpvm_loom))]
mod loom_tests {
    use super::*;
    use hpvm_sync::loom;
    use hpvm_sync::loom::cell::UnsafeCell;
    use std::sync::Arc;

    /// Two messages one after the other through one split copy: every unit is written by exactly one of the
    /// two, exactly one is the last, and it may look at all that the other wrote.
    #[test]
    fn one_is_the_last_and_sees_everything() {
        const LEN: u64 = 2 * 32 * 1024;
        struct Shared {
            split: SplitCopy,
            pages: [UnsafeCell<u32>; 16],
        }
        fn copy(shared: &Shared, name: u32, end: End) -> bool {
            let mut mine = 0;
            while let Some(part) = shared.split.claim(name, end, LEN) {
                mine += part.end - part.start;
                for page in part {
                    // SAFETY: claimed by us alone; loom looks whether that is so.
                    shared.pages[page as usize].with_mut(|p| unsafe { *p += name });
                }
            }
            let last = shared.split.finish(mine, units(LEN));
            if last {
                for page in &shared.pages {
                    // SAFETY: all have been finished; loom looks.
                    assert_eq!(page.with(|p| unsafe { *p }), (1..=name).sum());
                }
            }
            last
        }
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let pages = core::array::from_fn(|_| UnsafeCell::new(0));
            let shared = Arc::new(Shared { split: SplitCopy::new(), pages });
            let name = shared.split.open(units(LEN)).unwrap();
            let sender = {
                let shared = shared.clone();
                loom::thread::spawn(move || copy(&shared, name, End::Back))
            };
            let first = copy(&shared, name, End::Front);
            if first {
                // The sender may come late: it must not touch the next message.
                let next = shared.split.open(units(LEN)).unwrap();
                assert!(copy(&shared, next, End::Front));
            }
            assert_ne!(first, sender.join().unwrap());
        });
    }
}
