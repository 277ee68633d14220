//! Atomic memory operations (section 9.7): the processor's where memory is mapped.

use crate::far;
use crate::state::{near, state};
use crate::types::{Ctx, Name};
use core::ffi::c_int;
use hpvm_abi::onesided::{Kind, Op};
use hpvm_model::present;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A type of the standard's tables of atomic operations.
pub trait Amo: Copy {
    const KIND: Kind;
    fn bits(self) -> u64;
    fn of(bits: u64) -> Self;
}

macro_rules! integers {
    ($($ty:ident $bits:ident $kind:ident),*) => {$(
        impl Amo for $ty {
            const KIND: Kind = Kind::$kind;
            #[inline(always)]
            fn bits(self) -> u64 {
                self as $bits as u64
            }
            #[inline(always)]
            fn of(bits: u64) -> $ty {
                bits as $ty
            }
        }
    )*};
}

integers!(i32 u32 I32, u32 u32 U32, i64 u64 I64, u64 u64 U64, isize u64 I64, usize u64 U64);

impl Amo for f32 {
    const KIND: Kind = Kind::F32;
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    fn of(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
}

impl Amo for f64 {
    const KIND: Kind = Kind::F64;
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn of(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
}

/// The order of all operations: one for all PEs, which costs no more than a weaker one where a word is read and
/// written. Puts of this PE that came before are seen by whoever sees the word.
// SeqCst pairs with that of all other PEs.
const ORDER: Ordering = Ordering::SeqCst;

/// Updates `$word`; `$x` is its operand.
macro_rules! by_processor {
    ($word:expr, $op:expr, $x:expr) => {
        match $op {
            Op::Sum => $word.fetch_add($x, ORDER),
            Op::And => $word.fetch_and($x, ORDER),
            Op::Or => $word.fetch_or($x, ORDER),
            Op::Xor => $word.fetch_xor($x, ORDER),
            Op::Replace => $word.swap($x, ORDER),
            // No operation of this library needs another.
            _ => $word.load(ORDER),
        }
    };
}

/// # Safety
/// `at` is an element of `size` bytes, 4 or 8, aligned.
#[inline(always)]
unsafe fn processor(at: *mut u8, size: usize, op: Op, operand: u64) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            4 => by_processor!((*at.cast::<AtomicU32>()), op, operand as u32).into(),
            _ => by_processor!((*at.cast::<AtomicU64>()), op, operand),
        }
    }
}

/// Updates an element; its value before.
#[inline(always)]
pub(super) fn update<T: Amo>(
    name: Name,
    ctx: Ctx,
    at: *const T,
    op: Op,
    operand: T,
    pe: c_int,
) -> T {
    update_as::<T, true>(name, ctx, at, op, operand, pe)
}

/// The same for a function that does not fetch: elsewhere nobody waits for an answer, and a quiet completes it.
#[inline(always)]
pub(super) fn change<T: Amo>(name: Name, ctx: Ctx, at: *const T, op: Op, operand: T, pe: c_int) {
    update_as::<T, false>(name, ctx, at, op, operand, pe);
}

/// Without `FETCHES` the value is that of no element.
#[inline(always)]
fn update_as<T: Amo, const FETCHES: bool>(
    name: Name,
    ctx: Ctx,
    at: *const T,
    op: Op,
    operand: T,
    pe: c_int,
) -> T {
    let size = size_of::<T>();
    match near(ctx, at.addr(), size, pe) {
        // SAFETY: mapped for as many bytes, aligned.
        Some(at) if at.addr() & (size - 1) == 0 => unsafe {
            T::of(processor(at, size, op, operand.bits()))
        },
        _ => update_elsewhere::<T, FETCHES>(name, ctx, at, op, operand, pe),
    }
}

/// What `update_as` does where `near` says nothing or the element is misaligned.
#[inline(never)]
fn update_elsewhere<T: Amo, const FETCHES: bool>(
    name: Name,
    ctx: Ctx,
    at: *const T,
    op: Op,
    operand: T,
    pe: c_int,
) -> T {
    let s = state(name);
    let pe = s.pe(name, ctx, pe);
    let size = size_of::<T>();
    let bits = match s.mapped(at.addr(), size, pe) {
        // SAFETY: mapped for as many bytes, aligned.
        Some(at) if at.addr() & (size - 1) == 0 => unsafe {
            processor(at, size, op, operand.bits())
        },
        _ => {
            let call = if FETCHES { far::update } else { far::change };
            call(s, name, at.addr(), (T::KIND, op, size), operand.bits(), pe)
        }
    };
    T::of(bits)
}

#[inline(always)]
pub unsafe fn compare_swap<T: Amo>(
    name: Name,
    ctx: Ctx,
    dest: *mut T,
    cond: T,
    value: T,
    pe: c_int,
) -> T {
    let size = size_of::<T>();
    match near(ctx, dest.addr(), size, pe) {
        // SAFETY: mapped for as many bytes, aligned.
        Some(at) if at.addr() & (size - 1) == 0 => unsafe {
            T::of(exchange(at, size, cond.bits(), value.bits()))
        },
        _ => compare_swap_elsewhere(name, ctx, dest, cond, value, pe),
    }
}

