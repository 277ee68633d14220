//! Copies whose stores go past the cache of the processor that makes them.
//!
//! An ordinary store to a line that lies in another processor's cache first takes the line away from there.
//! Where the two processors share no cache, that limits a stream of packets to 2 GB/s. A non-temporal
//! store replaces whole lines without reading them, but the reader then finds them in memory instead of a
//! cache. Only a measurement can tell which is faster: [`crate::slow_stores`].

/// Copies `len` bytes that nobody will read on this processor soon. What it writes is ordered
/// before any later store, as after an ordinary copy.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `len` bytes, and they do not overlap.
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_unordered(from, to, len) };
    order();
}

/// Orders what [`copy_unordered`] has written on this processor before any later store.
pub fn order() {
    // Non-temporal stores are not ordered by the release store that publishes what they have written.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence; every x86-64 processor has it.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
}

/// As [`copy`], in no order with later stores before [`order`] is called: once for many short pieces, as it waits for all of
/// them to arrive.
///
/// # Safety
/// As there.
#[cfg(target_arch = "x86_64")]
pub unsafe fn copy_unordered(from: *const u8, to: *mut u8, len: usize) {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    const LINE: usize = 64;
    let head = to.align_offset(LINE).min(len);
    let lines = (len - head) / LINE;
    // SAFETY: the caller's promise; every access lies inside the `len` bytes, and the streaming
    // stores go to multiples of 16 because `to + head` is one of 64.
    unsafe {
        core::ptr::copy_nonoverlapping(from, to, head);
        for line in 0..lines {
            let source = from.add(head + line * LINE).cast::<__m128i>();
            let target = to.add(head + line * LINE).cast::<__m128i>();
            for part in 0..4 {
                _mm_stream_si128(target.add(part), _mm_loadu_si128(source.add(part)));
            }
        }
        let done = head + lines * LINE;
        core::ptr::copy_nonoverlapping(from.add(done), to.add(done), len - done);
    }
}

/// Elsewhere an ordinary copy.
///
/// # Safety
/// As above.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn copy_unordered(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(from, to, len) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_alignment_and_length() {
        let source: Vec<u8> = (0..1000u32).map(|i| (i * 7 + 3) as u8).collect();
        for from in [0, 1, 5, 16] {
            for to in 0..70 {
                for len in [0, 1, 15, 63, 64, 65, 127, 128, 200, 640, 700] {
                    let mut target = vec![0xaau8; 1000];
                    // SAFETY: 16 + 700 and 69 + 700 are below 1000.
                    unsafe {
                        super::copy(source[from..].as_ptr(), target[to..].as_mut_ptr(), len);
                    }
                    assert_eq!(target[to..to + len], source[from..from + len]);
                    assert!(target[..to].iter().chain(&target[to + len..]).all(|b| *b == 0xaa));
                }
            }
        }
    }
}
