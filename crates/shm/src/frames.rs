//! A sender's frames: where packets too large for a slot travel.
//!
//! The sender owns its frames, so taking one is a private matter; the receiver that has read one
//! stores 0 in the frame's state byte. The states of 64 frames share one line, which the sender
//! reads when its turn comes.
//!
//! Frames are used in turn, over more memory than a core's own cache holds. A frame that the
//! receiver has read lately lies in the receiver's cache, and to write to it the sender has to
//! fetch every line from there; one that has dropped out of that cache, into the one that both
//! share, is written four times as fast (`bench/NOTES.md`). How much memory is right depends on the
//! shared cache and on how many ranks share it ([`turn`]). Memory that is used for the first time
//! costs a page fault, so the frames that take turns become more only as they are used again.

use core::sync::atomic::Ordering;
use hpvm_sync::atomic::AtomicU8;
use hpvm_sync::order;
use hpvm_transport::Rank;
use hpvm_wire::segment::{Control, FRAME_BYTES, FRAMES};

/// Frames whose states share a line.
const GROUP: usize = 64;
const GROUPS: usize = FRAMES / GROUP;
/// Packets longer than this take turns in half as many frames.
const LONG_PACKET: usize = FRAME_BYTES / 2;

const _: () = assert!(FRAMES.is_multiple_of(2 * GROUP), "whole groups, and halves of them");

/// The frames that the owner knows to be free.
pub struct FramePool {
    free: [u64; GROUPS],
    /// Whom each frame was sent to last.
    dst: Box<[Rank; FRAMES]>,
    /// The group in use.
    group: usize,
    /// Groups that take turns now, and that may take turns one day.
    turn: usize,
    most: usize,
    /// Times that all of them have been used since they became more.
    rounds: u32,
}

/// Rounds through the frames after which more take turns.
const ROUNDS_ALONE: u32 = 4;

/// Groups of frames that shall take turns where `ranks` ranks share a cache of `cache` bytes: the
/// long packets of all of them together take up half of it at most.
fn turn(cache: usize, ranks: u32) -> usize {
    let group = GROUP * FRAME_BYTES;
    let long = cache / 2 / group / (ranks.max(1) as usize);
    (2 * long).clamp(2, GROUPS)
}

impl FramePool {
    /// The pool of one of `ranks` ranks that share a last-level cache of `cache` bytes.
    pub fn new(cache: usize, ranks: u32) -> Self {
        let most = turn(cache, ranks);
        FramePool {
            free: [u64::MAX; GROUPS],
            dst: Box::new([Rank::MAX; FRAMES]),
            group: 0,
            turn: 2,
            most,
            rounds: 0,
        }
    }

    /// From now on `ranks` ranks share a last-level cache of `cache` bytes.
    pub fn share(&mut self, cache: usize, ranks: u32) {
        self.most = turn(cache, ranks);
        self.turn = self.turn.min(self.most);
    }

    /// Takes a free frame for `len` bytes to `dst` and marks it filled; `None` when all are on their way.
    #[inline]
    pub fn take(&mut self, control: &Control, dst: Rank, len: usize) -> Option<usize> {
        if self.free[self.group] == 0 && !self.next_group(control, len) {
            return None;
        }
        let free = &mut self.free[self.group];
        let index = self.group * GROUP + free.trailing_zeros() as usize;
        *free &= *free - 1;
        self.dst[index] = dst;
        mark_filled(&control.frames[index]);
        Some(index)
    }

    /// The frames that were last sent to `dst`.
    pub fn sent_to(&self, dst: Rank) -> impl Iterator<Item = usize> {
        self.dst.iter().enumerate().filter(move |(_, to)| **to == dst).map(|(index, _)| index)
    }

