//! Numbers in as few bytes as they need, so that a head fits in the first line of a [`crate::cell::Cell`] together with
//! a short content.
//!
//! Layout: 2 bytes with two bits for each number, those of the first number lowest, which say whether the number has 0, 2,
//! 4 or 8 bytes; then these bytes, little-endian.

/// Numbers at most.
pub const MAX_NUMBERS: usize = 8;
/// The bytes before the first number.
const WIDTHS: usize = 2;

/// The bytes of `numbers` numbers at most.
pub const fn bytes(numbers: usize) -> usize {
    WIDTHS + 8 * numbers
}

/// Writes numbers, at most [`MAX_NUMBERS`], to the beginning of `out`, and says how many bytes they took.
///
/// # Panics
/// `out` is shorter than [`bytes`] of them.
#[inline(always)]
pub fn write(numbers: &[u64], out: &mut [u8]) -> usize {
    debug_assert!(numbers.len() <= MAX_NUMBERS);
    let (mut widths, mut at) = (0u16, WIDTHS);
    for (nth, number) in numbers.iter().enumerate() {
        let code = u16::from(*number > 0)
            + u16::from(*number > u64::from(u16::MAX))
            + u16::from(*number > u64::from(u32::MAX));
        widths |= code << (2 * nth);
        // All eight: the next number overwrites what this one does not need.
        out[at..at + 8].copy_from_slice(&number.to_le_bytes());
        at += 1 << code & !1;
    }
    out[..WIDTHS].copy_from_slice(&widths.to_le_bytes());
    at
}

/// Reads as many numbers as there are places, and says how many bytes they took. `None`: there are not so many bytes.
#[inline(always)]
pub fn read(from: &[u8], numbers: &mut [u64]) -> Option<usize> {
    let mut widths = u16::from_le_bytes(*from.first_chunk()?);
    let mut at = WIDTHS;
    for number in numbers {
        let rest = from.get(at..)?;
        (*number, at) = match widths & 3 {
            0 => (0, at),
            1 => (u64::from(u16::from_le_bytes(*rest.first_chunk()?)), at + 2),
            2 => (u64::from(u32::from_le_bytes(*rest.first_chunk()?)), at + 4),
            _ => (u64::from_le_bytes(*rest.first_chunk()?), at + 8),
        };
        widths >>= 2;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_takes_the_least_of_its_widths() {
        for (number, width) in [
            (0, 0),
            (1, 2),
            (0xffff, 2),
            (0x1_0000, 4),
            (0xffff_ffff, 4),
            (1 << 32, 8),
            (u64::MAX, 8),
        ] {
            let mut out = [0; bytes(3)];
            assert_eq!(write(&[7, number, 0], &mut out), WIDTHS + 2 + width, "{number}");
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(parts in prop::collection::vec((any::<u64>(), 0u32..64), 0..=MAX_NUMBERS)) {
            let numbers: Vec<u64> = parts.iter().map(|(number, shift)| number >> shift).collect();
            let mut out = [0xaa; bytes(MAX_NUMBERS)];
            let len = write(&numbers, &mut out);
            let mut found = vec![1; numbers.len()];
            prop_assert_eq!(read(&out[..len], &mut found), Some(len));
            prop_assert_eq!(&found, &numbers);
            prop_assert_eq!(read(&out[..len - 1], &mut found), None);
        }
    }
}
