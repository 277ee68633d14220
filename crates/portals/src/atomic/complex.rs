//! Complex numbers: two numbers in a row, real part first.

use super::extended::Extended;
use super::number::Number;
use std::cmp::Ordering;

#[derive(Clone, Copy)]
pub(super) struct Complex<T, const N: usize> {
    re: T,
    im: T,
}

macro_rules! complex {
    ($($part:ident $half:literal $size:literal $negate:expr;)*) => {$(
        impl Number<$size> for Complex<$part, $half> {
            fn read(bytes: [u8; $size]) -> Self {
                let (mut re, mut im) = ([0; $half], [0; $half]);
                re.copy_from_slice(&bytes[..$half]);
                im.copy_from_slice(&bytes[$half..]);
                Complex { re: Number::read(re), im: Number::read(im) }
            }
            fn bytes(self) -> [u8; $size] {
                let mut bytes = [0; $size];
                bytes[..$half].copy_from_slice(&self.re.bytes());
                bytes[$half..].copy_from_slice(&self.im.bytes());
                bytes
            }
            fn plus(self, other: Self) -> Self {
                Complex { re: self.re.plus(other.re), im: self.im.plus(other.im) }
            }
            fn times(self, other: Self) -> Self {
                let negate: fn($part) -> $part = $negate;
                Complex {
                    re: self.re.times(other.re).plus(negate(self.im.times(other.im))),
                    im: self.re.times(other.im).plus(self.im.times(other.re)),
                }
            }
            fn order(self, other: Self) -> Option<Ordering> {
                let equal = Some(Ordering::Equal);
                let same = self.re.order(other.re) == equal && self.im.order(other.im) == equal;
                same.then_some(Ordering::Equal)
            }
        }
    )*};
}

complex! {
    f32 4 8 |x| -x;
    f64 8 16 |x| -x;
    Extended 16 32 Extended::negated;
}