    /// Goes on to the next group that has a free frame: first among those whose turn it is.
    #[cold]
    fn next_group(&mut self, control: &Control, len: usize) -> bool {
        let turn = if len > LONG_PACKET { self.turn / 2 } else { self.turn };
        let group = self.group;
        if group + 1 >= turn && self.turn < self.most {
            self.rounds += 1;
            if self.rounds == ROUNDS_ALONE {
                self.rounds = 0;
                self.turn += 2;
            }
        }
        let in_turn = (1..=turn).map(|i| (group + i) % turn);
        let others = turn..GROUPS;
        for group in in_turn.chain(others) {
            self.refresh(control, group);
            if self.free[group] != 0 {
                self.group = group;
                return true;
            }
        }
        false
    }

    /// Looks which frames of a group have come back.
    fn refresh(&mut self, control: &Control, group: usize) {
        let states = &control.frames[group * GROUP..][..GROUP];
        for (index, state) in states.iter().enumerate() {
            if is_back(state) {
                self.free[group] |= 1 << index;
            }
        }
    }
}

/// Bytes of the largest cache that processors share; 0 when the system does not say.
pub fn shared_cache() -> usize {
    // SAFETY: takes and returns integers.
    let [l3, l2] = [libc::_SC_LEVEL3_CACHE_SIZE, libc::_SC_LEVEL2_CACHE_SIZE]
        .map(|name| unsafe { libc::sysconf(name) });
    usize::try_from(l3.max(l2)).unwrap_or(0)
}

/// The receiver has read frame `index` of the rank that owns `control`.
#[inline(always)]
pub fn give_back(control: &Control, index: usize) {
    mark_read(&control.frames[index]);
}

/// The owner is about to fill a frame that is back.
#[inline(always)]
pub(crate) fn mark_filled(state: &AtomicU8) {
    // Relaxed: only we read it before the receiver, who learns of the frame through a slot.
    state.store(1, Ordering::Relaxed);
}

/// The receiver has read the frame.
#[inline(always)]
pub(crate) fn mark_read(state: &AtomicU8) {
    // Release pairs with the acquire in `is_back`.
    state.store(0, order!(Release, "frame.mark_read"));
}

/// The owner may fill the frame.
#[inline(always)]
pub(crate) fn is_back(state: &AtomicU8) -> bool {
    // Acquire pairs with the release in `mark_read`: the receiver's reads come first.
    state.load(order!(Acquire, "frame.is_back")) == 0
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn frames_run_out_and_come_back() {
        for len in [100, FRAME_BYTES] {
            let control = Control::new();
            let mut pool = FramePool::new(1 << 25, 8);
            let taken: Vec<_> = (0..FRAMES).map(|_| pool.take(&control, 1, len).unwrap()).collect();
            assert_eq!(taken.iter().collect::<HashSet<_>>().len(), FRAMES);
            assert_eq!(pool.take(&control, 1, len), None);
            give_back(&control, taken[17]);
            assert_eq!(pool.take(&control, 1, len), Some(taken[17]));
            assert_eq!(pool.take(&control, 1, len), None);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "long in Miri, and one thread's arithmetic only")]
    fn frames_take_turns_in_as_much_as_the_cache_holds() {
        let used = |cache, ranks, len| {
            let control = Control::new();
            let mut pool = FramePool::new(cache, ranks);
            let mut seen = HashSet::new();
            for _ in 0..40 * FRAMES {
                let index = pool.take(&control, 1, len).unwrap();
                seen.insert(index);
                give_back(&control, index);
            }
            seen.len()
        };
        let first_round = || {
            let control = Control::new();
            let mut pool = FramePool::new(32 << 20, 2);
            let mut taken = || pool.take(&control, 1, 4096).inspect(|i| give_back(&control, *i));
            (0..4 * GROUP).filter_map(|_| taken()).collect::<HashSet<_>>().len()
        };
        assert_eq!(used(32 << 20, 2, FRAME_BYTES), FRAMES / 2);
        assert_eq!(used(32 << 20, 2, 4096), FRAMES);
        assert_eq!(used(32 << 20, 64, FRAME_BYTES), GROUP);
        assert_eq!(used(0, 2, FRAME_BYTES), GROUP);
        assert_eq!(first_round(), 2 * GROUP, "the others when these have been used for a while");
    }
}
