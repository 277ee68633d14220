//! IEEE binary128 (`REAL*16`, and `long double` on AArch64) in software: sums and products,
//! rounded to nearest, ties to even.
use super::element::{Ordered, Real, Ring};

/// The bits of a binary128 number.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(transparent)]
pub(super) struct Quad(pub u128);

const SIGN: u128 = 1 << 127;
const INFINITY: u128 = 0x7fff << 112;
const QUIET_NAN: u128 = INFINITY | 1 << 111;
/// The integer bit of a normal significand, implicit in the format.
const HIDDEN: u128 = 1 << 112;
/// Extra bits below the significand while computing: guard, round and sticky.
const EXTRA: u32 = 3;
const BIAS: i32 = 16383;

/// A finite number: `significand * 2^(exponent - BIAS - 112)`; denormals have exponent 1.
struct Finite {
    negative: bool,
    exponent: i32,
    significand: u128,
}

impl Quad {
    fn is_nan(self) -> bool {
        self.0 & !SIGN > INFINITY
    }

    fn is_infinite(self) -> bool {
        self.0 & !SIGN == INFINITY
    }

    fn is_zero(self) -> bool {
        self.0 & !SIGN == 0
    }

    fn is_negative(self) -> bool {
        self.0 & SIGN != 0
    }

    fn finite(self) -> Finite {
        let field = (self.0 >> 112 & 0x7fff) as i32;
        let fraction = self.0 & (HIDDEN - 1);
        let significand = if field == 0 { fraction } else { fraction | HIDDEN };
        Finite { negative: self.is_negative(), exponent: field.max(1), significand }
    }

    fn infinity(negative: bool) -> Quad {
        Quad(INFINITY | u128::from(negative) << 127)
    }

    /// Rounds a significand with `EXTRA` bits below it, at most 113 + `EXTRA` bits long.
    /// Significands without the integer bit have exponent 1.
    fn round(negative: bool, mut exponent: i32, extended: u128) -> Quad {
        let rest = extended & ((1 << EXTRA) - 1);
        let mut significand = extended >> EXTRA;
        if rest > 4 || (rest == 4 && significand & 1 == 1) {
            significand += 1;
            if significand == HIDDEN << 1 {
                significand = HIDDEN;
                exponent += 1;
            }
        }
        if exponent >= 0x7fff {
            return Quad::infinity(negative);
        }
        let field = if significand < HIDDEN { 0 } else { exponent as u128 };
        Quad(u128::from(negative) << 127 | field << 112 | significand & (HIDDEN - 1))
    }
}

/// Shifts right and keeps in the last bit whether any bit was lost.
fn shift_sticky(value: u128, by: u32) -> u128 {
    match by {
        0 => value,
        1..=127 => value >> by | u128::from(value << (128 - by) != 0),
        _ => u128::from(value != 0),
    }
}

impl Ring for Quad {
    fn plus(self, other: Quad) -> Quad {
        if self.is_nan() || other.is_nan() {
            return Quad(QUIET_NAN);
        }
        if self.is_infinite() || other.is_infinite() {
            let clash = self.is_infinite() && other.is_infinite() && self.0 != other.0;
            let infinity = if self.is_infinite() { self } else { other };
            return if clash { Quad(QUIET_NAN) } else { infinity };
        }
        let larger_first = self.0 & !SIGN >= other.0 & !SIGN;
        let (big, small) = if larger_first { (self, other) } else { (other, self) };
        let (big, small) = (big.finite(), small.finite());
        let big_sig = big.significand << EXTRA;
        let distance = (big.exponent - small.exponent) as u32;
        let small_sig = shift_sticky(small.significand << EXTRA, distance);
        if big.negative == small.negative {
            let sum = big_sig + small_sig;
            let carry = u32::from(sum >> (113 + EXTRA) != 0);
            return Quad::round(
                big.negative,
                big.exponent + carry as i32,
                shift_sticky(sum, carry),
            );
        }
        let difference = big_sig - small_sig;
        if difference == 0 {
            return Quad(0);
        }
        let room = difference.leading_zeros() - (128 - 113 - EXTRA);
        let shift = room.min((big.exponent - 1) as u32);
        Quad::round(big.negative, big.exponent - shift as i32, difference << shift)
    }

    fn times(self, other: Quad) -> Quad {
        let negative = self.is_negative() != other.is_negative();
        if self.is_nan() || other.is_nan() {
            return Quad(QUIET_NAN);
        }
        if self.is_infinite() || other.is_infinite() {
            let undefined = self.is_zero() || other.is_zero();
            return if undefined { Quad(QUIET_NAN) } else { Quad::infinity(negative) };
        }
        if self.is_zero() || other.is_zero() {
            return Quad(u128::from(negative) << 127);
        }
        let (a, b) = (normalised(self.finite()), normalised(other.finite()));
        let (high, low) = widening_product(a.significand, b.significand);
        // The product has 225 or 226 bits; bring its first bit to the place of the integer bit.
        let carry = u32::from(high >> (225 - 128) != 0);
        let shift = 224 + carry - (112 + EXTRA);
        let sticky = u128::from(low << (128 - shift) != 0);
        let significand = high << (128 - shift) | low >> shift | sticky;
        let exponent = a.exponent + b.exponent - BIAS + carry as i32;
        if exponent >= 1 {
            return Quad::round(negative, exponent, significand);
        }
        Quad::round(negative, 1, shift_sticky(significand, (1 - exponent) as u32))
    }
}

