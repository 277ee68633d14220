//! Put and get where the memory is in our address space: copies.

use hpvm_copy as moves;
use hpvm_sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Copies `len` bytes of memory that others may access meanwhile. Words that are aligned on both sides arrive
/// whole. The two may be the same memory.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    /// Moves one word.
    macro_rules! word {
        ($atomic:ident) => {
            // Relaxed: a put and a get order nothing; a fence or a flush does.
            (*to.cast::<$atomic>())
                .store((*from.cast::<$atomic>()).load(Ordering::Relaxed), Ordering::Relaxed)
        };
    }
    let aligned = (from.addr() | to.addr()) & len.wrapping_sub(1) == 0;
    // SAFETY: the caller's promise; words are aligned.
    unsafe {
        match len {
            8 if aligned => word!(AtomicU64),
            4 if aligned => word!(AtomicU32),
            2 if aligned => word!(AtomicU16),
            1 => word!(AtomicU8),
            ..=64 => moves::once(from, to, len),
            _ => long(from, to, len),
        }
    }
}

/// As `copy`, out of memory that nobody changes, of a packet: words that are aligned where they go arrive whole, however they lie there.
///
/// # Safety
/// As for `copy`.
#[inline]
pub(crate) unsafe fn copy_private(from: *const u8, to: *mut u8, len: usize) {
    if len == 8 {
        // SAFETY: the caller's promise.
        let word = unsafe { from.cast::<u64>().read_unaligned() };
        // SAFETY: a variable of our own, and the caller's promise.
        return unsafe { copy((&raw const word).cast(), to, len) };
    }
    if len == 4 {
        // SAFETY: as above.
        let word = unsafe { from.cast::<u32>().read_unaligned() };
        // SAFETY: as above.
        return unsafe { copy((&raw const word).cast(), to, len) };
    }
    // SAFETY: the caller's promise.
    unsafe { copy(from, to, len) }
}

/// # Safety
/// As for `copy`.
#[inline(never)]
unsafe fn long(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match from.addr().abs_diff(to.addr()) < len {
            true => core::ptr::copy(from, to, len),
            false => moves::wide(from, to, len),
        }
    }
}
