//! Slots and frames for what this rank sends.

use crate::endpoint::Shm;
use crate::reply_frames::Frame;
use crate::ring::Claim;
use hpvm_copy::slow_stores::{self, MIN_TIMED};
use hpvm_transport::Rank;
use hpvm_wire::segment::FRAME_BYTES;

impl Shm {
    /// Takes a frame for a packet of `len` bytes to `dst` and fills it; `None` when all frames are on their way.
    #[inline(always)]
    pub(crate) fn fill_frame(
        &mut self,
        dst: Rank,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Option<Frame> {
        if let Some(frame) = self.reply_frames.take(dst) {
            let owner = if frame.mine { self.rank } else { dst };
            // SAFETY: a frame that we keep is ours until the receiver gets the slot.
            fill(unsafe { self.frame(owner, frame, len) });
            return Some(frame);
        }
        let index = self.free_frame(dst, len)?;
        let frame = Frame { index: index as u16, mine: true };
        let start = if len >= MIN_TIMED { slow_stores::ticks() } else { 0 };
        // SAFETY: a frame that `take` returned is ours until the receiver gets the slot.
        fill(unsafe { self.frame(self.rank, frame, len) });
        if len >= MIN_TIMED {
            self.slow_stores.wrote(len, slow_stores::ticks().wrapping_sub(start));
        }
        Some(frame)
    }

    /// Claims the next slot of `dst`'s ring, for which the caller has taken a credit.
    #[inline(always)]
    pub(crate) fn claim(&self, dst: Rank) -> Claim<'_> {
        let claiming = &self.control.own.claiming;
        Claim::new(&self.mapping.control(dst).tail, self.mapping.ring(dst), claiming, dst)
    }

    /// Takes one of our own frames, for `len` bytes of a packet to `dst`.
    #[inline(always)]
    pub(crate) fn free_frame(&mut self, dst: Rank, len: usize) -> Option<usize> {
        if self.oversubscribed && self.turns.look_is_due() {
            self.look_for_turns();
        }
        let index = self.frames.take(&self.control, dst, len);
        if index.is_some() { index } else { self.kept_frame(dst, len) }
    }

    /// Takes a frame after giving back the frames of others that this rank keeps to answer in (whoever has no
    /// other frame left keeps none), and taking back those that dead ranks will not give back.
    #[cold]
    fn kept_frame(&mut self, dst: Rank, len: usize) -> Option<usize> {
        self.reply_frames.give_all_back(&self.mapping, self.rank);
        self.frames_of_the_dead();
        self.frames.take(&self.control, dst, len)
    }

    /// The first `len` bytes of a frame of `owner`, at most all.
    ///
    /// # Safety
    /// Nobody else uses the frame.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "it lies in the segment, and the caller vouches for it")]
    pub(crate) unsafe fn frame(&self, owner: Rank, frame: Frame, len: usize) -> &mut [u8] {
        debug_assert!(len <= FRAME_BYTES);
        let start = self.mapping.frame(owner, frame.index.into());
        // SAFETY: the frame has that many bytes and is the caller's.
        unsafe { core::slice::from_raw_parts_mut(start, len) }
    }
}
