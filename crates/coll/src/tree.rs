//! Arithmetic of binomial trees and of cyclic ranges.
//!
//! In a binomial tree over `size` ranks counted from the root, the subtree of rank `v` is the
//! range from `v` on, as long as the lowest set bit of `v` allows.

/// Ranks in the subtree of `v`, itself included.
pub(crate) fn span(v: u32, size: u32) -> u32 {
    if v == 0 { size } else { lowest_bit(v).min(size - v) }
}

/// The parent of `v`, which must not be the root.
pub(crate) fn parent(v: u32) -> u32 {
    v & (v - 1)
}

/// Children of `v`, smallest subtree first.
pub(crate) fn children(v: u32, size: u32) -> impl DoubleEndedIterator<Item = u32> {
    let span = span(v, size);
    let bits = if span <= 1 { 0 } else { u32::BITS - (span - 1).leading_zeros() };
    (0..bits).map(move |bit| v + (1 << bit))
}

/// The lowest set bit of `v`.
fn lowest_bit(v: u32) -> u32 {
    v & v.wrapping_neg()
}

/// `a + b` modulo `size`; both are below `size`.
#[inline]
pub(crate) fn up(a: u32, b: u32, size: u32) -> u32 {
    let room = size - b;
    if a >= room { a - room } else { a + b }
}

/// `a - b` modulo `size`; both are below `size`.
#[inline]
pub(crate) fn down(a: u32, b: u32, size: u32) -> u32 {
    if a >= b { a - b } else { a + (size - b) }
}

/// The largest power of two that is not above `size`, which must not be 0.
pub(crate) fn floor_power(size: u32) -> u32 {
    1 << (u32::BITS - 1 - size.leading_zeros())
}

/// Rounds that double a distance from 1 until it reaches `size`.
pub(crate) fn doublings(size: u32) -> u32 {
    if size <= 1 { 0 } else { u32::BITS - (size - 1).leading_zeros() }
}

/// A cyclic range as at most two ranges `(first, length)`; an absent one has length 0.
pub(crate) fn cyclic(first: u32, length: u32, size: u32) -> [(u32, u32); 2] {
    let until_wrap = length.min(size - first);
    [(first, until_wrap), (0, length - until_wrap)]
}

/// Cuts `count` into `parts` nearly equal parts; the start of part `index`.
pub(crate) fn part_start(count: i64, parts: u32, index: u32) -> i64 {
    let (parts, index) = (i64::from(parts), i64::from(index));
    index * (count / parts) + index.min(count % parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_one_parent() {
        for size in 1..70 {
            let mut seen = vec![0; size as usize];
            for v in 0..size {
                let mut spans = 1;
                for child in children(v, size) {
                    assert_eq!(parent(child), v);
                    seen[child as usize] += 1;
                    spans += span(child, size);
                }
                assert_eq!(spans, span(v, size));
            }
            assert!(seen.iter().skip(1).all(|&n| n == 1) && seen[0] == 0);
        }
    }

    #[test]
    fn parts_cover() {
        for count in [0, 1, 5, 17, 1000] {
            for parts in 1..20 {
                assert_eq!(part_start(count, parts, 0), 0);
                assert_eq!(part_start(count, parts, parts), count);
                assert!((0..parts).all(|i| {
                    let len = part_start(count, parts, i + 1) - part_start(count, parts, i);
                    len == count / i64::from(parts) || len == count / i64::from(parts) + 1
                }));
            }
        }
    }

    #[test]
    fn cyclic_arithmetic() {
        assert_eq!(cyclic(5, 4, 7), [(5, 2), (0, 2)]);
        assert_eq!(cyclic(0, 7, 7), [(0, 7), (0, 0)]);
        assert_eq!(up(5, 4, 7), 2);
        assert_eq!(down(2, 4, 7), 5);
        assert_eq!((floor_power(1), floor_power(7), floor_power(8)), (1, 4, 8));
        assert_eq!((doublings(1), doublings(2), doublings(5), doublings(8)), (0, 1, 3, 3));
    }
}
