//! Numbers in bytes, and the operations that all kinds of numbers have.

use super::Op;
use std::cmp::Ordering;

/// A number of `N` bytes.
pub(super) trait Number<const N: usize>: Copy {
    fn read(bytes: [u8; N]) -> Self;
    fn bytes(self) -> [u8; N];
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// `None`: neither is less, and they are not equal.
    fn order(self, other: Self) -> Option<Ordering>;
}

/// Numbers that are bits, too.
pub(super) trait Whole<const N: usize>: Number<N> {
    fn combine(op: Op, from: Self, to: Self) -> Self;
}

macro_rules! whole {
    ($($ty:ident $size:literal)*) => {$(
        impl Number<$size> for $ty {
            fn read(bytes: [u8; $size]) -> $ty {
                $ty::from_le_bytes(bytes)
            }
            fn bytes(self) -> [u8; $size] {
                self.to_le_bytes()
            }
            fn plus(self, other: $ty) -> $ty {
                self.wrapping_add(other)
            }
            fn times(self, other: $ty) -> $ty {
                self.wrapping_mul(other)
            }
            fn order(self, other: $ty) -> Option<Ordering> {
                Some(self.cmp(&other))
            }
        }

        impl Whole<$size> for $ty {
            fn combine(op: Op, from: $ty, to: $ty) -> $ty {
                match op {
                    Op::Lor => $ty::from(from != 0 || to != 0),
                    Op::Land => $ty::from(from != 0 && to != 0),
                    Op::Lxor => $ty::from((from != 0) != (to != 0)),
                    Op::Bor => from | to,
                    Op::Band => from & to,
                    Op::Bxor => from ^ to,
                    _ => arithmetic(op, from, to),
                }
            }
        }
    )*};
}

whole!(i8 1 u8 1 i16 2 u16 2 i32 4 u32 4 i64 8 u64 8);

macro_rules! real {
    ($($ty:ident $size:literal)*) => {$(
        impl Number<$size> for $ty {
            fn read(bytes: [u8; $size]) -> $ty {
                $ty::from_le_bytes(bytes)
            }
            fn bytes(self) -> [u8; $size] {
                self.to_le_bytes()
            }
            fn plus(self, other: $ty) -> $ty {
                self + other
            }
            fn times(self, other: $ty) -> $ty {
                self * other
            }
            fn order(self, other: $ty) -> Option<Ordering> {
                self.partial_cmp(&other)
            }
        }
    )*};
}

real!(f32 4 f64 8);

/// The operations that need no bits.
fn arithmetic<T: Number<N>, const N: usize>(op: Op, from: T, to: T) -> T {
    let better = match op {
        Op::Sum => return from.plus(to),
        Op::Prod => return from.times(to),
        Op::Min => Ordering::Less,
        Op::Max => Ordering::Greater,
        _ => return to,
    };
    if from.order(to) == Some(better) { from } else { to }
}

fn each<T: Number<N>, const N: usize>(from: &[u8], to: &mut [u8], make: impl Fn(T, T) -> T) {
    for (from, to) in from.as_chunks::<N>().0.iter().zip(to.as_chunks_mut::<N>().0) {
        *to = make(T::read(*from), T::read(*to)).bytes();
    }
}

pub(super) fn whole<T: Whole<N>, const N: usize>(op: Op, from: &[u8], to: &mut [u8]) {
    each(from, to, |from: T, to| T::combine(op, from, to));
}

pub(super) fn any<T: Number<N>, const N: usize>(op: Op, from: &[u8], to: &mut [u8]) {
    each(from, to, |from: T, to| arithmetic(op, from, to));
}

/// The order of two elements; both have `N` bytes.
pub(super) fn compare<T: Number<N>, const N: usize>(a: &[u8], b: &[u8]) -> Option<Ordering> {
    let (a, b) = (a.first_chunk::<N>()?, b.first_chunk::<N>()?);
    T::read(*a).order(T::read(*b))
}
