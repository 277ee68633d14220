//! Frames that this rank has read and keeps, to write its answer into them.
//!
//! A rank that has just read a frame has the frame's lines in its own cache. To write to them it needs no data
//! from elsewhere, only the ownership of the lines. So an answer in the frames of the question is written twice as
//! fast as one in frames that take turns, and the peer, which has not touched these frames since, loses nothing
//! (`bench/NOTES.md`). Therefore this rank does not give back at once the last frames of the peer that it heard
//! last, and a packet to that peer travels in one of them. Such a frame may be one of this rank's own, which the peer
//! has sent back in this way, or one of the peer's.
//!
//! A reply frame counts as filled for its owner. All ranks together keep at most a quarter of any rank's frames
//! ([`ReplyFrames::new`]), so a rank that keeps some for ever holds up nobody. A rank that has no other frame left
//! keeps none.

use crate::endpoint::corrupt;
use crate::frames;
use crate::segment::Mapping;
use hpvm_transport::{Broken, Rank};
use hpvm_wire::segment::FRAMES;

/// Most frames that a rank keeps: half a MiB of long packets.
const MAX_FRAMES: usize = 32;

/// A frame as its sender and its receiver know it: whose it is they know without saying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub index: u16,
    /// It belongs to this rank, not to the peer.
    pub mine: bool,
}

impl Frame {
    /// The number in a slot: from [`FRAMES`] on it is a frame of the one who reads the slot.
    #[inline(always)]
    pub fn number(self) -> u32 {
        u32::from(self.index) + if self.mine { 0 } else { FRAMES as u32 }
    }

    /// The frame that a peer's `number` means.
    #[inline(always)]
    pub fn checked(number: u32) -> Result<Frame, Broken> {
        if number >= 2 * FRAMES as u32 {
            return Err(corrupt("frame", number, 2 * FRAMES as u32 - 1));
        }
        let mine = number >= FRAMES as u32;
        Ok(Frame { index: (number % FRAMES as u32) as u16, mine })
    }
}

/// The last frames of one peer.
pub struct ReplyFrames {
    /// Whose packets they brought.
    peer: Rank,
    count: usize,
    most: usize,
    /// Behind the index of the last one. Indices count on, round the array.
    end: usize,
    frames: [Frame; MAX_FRAMES],
}

impl ReplyFrames {
    /// For one of `ranks` ranks of a segment.
    pub fn new(ranks: u32) -> Self {
        // Of its own frames a rank keeps some, too.
        let most = (FRAMES / 4 / ranks.max(1) as usize).min(MAX_FRAMES);
        ReplyFrames {
            peer: 0,
            count: 0,
            most,
            end: 0,
            frames: [Frame { index: 0, mine: false }; MAX_FRAMES],
        }
    }

    /// Whether the next packet to `dst` can travel in a reply frame.
    #[inline(always)]
    pub fn serves(&self, dst: Rank) -> bool {
        self.count != 0 && self.peer == dst
    }

    /// A frame for a packet to `dst`, which is then the caller's.
    #[inline(always)]
    pub fn take(&mut self, dst: Rank) -> Option<Frame> {
        if !self.serves(dst) {
            return None;
        }
        self.count -= 1;
        self.end = self.end.wrapping_sub(1);
        Some(self.frames[self.end % MAX_FRAMES])
    }

    /// `rank` has read a packet of `src` in `frame`: keeps the frame, and gives one back if those are
    /// too many: the one that was read first, whose lines are the first to leave the cache.
    #[inline(never)]
    pub fn keep(&mut self, mapping: &Mapping, rank: Rank, src: Rank, frame: Frame) {
        if self.peer != src {
            self.give_all_back(mapping, rank);
            self.peer = src;
        }
        if self.count < self.most {
            self.count += 1;
        } else if self.most == 0 {
            return give_back(mapping, if frame.mine { rank } else { src }, frame);
        } else {
            let first = self.frames[self.end.wrapping_sub(self.count) % MAX_FRAMES];
            give_back(mapping, if first.mine { rank } else { src }, first);
        }
        self.frames[self.end % MAX_FRAMES] = frame;
        self.end = self.end.wrapping_add(1);
    }

    /// Keeps none any more.
    pub fn give_all_back(&mut self, mapping: &Mapping, rank: Rank) {
        while let Some(frame) = self.take(self.peer) {
            give_back(mapping, if frame.mine { rank } else { self.peer }, frame);
        }
    }
}

#[inline(always)]
fn give_back(mapping: &Mapping, owner: Rank, frame: Frame) {
    frames::give_back(mapping.control(owner), frame.index.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ranks_together_keep_a_quarter_of_the_frames_of_one() {
        for ranks in 1..1000 {
            assert!(ReplyFrames::new(ranks).most * ranks as usize <= FRAMES / 4, "{ranks} ranks");
        }
    }
}
