//! The native elements: what an operation makes of two of them, and their atomic words.

use crate::kind::AtomicOp;
use hpvm_sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Of updates. AcqRel: models build locks and flags of them, whose releases pair with their acquires.
const BOTH: Ordering = Ordering::AcqRel;
/// Of loads. Acquire: pairs with the updates of others, as above.
const LOAD: Ordering = Ordering::Acquire;

/// A word that the processor updates atomically. Bits only; what they mean an [`Element`] says.
pub(crate) trait Word {
    type Bits: Copy + Eq;
    fn load(&self) -> Self::Bits;
    fn swap(&self, new: Self::Bits) -> Self::Bits;
    fn add(&self, operand: Self::Bits) -> Self::Bits;
    fn and(&self, operand: Self::Bits) -> Self::Bits;
    fn or(&self, operand: Self::Bits) -> Self::Bits;
    fn xor(&self, operand: Self::Bits) -> Self::Bits;
    fn exchange(&self, old: Self::Bits, new: Self::Bits) -> Result<Self::Bits, Self::Bits>;
}

macro_rules! words {
    ($($atomic:ident, $bits:ident;)*) => {$(
        impl Word for $atomic {
            type Bits = $bits;
            #[inline(always)]
            fn load(&self) -> $bits { $atomic::load(self, LOAD) }
            #[inline(always)]
            fn swap(&self, new: $bits) -> $bits { $atomic::swap(self, new, BOTH) }
            #[inline(always)]
            fn add(&self, x: $bits) -> $bits { self.fetch_add(x, BOTH) }
            #[inline(always)]
            fn and(&self, x: $bits) -> $bits { self.fetch_and(x, BOTH) }
            #[inline(always)]
            fn or(&self, x: $bits) -> $bits { self.fetch_or(x, BOTH) }
            #[inline(always)]
            fn xor(&self, x: $bits) -> $bits { self.fetch_xor(x, BOTH) }
            #[inline(always)]
            fn exchange(&self, old: $bits, new: $bits) -> Result<$bits, $bits> {
                self.compare_exchange(old, new, BOTH, LOAD)
            }
        }
    )*};
}

words! { AtomicU8, u8; AtomicU16, u16; AtomicU32, u32; AtomicU64, u64; }

/// A number of a native kind.
pub(crate) trait Element: Copy {
    type Atomic: Word;
    /// Sums wrap, so that the word's own addition is this one's.
    const ADDS_AS_BITS: bool;
    fn bits(self) -> <Self::Atomic as Word>::Bits;
    fn of(bits: <Self::Atomic as Word>::Bits) -> Self;
    /// What `op` makes of `self`, the element, and its operand. Operations that the kind has not
    /// ([`AtomicOp::is_native`]) leave it as it is.
    fn combine(self, op: AtomicOp, operand: Self) -> Self;
}

macro_rules! integers {
    ($($int:ident, $atomic:ident;)*) => {$(
        impl Element for $int {
            type Atomic = $atomic;
            const ADDS_AS_BITS: bool = true;
            #[inline(always)]
            fn bits(self) -> <$atomic as Word>::Bits { self.cast_bits() }
            #[inline(always)]
            fn of(bits: <$atomic as Word>::Bits) -> $int { $int::from_ne_bytes(bits.to_ne_bytes()) }
            #[inline(always)]
            fn combine(self, op: AtomicOp, x: $int) -> $int {
                match op {
                    AtomicOp::Sum => self.wrapping_add(x),
                    AtomicOp::Prod => self.wrapping_mul(x),
                    AtomicOp::Min => if x < self { x } else { self },
                    AtomicOp::Max => if x > self { x } else { self },
                    AtomicOp::BitAnd => self & x,
                    AtomicOp::BitOr => self | x,
                    AtomicOp::BitXor => self ^ x,
                    AtomicOp::LogicalAnd => $int::from(self != 0 && x != 0),
                    AtomicOp::LogicalOr => $int::from(self != 0 || x != 0),
                    AtomicOp::LogicalXor => $int::from((self != 0) != (x != 0)),
                    AtomicOp::Replace => x,
                    AtomicOp::NoOp | AtomicOp::MinLoc | AtomicOp::MaxLoc => self,
                }
            }
        }
    )*};
}

macro_rules! floats {
    ($($float:ident, $atomic:ident;)*) => {$(
        impl Element for $float {
            type Atomic = $atomic;
            const ADDS_AS_BITS: bool = false;
            #[inline(always)]
            fn bits(self) -> <$atomic as Word>::Bits { self.to_bits() }
            #[inline(always)]
            fn of(bits: <$atomic as Word>::Bits) -> $float { $float::from_bits(bits) }
            #[inline(always)]
            fn combine(self, op: AtomicOp, x: $float) -> $float {
                let truth = |b: bool| if b { 1.0 } else { 0.0 };
                match op {
                    AtomicOp::Sum => self + x,
                    AtomicOp::Prod => self * x,
                    AtomicOp::Min => if x < self { x } else { self },
                    AtomicOp::Max => if x > self { x } else { self },
                    AtomicOp::LogicalAnd => truth(self != 0.0 && x != 0.0),
                    AtomicOp::LogicalOr => truth(self != 0.0 || x != 0.0),
                    AtomicOp::LogicalXor => truth((self != 0.0) != (x != 0.0)),
                    AtomicOp::Replace => x,
                    _ => self,
                }
            }
        }
    )*};
}

/// `x as unsigned`, for macros.
trait CastBits<B> {
    fn cast_bits(self) -> B;
}

macro_rules! casts {
    ($($int:ident, $bits:ident;)*) => {$(
        impl CastBits<$bits> for $int {
            #[inline(always)]
            fn cast_bits(self) -> $bits { self as $bits }
        }
    )*};
}

casts! {
    i8, u8; u8, u8; i16, u16; u16, u16; i32, u32; u32, u32; i64, u64; u64, u64;
}
integers! {
    i8, AtomicU8; u8, AtomicU8; i16, AtomicU16; u16, AtomicU16;
    i32, AtomicU32; u32, AtomicU32; i64, AtomicU64; u64, AtomicU64;
}
floats! { f32, AtomicU32; f64, AtomicU64; }
