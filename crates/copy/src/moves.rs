//! Copies that `memcpy` is slow at: of a few bytes, and of some KiB between caches.

/// Copies `len` bytes. Up to 64 it takes two or four moves that may overlap; what is longer is
/// left to `memcpy`, whose call costs more than such a copy.
///
/// # Safety
/// As for `core::ptr::copy_nonoverlapping`.
#[inline(always)]
pub unsafe fn short(from: *const u8, to: *mut u8, len: usize) {
    /// Copies `size_of::<W>()` bytes at either end.
    #[inline(always)]
    unsafe fn ends<W: Copy>(from: *const u8, to: *mut u8, len: usize) {
        let last = len - size_of::<W>();
        // SAFETY: both ends lie inside the `len` bytes.
        unsafe {
            let words =
                (from.cast::<W>().read_unaligned(), from.add(last).cast::<W>().read_unaligned());
            to.cast::<W>().write_unaligned(words.0);
            to.add(last).cast::<W>().write_unaligned(words.1);
        }
    }
    // SAFETY: the caller's promise; each arm's width is at most `len`.
    unsafe {
        match len {
            8..=16 => ends::<u64>(from, to, len),
            0 => {}
            1 => *to = *from,
            2..4 => ends::<u16>(from, to, len),
            4..8 => ends::<u32>(from, to, len),
            17..=32 => ends::<[u64; 2]>(from, to, len),
            33..=64 => ends::<[u64; 4]>(from, to, len),
            _ => core::ptr::copy_nonoverlapping(from, to, len),
        }
    }
}

/// Copies `len` bytes, at most 64, each of which is stored once: for memory that others watch, who may store something else as soon as they
/// have seen what is copied.
///
/// # Safety
/// As for `core::ptr::copy_nonoverlapping`.
#[inline(always)]
pub unsafe fn once(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise; each arm moves `len` bytes.
    unsafe {
        match len {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            // These lengths are twice the width of a move of `short`: its two do not overlap.
            16 | 32 | 64 => short(from, to, len),
            _ => pieces(from, to, len),
        }
    }
}

/// `once` by moves of the widths whose sum `len` is, which is less than 64.
///
/// # Safety
/// As for `core::ptr::copy_nonoverlapping`.
#[inline(never)]
unsafe fn pieces(from: *const u8, to: *mut u8, len: usize) {
    /// Copies a piece at `at` if there is one of this width; where the next one begins.
    #[inline(always)]
    unsafe fn piece<W: Copy>(from: *const u8, to: *mut u8, len: usize, at: usize) -> usize {
        if len & size_of::<W>() == 0 {
            return at;
        }
        // SAFETY: the pieces before and this one are part of the sum.
        unsafe {
            to.add(at).cast::<W>().write_unaligned(from.add(at).cast::<W>().read_unaligned());
        }
        at + size_of::<W>()
    }
    debug_assert!(len < 64);
    // SAFETY: the caller's promise.
    unsafe {
        let at = piece::<[u64; 4]>(from, to, len, 0);
        let at = piece::<[u64; 2]>(from, to, len, at);
        let at = piece::<u64>(from, to, len, at);
        let at = piece::<u32>(from, to, len, at);
        let at = piece::<u16>(from, to, len, at);
        piece::<u8>(from, to, len, at);
    }
}

/// Copies `len` bytes of which nothing is known: as [`short`] up to [`MAX_SHORT`], as [`wide`] beyond.
///
/// # Safety
/// As for `core::ptr::copy_nonoverlapping`.
#[inline(always)]
pub unsafe fn any(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { if len <= MAX_SHORT { short(from, to, len) } else { wide(from, to, len) } }
}

/// Longest copy that takes no call.
const MAX_SHORT: usize = 64;

/// Copies `len` bytes of a packet or a fragment, to or from memory that a peer has just used: by wide vector
/// moves to aligned places from [`MIN_WIDE`] bytes on, by `memcpy` again from [`MIN_STRING`] on, but where it is slow.
///
/// # Safety
/// As for `core::ptr::copy_nonoverlapping`.
#[inline(always)]
pub unsafe fn wide(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if len >= MIN_WIDE {
            return long(from, to, len);
        }
        core::ptr::copy_nonoverlapping(from, to, len);
    }
}

/// # Safety
/// As for `core::ptr::copy_nonoverlapping`; `len` is at least [`MIN_WIDE`].
#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn long(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise, and the processor is asked whether it has AVX.
    unsafe {
        let string = len >= MIN_STRING && !close_behind(from.addr(), to.addr());
        if !string && std::is_x86_feature_detected!("avx") {
            return vectors(from, to, len);
        }
        core::ptr::copy_nonoverlapping(from, to, len);
    }
}

