//! What an access takes from or brings to each stripe, some of it at a time.

use super::Layout;
use crate::file::Extent;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of one share at most: what one message holds.
pub const SHARE_BYTES_MAX: u64 = 4 << 20;
/// Pieces of one share at most.
pub const MOST_PIECES: usize = 1 << 16;

/// What one stripe has of a share: places in its data, and bytes of the access, in pairs of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub pieces: Vec<Extent>,
    pub ranges: Vec<Range<usize>>,
    pub bytes: usize,
}

/// Some of an access: its parts, by stripe.
pub type Share = BTreeMap<u64, Part>;

/// Cuts the extents of an access into shares, in order. Each has at most [`SHARE_BYTES_MAX`] bytes and [`MOST_PIECES`].
pub struct Shares<I> {
    layout: Layout,
    extents: I,
    /// What is left of the extent that was begun.
    rest: Option<Extent>,
    /// Bytes of the access so far.
    done: usize,
}

impl<I: Iterator<Item = Extent>> Shares<I> {
    pub fn new(layout: Layout, extents: I) -> Shares<I> {
        Shares { layout, extents, rest: None, done: 0 }
    }
}

impl<I: Iterator<Item = Extent>> Iterator for Shares<I> {
    type Item = Share;

    fn next(&mut self) -> Option<Share> {
        let (mut share, mut left, mut pieces) = (Share::new(), SHARE_BYTES_MAX, 0);
        while left > 0 && pieces < MOST_PIECES {
            let Some(extent) = self.rest.take().or_else(|| self.extents.next()) else { break };
            let of_unit = self.layout.unit - extent.at % self.layout.unit;
            let len = extent.len.min(of_unit).min(left);
            if len == 0 {
                continue;
            }
            let (stripe, at) = self.layout.place(extent.at);
            let part = share.entry(stripe).or_default();
            part.pieces.push(Extent { at, len });
            part.ranges.push(self.done..self.done + len as usize);
            part.bytes += len as usize;
            self.done += len as usize;
            (left, pieces) = (left - len, pieces + 1);
            if len < extent.len {
                self.rest = Some(Extent { at: extent.at + len, len: extent.len - len });
            }
        }
        (pieces > 0).then_some(share)
    }
}

/// Bytes of an access that lie before the end of a file of `size` bytes, without a gap from the first on.
pub fn before_end(extents: impl Iterator<Item = Extent>, size: u64) -> u64 {
    let mut there = 0;
    for extent in extents {
        let len = extent.len.min(size.saturating_sub(extent.at));
        there += len;
        if len < extent.len {
            break;
        }
    }
    there
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every byte of an access is in one part, in order, at its place in its stripe.
        #[test]
        fn parts_make_up_the_access(
            pieces in prop::collection::vec((0u64..9000, 0u64..9000), 0..30),
            unit in 1u64..5000,
            count in 1u64..5,
            size in 0u64..300_000,
        ) {
            let mut at = 0;
            let extents: Vec<Extent> = pieces
                .iter()
                .map(|(hole, len)| {
                    let extent = Extent { at: at + hole, len: *len };
                    at += hole + len;
                    extent
                })
                .collect();
            let layout = Layout { unit, count };
            let bytes: Vec<u64> =
                extents.iter().flat_map(|e| e.at..e.at + e.len).collect();
            let mut seen = 0;
            for share in Shares::new(layout, extents.iter().copied()) {
                let mut here = 0;
                for (stripe, part) in &share {
                    prop_assert_eq!(part.pieces.len(), part.ranges.len());
                    for (piece, range) in part.pieces.iter().zip(&part.ranges) {
                        prop_assert_eq!(piece.len as usize, range.len());
                        for (local, byte) in (piece.at..).zip(range.clone()) {
                            prop_assert_eq!(layout.logical(*stripe, local), bytes[byte]);
                        }
                        prop_assert!(range.start >= seen);
                        here += range.len();
                    }
                    prop_assert_eq!(part.bytes, part.ranges.iter().map(|r| r.len()).sum::<usize>());
                }
                prop_assert!(here > 0);
                seen += here;
            }
            prop_assert_eq!(seen, bytes.len());
            let there = bytes.iter().take_while(|at| **at < size).count();
            prop_assert_eq!(before_end(extents.iter().copied(), size), there as u64);
        }
    }

    #[test]
    fn a_share_is_bounded() {
        let layout = Layout { unit: 1 << 20, count: 2 };
        let long = Extent { at: 5, len: 3 * SHARE_BYTES_MAX };
        let of = |share: Share| share.values().map(|part| part.bytes as u64).sum::<u64>();
        let shares = Shares::new(layout, [long].into_iter());
        assert_eq!(shares.map(of).collect::<Vec<_>>(), [SHARE_BYTES_MAX; 3]);
        let many = (0..MOST_PIECES as u64 + 1).map(|n| Extent { at: n * 2, len: 1 });
        let shares: Vec<_> = Shares::new(layout, many).map(of).collect();
        assert_eq!(shares, [MOST_PIECES as u64, 1]);
    }
}
