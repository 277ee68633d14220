//! Lines of memory that are with another processor, asked for before they are needed.
//!
//! A packed message that is read in place comes from the cache of who wrote it. Accesses of a word each are too many
//! instructions for a processor to run far enough ahead by itself; a copy of whole lines would.

/// How far ahead: what accesses of a word take to go through so many bytes is about what a line takes from another processor.
const AHEAD: usize = 512;

/// What a message begins with, which no walk has asked for.
const BEGIN: usize = 1024;

const LINE: usize = 64;

#[inline(always)]
fn line(at: *const u8) {
    // SAFETY: a hint, for which any address will do.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// A walk is about to read at `at`, and further on.
#[inline(always)]
pub fn reading(at: *const u8) {
    line(at.wrapping_add(AHEAD));
}

/// The beginning of a message of `len` bytes.
pub fn begin(start: *const u8, len: usize) {
    for at in (0..len.min(BEGIN)).step_by(LINE) {
        line(start.wrapping_add(at));
    }
}