/// Shortest copy that is made by plain moves of 32 bytes instead of `memcpy`, which takes the processor's
/// string instruction from 2 KiB on. That instruction needs some time to begin; and where the target lies 16
/// bytes further in its page than the source, as a large block from `malloc` does behind one that begins
/// with a page, there are processors on which it copies 2 GB/s instead of 50.
#[cfg(target_arch = "x86_64")]
const MIN_WIDE: usize = 1 << 10;

/// Shortest copy for which the string instruction is worth its beginning: Zen 4 then copies 64 KiB at 125 GB/s within a
/// core's cache, and at 95 by moves of 32 bytes.
#[cfg(target_arch = "x86_64")]
const MIN_STRING: usize = 32 << 10;

/// Whether the target begins up to a cache line behind the source, as far as the low bits of addresses say by which
/// processors tell a load from an earlier store: the string instruction then waits for itself.
#[cfg(target_arch = "x86_64")]
fn close_behind(from: usize, to: usize) -> bool {
    const LOW: usize = (4 << 10) - 1;
    const LINE: usize = 64;
    (1..LINE).contains(&(to.wrapping_sub(from) & LOW))
}

/// # Safety
/// As for `core::ptr::copy_nonoverlapping`; the processor has AVX, and `len` is at least 32.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn vectors(from: *const u8, to: *mut u8, len: usize) {
    use core::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};
    const W: usize = size_of::<__m256i>();
    // SAFETY: every access lies inside the `len` bytes; none needs an alignment.
    unsafe {
        let last = _mm256_loadu_si256(from.add(len - W).cast());
        // Stores that cross a line of the cache take twice as long and more: all but the first and the last one are aligned.
        let mut at = to.addr().wrapping_neg() % W;
        if at != 0 {
            _mm256_storeu_si256(to.cast(), _mm256_loadu_si256(from.cast()));
        }
        while at + 4 * W <= len {
            let source = from.add(at).cast::<__m256i>();
            let target = to.add(at).cast::<__m256i>();
            // One by one: a closure would need the processor's feature too, and is called where it is not inlined.
            let first = _mm256_loadu_si256(source);
            let second = _mm256_loadu_si256(source.add(1));
            let third = _mm256_loadu_si256(source.add(2));
            let fourth = _mm256_loadu_si256(source.add(3));
            _mm256_storeu_si256(target, first);
            _mm256_storeu_si256(target.add(1), second);
            _mm256_storeu_si256(target.add(2), third);
            _mm256_storeu_si256(target.add(3), fourth);
            at += 4 * W;
        }
        while at + W <= len {
            _mm256_storeu_si256(to.add(at).cast(), _mm256_loadu_si256(from.add(at).cast()));
            at += W;
        }
        _mm256_storeu_si256(to.add(len - W).cast(), last);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn wide_moves_of_every_length_and_alignment() {
        let from: Vec<u8> = (0..40_000u32).map(|i| (i * 7 + 3) as u8).collect();
        let lengths = (0..200).chain([
            1000, 1023, 1024, 1025, 1056, 4095, 4096, 5000, 16384, 16385, 32767, 32768, 32769,
        ]);
        for len in lengths {
            for (a, b) in [(0, 0), (1, 0), (0, 5), (13, 31), (3, 16), (0, 17)] {
                let mut to = vec![0xaa; 40_000];
                // SAFETY: both vectors are longer than that.
                unsafe { super::wide(from.as_ptr().add(a), to.as_mut_ptr().add(b), len) };
                assert_eq!(to[b..b + len], from[a..a + len], "{len} bytes from {a} to {b}");
                assert!(to[..b].iter().chain(&to[b + len..]).all(|byte| *byte == 0xaa));
                to.fill(0xaa);
                // SAFETY: as above.
                unsafe { super::any(from.as_ptr().add(a), to.as_mut_ptr().add(b), len) };
                assert_eq!(to[b..b + len], from[a..a + len], "{len} bytes from {a} to {b}");
                assert!(to[..b].iter().chain(&to[b + len..]).all(|byte| *byte == 0xaa));
            }
        }
    }

    #[test]
    fn every_length_is_copied_and_nothing_beyond() {
        let from: Vec<u8> = (1..=200).collect();
        for len in 0..130 {
            for at in [0, 1, 7] {
                let mut to = vec![0; 200];
                // SAFETY: both vectors are longer than that.
                unsafe { super::short(from.as_ptr().add(at), to.as_mut_ptr().add(at), len) };
                assert_eq!(to[at..at + len], from[at..at + len], "{len} bytes at {at}");
                assert!(to[..at].iter().chain(&to[at + len..]).all(|byte| *byte == 0));
                if len <= 64 {
                    to.fill(0);
                    // SAFETY: as above.
                    unsafe { super::once(from.as_ptr().add(at), to.as_mut_ptr().add(at), len) };
                    assert_eq!(to[at..at + len], from[at..at + len], "{len} bytes at {at}");
                    assert!(to[..at].iter().chain(&to[at + len..]).all(|byte| *byte == 0));
                }
            }
        }
    }
}
