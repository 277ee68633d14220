//! `long double` of x86-64, which Rust does not have: a sign, 15 bits of exponent, 64 of significand whose first is not left
//! out. Calculated with whole numbers, and rounded to nearest, ties to even.

use super::number::Number;
use std::cmp::Ordering;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extended {
    negative: bool,
    /// With its bias, as it lies in memory.
    exponent: u16,
    significand: u64,
}

/// Exponent of infinities and of what is not a number.
const TOP: u16 = 0x7fff;
/// A number is its significand times two to the power of its exponent less this.
const BIAS: i32 = 16383 + 63;
/// The first bit of a significand, which all but very small numbers have.
const INTEGER: u64 = 1 << 63;
/// The processor's answer where there is none.
const NOT_A_NUMBER: Extended =
    Extended { negative: true, exponent: TOP, significand: INTEGER | INTEGER >> 1 };
/// Bits below a significand in a sum: enough that only what lies below all of them is remembered in one bit.
const GUARD: u32 = 62;

impl Extended {
    fn is_nan(self) -> bool {
        self.exponent == TOP && self.significand << 1 != 0
    }

    fn is_infinite(self) -> bool {
        self.exponent == TOP && self.significand << 1 == 0
    }

    fn is_zero(self) -> bool {
        self.exponent != TOP && self.significand == 0
    }

    pub fn negated(self) -> Extended {
        Extended { negative: !self.negative, ..self }
    }

    fn infinity(negative: bool) -> Extended {
        Extended { negative, exponent: TOP, significand: INTEGER }
    }

    /// Very small numbers have the exponent 0 and mean 1.
    fn scale(self) -> i32 {
        i32::from(self.exponent.max(1)) - BIAS
    }

    /// The same, such that arithmetic with it raises no question.
    fn quiet(self) -> Extended {
        Extended { significand: self.significand | INTEGER | INTEGER >> 1, ..self }
    }

    /// A whole number that orders as the numbers do.
    fn key(self) -> i128 {
        if self.is_zero() {
            return 0;
        }
        let magnitude = i128::from(self.exponent.max(1)) << 64 | i128::from(self.significand);
        if self.negative { -magnitude } else { magnitude }
    }

    /// `mantissa` times two to the power of `scale`, rounded. `more`: there is something below the mantissa's last bit.
    fn round(negative: bool, mantissa: u128, scale: i32, more: bool) -> Extended {
        let zero = Extended { negative, exponent: 0, significand: 0 };
        if mantissa == 0 {
            return zero;
        }
        let excess = 64 - mantissa.leading_zeros() as i32;
        // A number below the smallest exponent loses more bits.
        let shift = excess.max(1 - BIAS - scale);
        let mut exponent = scale + shift + BIAS;
        let (mut significand, up) = match shift {
            129.. => return zero,
            128 => (0, mantissa > 1 << 127 || mantissa == 1 << 127 && more),
            1.. => {
                let kept = mantissa >> shift;
                let (rest, half) = (mantissa & ((1 << shift) - 1), 1 << (shift - 1));
                (kept, rest > half || rest == half && (more || kept & 1 == 1))
            }
            _ => (mantissa << -shift, false),
        };
        significand += u128::from(up);
        if significand >> 64 != 0 {
            significand >>= 1;
            exponent += 1;
        }
        if exponent >= i32::from(TOP) {
            return Extended::infinity(negative);
        }
        let significand = significand as u64;
        let exponent = if significand & INTEGER == 0 { 0 } else { exponent as u16 };
        Extended { negative, exponent, significand }
    }
}

impl Number<16> for Extended {
    fn read(bytes: [u8; 16]) -> Extended {
        let bits = u128::from_le_bytes(bytes);
        let exponent = (bits >> 64) as u16;
        Extended {
            negative: exponent >> 15 == 1,
            exponent: exponent & TOP,
            significand: bits as u64,
        }
    }

    fn bytes(self) -> [u8; 16] {
        let exponent = u128::from(self.negative) << 15 | u128::from(self.exponent);
        (exponent << 64 | u128::from(self.significand)).to_le_bytes()
    }

    fn plus(self, other: Extended) -> Extended {
        if self.is_nan() || other.is_nan() {
            return if self.is_nan() { self.quiet() } else { other.quiet() };
        }
        match (self.is_infinite(), other.is_infinite()) {
            (true, true) if self.negative != other.negative => return NOT_A_NUMBER,
            (true, _) => return self,
            (_, true) => return other,
            _ => (),
        }
        let larger = |number: Extended| (number.exponent.max(1), number.significand);
        let (high, low) = if larger(self) >= larger(other) { (self, other) } else { (other, self) };
        let distance = (high.scale() - low.scale()) as u32;
        let (a, b) = (u128::from(high.significand) << GUARD, u128::from(low.significand) << GUARD);
        let shifted = b.checked_shr(distance).unwrap_or(0);
        let more = shifted.checked_shl(distance).unwrap_or(0) != b;
        let scale = high.scale() - GUARD as i32;
        if self.negative == other.negative {
            return Extended::round(high.negative, a + shifted, scale, more);
        }
        // What is below the last bit is taken away, too: one less, and something is left.
        let rest = a.saturating_sub(shifted).saturating_sub(u128::from(more));
        Extended::round(high.negative && (rest != 0 || more), rest, scale, more)
    }

    fn times(self, other: Extended) -> Extended {
        if self.is_nan() || other.is_nan() {
            return if self.is_nan() { self.quiet() } else { other.quiet() };
        }
        let negative = self.negative != other.negative;
        if self.is_infinite() || other.is_infinite() {
            let none = self.is_zero() || other.is_zero();
            return if none { NOT_A_NUMBER } else { Extended::infinity(negative) };
        }
        let mantissa = u128::from(self.significand) * u128::from(other.significand);
        Extended::round(negative, mantissa, self.scale() + other.scale(), false)
    }