/// What `compare_swap` does where `near` says nothing or the element is misaligned.
#[inline(never)]
fn compare_swap_elsewhere<T: Amo>(
    name: Name,
    ctx: Ctx,
    dest: *mut T,
    cond: T,
    value: T,
    pe: c_int,
) -> T {
    let s = state(name);
    let pe = s.pe(name, ctx, pe);
    let size = size_of::<T>();
    let (cond, value) = (cond.bits(), value.bits());
    let bits = match s.mapped(dest.addr(), size, pe) {
        // SAFETY: mapped for as many bytes, aligned.
        Some(at) if at.addr() & (size - 1) == 0 => unsafe { exchange(at, size, cond, value) },
        _ => far::compare_swap(s, name, dest.addr(), (T::KIND, size), (cond, value), pe),
    };
    T::of(bits)
}

/// The bits before.
///
/// # Safety
/// `at` is an element of `size` bytes, 4 or 8, aligned.
#[inline(always)]
unsafe fn exchange(at: *mut u8, size: usize, cond: u64, value: u64) -> u64 {
    fn before<B>(outcome: Result<B, B>) -> u64
    where
        u64: From<B>,
    {
        match outcome {
            Ok(bits) | Err(bits) => bits.into(),
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            4 => {
                let word = &*at.cast::<AtomicU32>();
                before(word.compare_exchange(cond as u32, value as u32, ORDER, ORDER))
            }
            _ => before((*at.cast::<AtomicU64>()).compare_exchange(cond, value, ORDER, ORDER)),
        }
    }
}

/// Refuses null as the place of a value that is fetched.
#[inline(always)]
fn place<T>(name: Name, fetch: *mut T) {
    present(name, "place for the value", fetch.cast(), size_of::<T>());
}

/// A function that fetches, one that does not, and one that puts what it fetches into memory.
macro_rules! operations {
    ($($fetch:ident $update:ident $nbi:ident $op:ident),*) => {$(
        #[inline(always)]
        pub unsafe fn $fetch<T: Amo>(name: Name, ctx: Ctx, dest: *mut T, value: T, pe: c_int) -> T {
            update(name, ctx, dest, Op::$op, value, pe)
        }

        #[inline(always)]
        pub unsafe fn $update<T: Amo>(name: Name, ctx: Ctx, dest: *mut T, value: T, pe: c_int) {
            change(name, ctx, dest, Op::$op, value, pe);
        }

        #[inline(always)]
        pub unsafe fn $nbi<T: Amo>(
            name: Name,
            ctx: Ctx,
            fetch: *mut T,
            dest: *mut T,
            value: T,
            pe: c_int,
        ) {
            place(name, fetch);
            // SAFETY: the program's place for the value.
            unsafe { fetch.write_unaligned(update(name, ctx, dest, Op::$op, value, pe)) }
        }
    )*};
}

operations!(fetch_add add fetch_add_nbi Sum, fetch_and and fetch_and_nbi And, fetch_or or fetch_or_nbi Or,
    fetch_xor xor fetch_xor_nbi Xor, swap set swap_nbi Replace);

#[inline(always)]
pub unsafe fn fetch<T: Amo>(name: Name, ctx: Ctx, source: *const T, pe: c_int) -> T {
    update(name, ctx, source, Op::Read, T::of(0), pe)
}

#[inline(always)]
pub unsafe fn fetch_nbi<T: Amo>(name: Name, ctx: Ctx, into: *mut T, source: *const T, pe: c_int) {
    place(name, into);
    // SAFETY: the program's place for the value.
    unsafe { into.write_unaligned(fetch(name, ctx, source, pe)) }
}

#[inline(always)]
pub unsafe fn fetch_inc<T: Amo>(name: Name, ctx: Ctx, dest: *mut T, pe: c_int) -> T {
    update(name, ctx, dest, Op::Sum, T::of(1), pe)
}

#[inline(always)]
pub unsafe fn inc<T: Amo>(name: Name, ctx: Ctx, dest: *mut T, pe: c_int) {
    change(name, ctx, dest, Op::Sum, T::of(1), pe);
}

#[inline(always)]
pub unsafe fn fetch_inc_nbi<T: Amo>(name: Name, ctx: Ctx, fetch: *mut T, dest: *mut T, pe: c_int) {
    place(name, fetch);
    // SAFETY: the program's place for the value.
    unsafe { fetch.write_unaligned(fetch_inc(name, ctx, dest, pe)) }
}

#[inline(always)]
pub unsafe fn compare_swap_nbi<T: Amo>(
    name: Name,
    ctx: Ctx,
    fetch: *mut T,
    dest: *mut T,
    cond: T,
    value: T,
    pe: c_int,
) {
    place(name, fetch);
    // SAFETY: the program's place for the value.
    unsafe { fetch.write_unaligned(compare_swap(name, ctx, dest, cond, value, pe)) }
}
