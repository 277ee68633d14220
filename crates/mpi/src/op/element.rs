//! Arithmetic on basic elements, and the loops over arrays of them.
//!
//! The loops read and write unaligned: on x86-64 and AArch64 that costs nothing on aligned data,
//! and the compiler turns them into vector code all the same.
use super::Predef;

/// What can be added and multiplied.
pub(super) trait Ring: Copy {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

/// What can be compared.
pub(super) trait Ordered: Copy {
    /// Whether the loop for the larger or smaller is to be staged, see [`zip_staged_if`]. Found
    /// by measuring: narrow integers have a maximum instruction and need no masks.
    const STAGED: bool = false;

    fn less(self, other: Self) -> bool;

    fn larger(self, other: Self) -> Self {
        if other.less(self) { self } else { other }
    }

    fn smaller(self, other: Self) -> Self {
        if self.less(other) { self } else { other }
    }
}

/// Real numbers: all that complex multiplication needs.
pub(super) trait Real: Ring + Ordered {
    fn negated(self) -> Self;
}

/// Integers and the patterns of bits that stand for them.
pub(super) trait Bits: Copy {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn is_true(self) -> bool;
    fn from_bool(value: bool) -> Self;
}

macro_rules! bits {
    ($($t:ty)*) => {$(
        impl Bits for $t {
            #[inline(always)]
            fn and(self, other: Self) -> Self { self & other }
            #[inline(always)]
            fn or(self, other: Self) -> Self { self | other }
            #[inline(always)]
            fn xor(self, other: Self) -> Self { self ^ other }
            #[inline(always)]
            fn is_true(self) -> bool { self != 0 }
            #[inline(always)]
            fn from_bool(value: bool) -> Self { value as $t }
        }
    )*};
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Ring for $t {
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
        }
        impl Ordered for $t {
            const STAGED: bool = size_of::<$t>() == 8;
            #[inline(always)]
            fn less(self, other: Self) -> bool { self < other }
            // The library's own functions become vector instructions; a choice need not.
            #[inline(always)]
            fn larger(self, other: Self) -> Self { self.max(other) }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self { self.min(other) }
        }
    )*};
}

macro_rules! reals {
    ($($t:ty)*) => {$(
        impl Ring for $t {
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn times(self, other: Self) -> Self { self * other }
        }
        impl Ordered for $t {
            const STAGED: bool = true;
            #[inline(always)]
            fn less(self, other: Self) -> bool { self < other }
            // The library's own functions become vector instructions; a choice need not.
            #[inline(always)]
            fn larger(self, other: Self) -> Self { self.max(other) }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self { self.min(other) }
        }
        impl Real for $t {
            #[inline(always)]
            fn negated(self) -> Self { -self }
        }
    )*};
}

bits! { i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 }
integers! { i8 i16 i32 i64 i128 u8 u16 u32 u64 }
reals! { f32 f64 }

/// IEEE binary16, computed in `f32`, which is exact before the final rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(transparent)]
pub(super) struct F16(pub u16);

impl F16 {
    pub fn to_f32(self) -> f32 {
        let sign = u32::from(self.0 >> 15) << 31;
        let (exponent, fraction) = (u32::from(self.0 >> 10 & 0x1f), u32::from(self.0 & 0x3ff));
        match exponent {
            0 => f32::from_bits(sign | (fraction as f32 / (1 << 24) as f32).to_bits()),
            0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
            _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
        }
    }

    /// Rounds to nearest, ties to even.
    pub fn from_f32(value: f32) -> F16 {
        let bits = value.to_bits();
        let sign = (bits >> 16 & 0x8000) as u16;
        let magnitude = bits & 0x7fff_ffff;
        let finite = if magnitude > 0x7f80_0000 {
            0x7e00
        } else if magnitude >= 0x4780_0000 {
            0x7c00
        } else if magnitude >= 0x3880_0000 {
            // Rebias the exponent and round off 13 bits; a carry moves on into the exponent, and
            // from the largest number to infinity.
            let rebased = magnitude - (112 << 23);
            (rebased + 0xfff + (rebased >> 13 & 1)) >> 13
        } else {
            // Multiples of 2^-24: adding 0.5 rounds in the place of the denormals' last bit.
            let rounded = f32::from_bits(magnitude) + 0.5;
            rounded.to_bits() - 0.5f32.to_bits()
        };
        F16(sign | finite as u16)
    }
}

