//! A sender's frames: where packets too large for a slot travel.
//!
//! The sender owns its frames, so taking one is a private matter; the receiver that has read one
//! stores 0 in the frame's state byte. The states of all frames share one line, which the sender
//! reads only when it knows of no free frame.

use core::sync::atomic::Ordering;
use hpvm_wire::segment::{Control, FRAMES};

/// Frames that are used first, so that a stream of packets stays within the second-level cache:
/// 8 of 16 KiB. The others serve bursts.
const HOT: u64 = 0xff;

/// The frames that the owner knows to be free.
pub struct FramePool {
    free: u64,
}

const _: () = assert!(FRAMES == 64, "one bit of a u64 per frame");

impl FramePool {
    pub fn new() -> Self {
        FramePool { free: u64::MAX }
    }

    /// Takes a free frame and marks it filled; `None` when all are on their way.
    #[inline]
    pub fn take(&mut self, control: &Control) -> Option<usize> {
        if self.free & HOT == 0 {
            self.refresh(control);
            if self.free == 0 {
                return None;
            }
        }
        let index = self.free.trailing_zeros() as usize;
        self.free &= self.free - 1;
        // Relaxed: only we read it before the receiver, who learns of the frame through a slot.
        control.frames[index].store(1, Ordering::Relaxed);
        Some(index)
    }

    /// Looks which frames have come back.
    #[cold]
    fn refresh(&mut self, control: &Control) {
        for (index, state) in control.frames.iter().enumerate() {
            // Acquire pairs with the release in `give_back`: the receiver's reads come first.
            if state.load(Ordering::Acquire) == 0 {
                self.free |= 1 << index;
            }
        }
    }
}

impl Default for FramePool {
    fn default() -> Self {
        Self::new()
    }
}

/// The receiver has read frame `index` of the rank that owns `control`.
#[inline(always)]
pub fn give_back(control: &Control, index: usize) {
    // Release pairs with the acquire in `refresh`.
    control.frames[index].store(0, Ordering::Release);
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn frames_run_out_and_come_back() {
        let control = Control::new();
        let mut pool = FramePool::new();
        let taken: Vec<_> = (0..FRAMES).map(|_| pool.take(&control).unwrap()).collect();
        assert_eq!(pool.take(&control), None);
        give_back(&control, taken[17]);
        assert_eq!(pool.take(&control), Some(17));
        assert_eq!(pool.take(&control), None);
    }
}
