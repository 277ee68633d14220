//! Reduce-scatter by recursive halving with doubling distance, the first half of Rabenseifner's
//! algorithms.
//!
//! In step k a rank exchanges halves with a partner at distance 2^k, so at any time its partial
//! result covers the contiguous ranks of its aligned block of 2^k: the order of operands is kept.

use std::ops::Range;

use crate::fold::Fold;
use crate::partial::Partial;
use crate::schedule::{Peer, Schedule};
use crate::tree::part_start;

/// The range of parts that a number is responsible for.
pub(crate) struct Halving {
    pub(crate) fold: Fold,
    pub(crate) number: u32,
    pub(crate) count: i64,
    first: u32,
    length: u32,
}

impl Halving {
    pub(crate) fn new(fold: Fold, number: u32, count: i64) -> Halving {
        Halving { fold, number, count, first: 0, length: fold.power }
    }

    /// Appends the halving rounds; afterwards one part is left, combined over all ranks.
    pub(crate) fn scatter(&mut self, s: &mut Schedule, partial: &mut Partial) {
        let mut mask = 1;
        while mask < self.fold.power {
            let (kept, given) = self.halve(mask);
            let partner = Peer::Local(self.fold.real(self.number ^ mask));
            s.send(partner, partial.current(&self.elements(given)));
            let kept = self.elements(kept);
            partial.combine(s, partner, &kept, self.number & mask != 0);
            s.end_round();
            partial.fresh = false;
            mask <<= 1;
        }
    }

    /// Keeps one half of the range, by the bit of our number; returns the halves kept and given.
    fn halve(&mut self, mask: u32) -> ((u32, u32), (u32, u32)) {
        self.length /= 2;
        let low = (self.first, self.length);
        let high = (self.first + self.length, self.length);
        if self.number & mask == 0 {
            (low, high)
        } else {
            self.first = high.0;
            (high, low)
        }
    }

    /// Undoes the halving of step `mask`; returns our range before, and the partner's.
    pub(crate) fn join(&mut self, mask: u32) -> (Range<i64>, Range<i64>) {
        let ours = (self.first, self.length);
        let theirs = if self.number & mask == 0 {
            (self.first + self.length, self.length)
        } else {
            self.first -= self.length;
            (self.first, self.length)
        };
        self.length *= 2;
        (self.elements(ours), self.elements(theirs))
    }

    fn elements(&self, (first, length): (u32, u32)) -> Range<i64> {
        let start = |part| part_start(self.count, self.fold.power, part);
        start(first)..start(first + length)
    }
}