impl Ring for F16 {
    fn plus(self, other: Self) -> Self {
        F16::from_f32(self.to_f32() + other.to_f32())
    }

    fn times(self, other: Self) -> Self {
        F16::from_f32(self.to_f32() * other.to_f32())
    }
}

impl Ordered for F16 {
    fn less(self, other: Self) -> bool {
        self.to_f32() < other.to_f32()
    }
}

impl Real for F16 {
    fn negated(self) -> Self {
        F16(self.0 ^ 0x8000)
    }
}

/// A complex number as C and Fortran lay it out.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub(super) struct Complex<T> {
    pub re: T,
    pub im: T,
}

impl<T: Real> Ring for Complex<T> {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Complex { re: self.re.plus(other.re), im: self.im.plus(other.im) }
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Complex {
            re: self.re.times(other.re).plus(self.im.times(other.im).negated()),
            im: self.re.times(other.im).plus(self.im.times(other.re)),
        }
    }
}

/// Elements that a staged loop computes before it stores them.
const STAGE: usize = 256;

/// # Safety
/// Both are arrays of `n` elements, valid for reads and, `inout`, for writes; they do not overlap,
/// or are the same.
#[inline(always)]
unsafe fn zip_here<T: Copy, const STAGED: bool>(
    input: *const u8,
    inout: *mut u8,
    n: usize,
    f: impl Fn(T, T) -> T,
) {
    let (input, inout) = (input.cast::<T>(), inout.cast::<T>());
    if !STAGED {
        // SAFETY: the caller's promise; each element is stored after its operands are read.
        return unsafe { zip_into(input, inout, inout, n, f) };
    }
    let mut stage = [std::mem::MaybeUninit::<T>::uninit(); STAGE];
    for done in (0..n).step_by(STAGE) {
        let now = STAGE.min(n - done);
        // SAFETY: elements `done..done + now` lie inside both arrays, and `now` of them in the
        // stage, which the first call fills.
        unsafe {
            let (a, b) = (input.add(done), inout.add(done));
            zip_into(a, b, stage.as_mut_ptr().cast(), now, &f);
            // As bytes, for `b` may be unaligned.
            let bytes = now * size_of::<T>();
            std::ptr::copy_nonoverlapping(stage.as_ptr().cast(), b.cast::<u8>(), bytes);
        }
    }
}

/// `out[i] = f(a[i], b[i])`.
///
/// # Safety
/// `a` and `b` are valid for reads and `out` for writes of `n` elements; `out` overlaps neither,
/// or is the same.
#[inline(always)]
unsafe fn zip_into<T: Copy>(
    a: *const T,
    b: *const T,
    out: *mut T,
    n: usize,
    f: impl Fn(T, T) -> T,
) {
    for i in 0..n {
        // SAFETY: `i < n`, and the caller's promise.
        unsafe {
            let result = f(a.add(i).read_unaligned(), b.add(i).read_unaligned());
            out.add(i).write_unaligned(result);
        }
    }
}

/// The same loop, compiled for wider vectors.
///
/// # Safety
/// As for [`zip_here`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn zip_avx2<T: Copy, const STAGED: bool>(
    input: *const u8,
    inout: *mut u8,
    n: usize,
    f: impl Fn(T, T) -> T,
) {
    // SAFETY: the caller's promise.
    unsafe { zip_here::<T, STAGED>(input, inout, n, f) }
}

/// # Safety
/// As for [`zip_here`].
unsafe fn zip<T: Copy>(input: *const u8, inout: *mut u8, n: usize, f: impl Fn(T, T) -> T) {
    // SAFETY: the caller's promise.
    unsafe { zip_staged_if::<T, false>(input, inout, n, f) }
}

