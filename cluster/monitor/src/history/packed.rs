//! A point in 8 bytes: two fractions of 8 bits, four rates of 12 bits.

use super::Point;

/// Fractions are kept in steps of 1/250; 255 says that there is none.
const FRACTIONS: f32 = 250.0;
const NO_FRACTION: u64 = 255;

/// Rates are kept as a small floating-point number: 7 bits of exponent, 5 bits of mantissa, so they
/// are off by at most 1/64 of themselves, from 1 B/s up to 2^125 B/s. All ones say that there is none.
/// What a mantissa of 6 bits would add, nobody sees in a plot; it costs a tenth of the memory of old points.
const MANTISSA: u32 = 5;
const NO_RATE: u64 = (1 << 12) - 1;
const LARGEST_RATE: u64 = NO_RATE - 1;

/// Values of a point.
pub const COLUMNS: usize = 6;

/// A packed point. The default is a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed(u64);

impl Packed {
    pub const GAP: Packed = Packed(u64::MAX);

    pub fn new(point: &Point) -> Packed {
        let mut word = fraction(point.cpu) | fraction(point.memory) << 8;
        for (i, value) in
            [point.received, point.sent, point.read, point.written].into_iter().enumerate()
        {
            word |= rate(value) << (16 + 12 * i);
        }
        Packed(word)
    }

    /// The values as they are packed, at most 12 bits each.
    pub fn columns(self) -> [u16; COLUMNS] {
        let rate = |i: u32| ((self.0 >> (16 + 12 * i)) & NO_RATE) as u16;
        let fraction = |i: u32| ((self.0 >> (8 * i)) & 255) as u16;
        [fraction(0), fraction(1), rate(0), rate(1), rate(2), rate(3)]
    }

    /// What [`Packed::columns`] took apart.
    pub fn from_columns(columns: [u16; COLUMNS]) -> Packed {
        let [cpu, memory, rates @ ..] = columns.map(u64::from);
        let mut word = cpu | memory << 8;
        for (i, rate) in rates.into_iter().enumerate() {
            word |= rate << (16 + 12 * i);
        }
        Packed(word)
    }

    pub fn point(self) -> Point {
        let rate = |i: u32| unpack_rate((self.0 >> (16 + 12 * i)) & NO_RATE);
        Point {
            cpu: unpack_fraction(self.0 & 255),
            memory: unpack_fraction((self.0 >> 8) & 255),
            received: rate(0),
            sent: rate(1),
            read: rate(2),
            written: rate(3),
        }
    }
}

fn fraction(value: Option<f32>) -> u64 {
    match value {
        Some(value) if value.is_finite() => (value.clamp(0.0, 1.0) * FRACTIONS).round() as u64,
        _ => NO_FRACTION,
    }
}

fn unpack_fraction(bits: u64) -> Option<f32> {
    (bits != NO_FRACTION).then(|| bits as f32 / FRACTIONS)
}

fn rate(value: Option<f32>) -> u64 {
    let Some(value) = value.filter(|value| value.is_finite()) else { return NO_RATE };
    if value < 0.5 {
        return 0;
    }
    // The upper bits of an IEEE number are exponent and mantissa already; half of a last place
    // rounds. Exponent field 0 is ours for zero, 1 for [1, 2), so 126 is taken off the bias.
    let shift = f32::MANTISSA_DIGITS - 1 - MANTISSA;
    let bits = (value.max(1.0).to_bits() + (1 << (shift - 1))) >> shift;
    (u64::from(bits) - (126 << MANTISSA)).min(LARGEST_RATE)
}

fn unpack_rate(bits: u64) -> Option<f32> {
    match bits {
        NO_RATE => None,
        0 => Some(0.0),
        _ => {
            let shift = f32::MANTISSA_DIGITS - 1 - MANTISSA;
            Some(f32::from_bits(((bits as u32) + (126 << MANTISSA)) << shift))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn back(value: f32) -> f32 {
        unpack_rate(rate(Some(value))).expect("a rate")
    }

    #[test]
    fn nothing_and_zero_differ() {
        assert_eq!(Packed::GAP.point(), Point::default());
        let idle = Point { cpu: Some(0.0), received: Some(0.0), ..Point::default() };
        assert_eq!(Packed::new(&idle).point(), idle);
        assert_eq!(Packed::new(&Point::default()), Packed::GAP);
    }

    #[test]
    fn what_is_no_number_is_a_gap_and_what_is_too_large_is_the_largest() {
        assert_eq!(unpack_rate(rate(Some(f32::NAN))), None);
        assert_eq!(unpack_rate(rate(Some(f32::INFINITY))), None);
        assert!(back(f32::MAX) >= 4e18);
        assert_eq!(back(0.2), 0.0);
        assert_eq!(back(-3.0), 0.0);
    }

    proptest! {
        #[test]
        fn rates_are_near(value in 1.0f32..1e18) {
            let error = (back(value) - value).abs() / value;
            prop_assert!(error <= 1.0 / 64.0 + 1e-6, "{value} came back as {}", back(value));
        }

        #[test]
        fn places_do_not_mix(cpu in 0.0f32..=1.0, sent in 1.0f32..1e12, read in 1.0f32..1e12) {
            let point = Point { cpu: Some(cpu), sent: Some(sent), read: Some(read), ..Point::default() };
            let found = Packed::new(&point).point();
            prop_assert!((found.cpu.unwrap() - cpu).abs() <= 0.0021);
            prop_assert!((found.sent.unwrap() / sent - 1.0).abs() < 0.02);
            prop_assert!((found.read.unwrap() / read - 1.0).abs() < 0.02);
            prop_assert_eq!((found.memory, found.received, found.written), (None, None, None));
        }
    }
}