    fn order(self, other: Extended) -> Option<Ordering> {
        (!self.is_nan() && !other.is_nan()).then(|| self.key().cmp(&other.key()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(value: f64) -> Extended {
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52) as i32 & 0x7ff, bits & ((1 << 52) - 1));
        let negative = bits >> 63 == 1;
        match exponent {
            0x7ff if fraction != 0 => NOT_A_NUMBER,
            0x7ff => Extended::infinity(negative),
            0 => Extended::round(negative, fraction.into(), -1074, false),
            _ => Extended::round(negative, (fraction | 1 << 52).into(), exponent - 1075, false),
        }
    }

    fn int(value: i128) -> Extended {
        Extended::round(value < 0, value.unsigned_abs(), 0, false)
    }

    /// To the nearest number of 64 bits by comparing both neighbours, ties to even.
    fn nearest(value: i128) -> i128 {
        let mut unit = 1i128;
        while value.unsigned_abs() / unit.unsigned_abs() >= 1 << 64 {
            unit *= 2;
        }
        let below = value.div_euclid(unit) * unit;
        let (down, up) = (value - below, below + unit - value);
        let even = (below / unit) % 2 == 0;
        if down < up || down == up && even { below } else { below + unit }
    }

    #[test]
    fn known_numbers() {
        let one = Extended { negative: false, exponent: 16383, significand: INTEGER };
        assert_eq!(of(1.0), one);
        assert_eq!(of(1.0).bytes()[..10], [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f]);
        assert_eq!(of(-2.5).times(of(4.0)), of(-10.0));
        assert_eq!(of(1.0).plus(of(-1.0)), of(0.0));
        assert_eq!(of(-0.0).plus(of(-0.0)), of(-0.0));
        assert_eq!(of(-0.0).plus(of(0.0)), of(0.0));
        assert_eq!(of(-0.0).order(of(0.0)), Some(Ordering::Equal));
        assert_eq!(of(f64::INFINITY).plus(of(f64::NEG_INFINITY)), NOT_A_NUMBER);
        assert_eq!(of(f64::INFINITY).times(of(0.0)), NOT_A_NUMBER);
        assert_eq!(of(f64::INFINITY).times(of(-2.0)), of(f64::NEG_INFINITY));
        assert_eq!(NOT_A_NUMBER.order(NOT_A_NUMBER), None);
    }

    #[test]
    fn the_ends_of_the_range() {
        let largest = Extended { negative: false, exponent: TOP - 1, significand: u64::MAX };
        let smallest = Extended { negative: false, exponent: 0, significand: 1 };
        let normal = Extended { negative: false, exponent: 1, significand: INTEGER };
        assert_eq!(largest.plus(largest), of(f64::INFINITY));
        assert_eq!(largest.plus(of(1.0)), largest);
        assert_eq!(smallest.times(of(0.5)), of(0.0), "a tie goes to even");
        assert_eq!(smallest.times(of(0.75)), smallest);
        assert_eq!(smallest.times(smallest), of(0.0));
        assert_eq!(normal.plus(smallest.negated()).plus(smallest), normal);
        assert_eq!(normal.times(of(0.5)).plus(normal.times(of(0.5))), normal);
        assert!(smallest.order(normal) == Some(Ordering::Less));
        assert!(smallest.negated().order(of(0.0)) == Some(Ordering::Less));
    }

    /// One half of a unit and a bit that is far below it: no tie.
    #[test]
    fn what_is_below_the_last_bit_counts() {
        for last in 0..4 {
            let unit = Extended { negative: false, exponent: 16383 + 63, significand: INTEGER };
            let number = |add| Extended { significand: INTEGER + 8 + add, ..unit };
            let half = Extended { negative: false, exponent: 16382, significand: INTEGER | 1 };
            assert_eq!(number(last).plus(half), number(last + 1));
            assert_eq!(number(last + 1).plus(half.negated()), number(last));
            assert_eq!(half.plus(number(last + 1).negated()), number(last).negated());
        }
    }

    proptest! {
        #[test]
        fn sums_of_whole_numbers(a in any::<i64>(), b in any::<i64>(), up in 0u32..60) {
            // Both are exact, the sum is not.
            let (x, y) = (i128::from(a) << up, i128::from(b));
            prop_assert_eq!(int(x).plus(int(y)), int(nearest(x + y)));
            prop_assert_eq!(int(y).plus(int(x)), int(nearest(x + y)));
        }

        #[test]
        fn products_of_whole_numbers(a in any::<i64>(), b in any::<i64>()) {
            let product = i128::from(a) * i128::from(b);
            let expected = int(nearest(product));
            let found = int(a.into()).times(int(b.into()));
            prop_assert_eq!(found.order(expected), Some(Ordering::Equal));
        }

        #[test]
        fn doubles_keep_their_order(a in any::<f64>(), b in any::<f64>()) {
            prop_assert_eq!(of(a).order(of(b)), a.partial_cmp(&b));
        }

        #[test]
        fn a_distant_number_moves_nothing(a in any::<i64>(), far in 130i32..16000) {
            let a = int(i128::from(a | 1) << 10);
            for negative in [false, true] {
                let tiny = Extended::round(negative, 1, -far, false);
                prop_assert_eq!(a.plus(tiny), a);
            }
        }

        #[test]
        fn nothing_panics(a in any::<[u8; 16]>(), b in any::<[u8; 16]>()) {
            let (a, b) = (Extended::read(a), Extended::read(b));
            let _ = (a.plus(b), a.times(b), a.order(b));
        }
    }
}
