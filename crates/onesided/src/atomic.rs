//! Atomic operations on memory that this process can access: by the processor, or under a lock that the
//! caller holds. Whichever path leads to an element, what happens to it happens here.

use crate::element::{Element, Word};
use crate::kind::{AtomicOp, Kind};

/// Calls a function that is generic over the element with the type of a native kind; `$other` for others.
macro_rules! by_kind {
    ($kind:expr, $function:ident($($argument:expr),*), $other:expr) => {
        match $kind {
            Kind::I8 => $function::<i8>($($argument),*),
            Kind::I16 => $function::<i16>($($argument),*),
            Kind::I32 => $function::<i32>($($argument),*),
            Kind::I64 => $function::<i64>($($argument),*),
            Kind::U8 => $function::<u8>($($argument),*),
            Kind::U16 => $function::<u16>($($argument),*),
            Kind::U32 => $function::<u32>($($argument),*),
            Kind::U64 => $function::<u64>($($argument),*),
            Kind::F32 => $function::<f32>($($argument),*),
            Kind::F64 => $function::<f64>($($argument),*),
            Kind::Other(_) => $other,
        }
    };
}

/// Updates `count` elements at `at`, each atomically; their values before go to `fetch` unless it is null.
///
/// # Safety
/// `at` holds as many elements of the native `kind`, aligned to their size; `operand` is readable and `fetch`,
/// if not null, writable for as many, with any alignment. The operand of `NoOp` may be null.
#[inline]
pub(crate) unsafe fn update(
    at: *mut u8,
    kind: Kind,
    op: AtomicOp,
    operand: *const u8,
    count: usize,
    fetch: *mut u8,
) {
    // SAFETY: the caller's promise.
    unsafe { by_kind!(kind, update_all(at, op, operand, count, fetch), ()) }
}

/// # Safety
/// As for `update`.
#[inline]
unsafe fn update_all<E: Element>(
    at: *mut u8,
    op: AtomicOp,
    operand: *const u8,
    count: usize,
    fetch: *mut u8,
) {
    for i in 0..count {
        // SAFETY: element `i` is one of `count`, aligned.
        let word = unsafe { &*at.cast::<E::Atomic>().add(i) };
        let old = if op == AtomicOp::NoOp {
            word.load()
        } else {
            // SAFETY: as above, with any alignment.
            update_one::<E>(word, op, unsafe { operand.cast::<E>().add(i).read_unaligned() })
        };
        if !fetch.is_null() {
            // SAFETY: as above.
            unsafe { fetch.cast::<E>().add(i).write_unaligned(E::of(old)) };
        }
    }
}

#[inline(always)]
fn update_one<E: Element>(word: &E::Atomic, op: AtomicOp, operand: E) -> <E::Atomic as Word>::Bits {
    match op {
        AtomicOp::Sum if E::ADDS_AS_BITS => word.add(operand.bits()),
        AtomicOp::BitAnd => word.and(operand.bits()),
        AtomicOp::BitOr => word.or(operand.bits()),
        AtomicOp::BitXor => word.xor(operand.bits()),
        AtomicOp::Replace => word.swap(operand.bits()),
        _ => {
            let mut old = word.load();
            loop {
                match word.exchange(old, E::of(old).combine(op, operand).bits()) {
                    Ok(_) => return old,
                    Err(now) => old = now,
                }
            }
        }
    }
}

/// As `update` with plain loads and stores, for a caller who holds the lock: any alignment.
///
/// # Safety
/// As for `update`, but for the alignment; nobody else accesses the elements by these operations meanwhile.
pub(crate) unsafe fn update_locked(
    at: *mut u8,
    kind: Kind,
    op: AtomicOp,
    operand: *const u8,
    count: usize,
    fetch: *mut u8,
) {
    // SAFETY: the caller's promise.
    unsafe { by_kind!(kind, update_all_locked(at, op, operand, count, fetch), ()) }
}

/// # Safety
/// As for `update_locked`, without values before; `op` is not `NoOp`.
#[inline(always)]
unsafe fn each_locked<E: Element>(at: *mut u8, op: AtomicOp, operand: *const u8, count: usize) {
    for i in 0..count {
        // SAFETY: element `i` is one of `count`; nothing is asked of alignment.
        unsafe {
            let element = at.cast::<E>().add(i);
            let operand = operand.cast::<E>().add(i).read_unaligned();
            element.write_unaligned(element.read_unaligned().combine(op, operand));
        }
    }
}

/// A loop for each operation that programs apply to long arrays: compilers use vectors there.
///
/// # Safety
/// As for `each_locked`; `op` is a sum, minimum or maximum.
#[inline(always)]
unsafe fn all_locked<E: Element>(at: *mut u8, op: AtomicOp, operand: *const u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match op {
            AtomicOp::Sum => each_locked::<E>(at, AtomicOp::Sum, operand, count),
            AtomicOp::Min => each_locked::<E>(at, AtomicOp::Min, operand, count),
            _ => each_locked::<E>(at, AtomicOp::Max, operand, count),
        }
    }
}

/// Elements from which on it pays to ask for the wide vectors.
#[cfg(target_arch = "x86_64")]
const FOR_WIDE: usize = 32;

/// As `all_locked`, with vectors of 32 bytes.
///
/// # Safety
/// As for `all_locked`; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn all_locked_wide<E: Element>(at: *mut u8, op: AtomicOp, operand: *const u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { all_locked::<E>(at, op, operand, count) }
}

/// # Safety
/// As for `update_locked`.
unsafe fn update_all_locked<E: Element>(
    at: *mut u8,
    op: AtomicOp,
    operand: *const u8,
    count: usize,
    fetch: *mut u8,
) {
    if fetch.is_null() && matches!(op, AtomicOp::Sum | AtomicOp::Min | AtomicOp::Max) {
        #[cfg(target_arch = "x86_64")]
        if count >= FOR_WIDE && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the caller's promise; the processor has such vectors.
            return unsafe { all_locked_wide::<E>(at, op, operand, count) };
        }
        // SAFETY: the caller's promise.
        return unsafe { all_locked::<E>(at, op, operand, count) };
    }
    for i in 0..count {
        // SAFETY: element `i` is one of `count`; nothing is asked of alignment.
        unsafe {
            let element = at.cast::<E>().add(i);
            let old = element.read_unaligned();
            if op != AtomicOp::NoOp {
                let operand = operand.cast::<E>().add(i).read_unaligned();
                element.write_unaligned(old.combine(op, operand));
            }
            if !fetch.is_null() {
                fetch.cast::<E>().add(i).write_unaligned(old);
            }
        }
    }
}

/// Replaces the element at `at` by `swap` if it has the bits of `compare`; the element before.
/// Operands and result are the low bytes of words.
///
/// # Safety
/// `at` is an element of `size` bytes, 1, 2, 4 or 8, aligned to its size.
#[inline]
pub(crate) unsafe fn compare_and_swap(at: *mut u8, size: usize, compare: u64, swap: u64) -> u64 {
    use hpvm_sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};
    /// The word's bits before.
    #[inline(always)]
    fn bits<B>(outcome: Result<B, B>) -> u64
    where
        u64: From<B>,
    {
        match outcome {
            Ok(old) | Err(old) => u64::from(old),
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => bits((*at.cast::<AtomicU8>()).exchange(compare as u8, swap as u8)),
            2 => bits((*at.cast::<AtomicU16>()).exchange(compare as u16, swap as u16)),
            4 => bits((*at.cast::<AtomicU32>()).exchange(compare as u32, swap as u32)),
            _ => bits((*at.cast::<AtomicU64>()).exchange(compare, swap)),
        }
    }
}