/// As [`zip`]; staged loops store results only after all operands nearby are read. Otherwise a
/// loop that leaves the larger operand in place becomes one of masked stores, which some
/// processors execute very slowly.
///
/// # Safety
/// As for [`zip_here`].
unsafe fn zip_staged_if<T: Copy, const STAGED: bool>(
    input: *const u8,
    inout: *mut u8,
    n: usize,
    f: impl Fn(T, T) -> T,
) {
    #[cfg(target_arch = "x86_64")]
    if n * size_of::<T>() >= 256 && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the caller's promise, and the processor has AVX2.
        return unsafe { zip_avx2::<T, STAGED>(input, inout, n, f) };
    }
    // SAFETY: the caller's promise.
    unsafe { zip_here::<T, STAGED>(input, inout, n, f) }
}

/// All operations on integers.
///
/// # Safety
/// As for [`zip_here`], here and below.
pub(super) unsafe fn integer<T: Ring + Ordered + Bits>(
    op: Predef,
    input: *const u8,
    inout: *mut u8,
    n: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match op {
            Predef::Max | Predef::Min => order::<T>(op, input, inout, n),
            Predef::Sum | Predef::Prod => ring::<T>(op, input, inout, n),
            Predef::Band | Predef::Bor | Predef::Bxor => bitwise::<T>(op, input, inout, n),
            _ => logical::<T>(op, input, inout, n),
        }
    }
}

/// All operations on real numbers.
///
/// # Safety
/// As for [`zip_here`].
pub(super) unsafe fn real<T: Real>(op: Predef, input: *const u8, inout: *mut u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match op {
            Predef::Max | Predef::Min => order::<T>(op, input, inout, n),
            _ => ring::<T>(op, input, inout, n),
        }
    }
}

/// Sum and product.
///
/// # Safety
/// As for [`zip_here`].
pub(super) unsafe fn ring<T: Ring>(op: Predef, input: *const u8, inout: *mut u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match op {
            Predef::Sum => zip(input, inout, n, T::plus),
            Predef::Prod => zip(input, inout, n, T::times),
            _ => {}
        }
    }
}

/// # Safety
/// As for [`zip_here`].
unsafe fn order<T: Ordered>(op: Predef, input: *const u8, inout: *mut u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match op {
            Predef::Max if T::STAGED => zip_staged_if::<T, true>(input, inout, n, T::larger),
            Predef::Min if T::STAGED => zip_staged_if::<T, true>(input, inout, n, T::smaller),
            Predef::Max => zip(input, inout, n, T::larger),
            Predef::Min => zip(input, inout, n, T::smaller),
            _ => {}
        }
    }
}

/// # Safety
/// As for [`zip_here`].
pub(super) unsafe fn bitwise<T: Bits>(op: Predef, input: *const u8, inout: *mut u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match op {
            Predef::Band => zip(input, inout, n, T::and),
            Predef::Bor => zip(input, inout, n, T::or),
            Predef::Bxor => zip(input, inout, n, T::xor),
            _ => {}
        }
    }
}

/// Logical operations: any value but zero is true; true is stored as 1.
///
/// # Safety
/// As for [`zip_here`].
pub(super) unsafe fn logical<T: Bits>(op: Predef, input: *const u8, inout: *mut u8, n: usize) {
    let and = |a: T, b: T| T::from_bool(a.is_true() & b.is_true());
    let or = |a: T, b: T| T::from_bool(a.is_true() | b.is_true());
    let xor = |a: T, b: T| T::from_bool(a.is_true() ^ b.is_true());
    // SAFETY: the caller's promise.
    unsafe {
        match op {
            Predef::Land => zip(input, inout, n, and),
            Predef::Lor => zip(input, inout, n, or),
            Predef::Lxor => zip(input, inout, n, xor),
            _ => {}
        }
    }
}