/// Gives a denormal its integer bit; its exponent then is below 1.
fn normalised(number: Finite) -> Finite {
    let shift = number.significand.leading_zeros() - 15;
    Finite {
        significand: number.significand << shift,
        exponent: number.exponent - shift as i32,
        ..number
    }
}

/// The 256-bit product as its high and low half.
fn widening_product(a: u128, b: u128) -> (u128, u128) {
    let split = |x: u128| (x >> 64, x & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (split(a), split(b));
    let (mid, low) = (a1 * b0, a0 * b0);
    let (mid_carry, mid) = {
        let (sum, overflow) = mid.overflowing_add(a0 * b1);
        (u128::from(overflow) << 64, sum)
    };
    let (low, low_carry) = low.overflowing_add(mid << 64);
    (a1 * b1 + (mid >> 64) + mid_carry + u128::from(low_carry), low)
}

impl Ordered for Quad {
    fn less(self, other: Quad) -> bool {
        let key = |q: Quad| {
            let magnitude = (q.0 & !SIGN) as i128;
            if q.is_negative() { -magnitude } else { magnitude }
        };
        !self.is_nan() && !other.is_nan() && key(self) < key(other)
    }
}

impl Real for Quad {
    fn negated(self) -> Quad {
        Quad(self.0 ^ SIGN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from_f64(value: f64) -> Quad {
        let bits = value.to_bits();
        let sign = u128::from(bits >> 63) << 127;
        let fraction = u128::from(bits & ((1 << 52) - 1));
        let magnitude = match bits >> 52 & 0x7ff {
            0x7ff => INFINITY | fraction << 60,
            0 if fraction == 0 => 0,
            0 => {
                let shift = fraction.leading_zeros() - 75;
                let field = (1 - shift as i32 - 1023 + BIAS) as u128;
                field << 112 | (fraction << shift & ((1 << 52) - 1)) << 60
            }
            field => u128::from(field + 16383 - 1023) << 112 | fraction << 60,
        };
        Quad(sign | magnitude)
    }

    /// Rounds to the nearest `f64`, ties to even.
    fn to_f64(quad: Quad) -> f64 {
        let sign = if quad.is_negative() { -1.0 } else { 1.0 };
        if quad.is_nan() || quad.is_infinite() {
            return if quad.is_nan() { f64::NAN } else { sign * f64::INFINITY };
        }
        let number = quad.finite();
        let exponent = number.exponent - BIAS;
        let drop = 60 + (-1022 - exponent).max(0) as u32;
        let kept = shift_sticky(number.significand, drop.min(200) - 2);
        let (whole, rest) = (kept >> 2, kept & 3);
        let up = rest == 3 || (rest == 2 && whole & 1 == 1);
        let value = (whole + u128::from(up)) as f64;
        let scale = exponent.max(-1022) - 52;
        // Two steps, so that neither factor leaves the range.
        sign * value * 2f64.powi(scale / 2) * 2f64.powi(scale - scale / 2)
    }

    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    }

    proptest! {
        // 113 bits exceed twice 53 by more than one: rounding twice equals rounding once.
        #[test]
        fn sums_agree_with_f64(a in any::<f64>(), b in any::<f64>(), near in -60i32..60) {
            let c = a * 2f64.powi(near) * b.signum();
            for (x, y) in [(a, b), (a, c), (a, -a)] {
                let sum = to_f64(from_f64(x).plus(from_f64(y)));
                prop_assert!(same(sum, x + y), "{x:e} + {y:e} gave {sum:e}");
            }
        }

        #[test]
        fn products_agree_with_f64(a in any::<f64>(), b in any::<f64>()) {
            let product = to_f64(from_f64(a).times(from_f64(b)));
            prop_assert!(same(product, a * b), "{a:e} * {b:e} gave {product:e}");
        }

        #[test]
        fn order_agrees_with_f64(a in any::<f64>(), b in any::<f64>()) {
            prop_assert_eq!(from_f64(a).less(from_f64(b)), a < b);
        }

        #[test]
        fn one_and_zero_are_neutral(bits in any::<u128>()) {
            let quad = Quad(bits);
            prop_assume!(!quad.is_nan());
            prop_assert_eq!(quad.times(from_f64(1.0)), quad);
            prop_assume!(!quad.is_zero());
            prop_assert_eq!(quad.plus(Quad(0)), quad);
        }
    }
}
