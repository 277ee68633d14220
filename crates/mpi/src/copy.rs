//! Copies of a few bytes, without a call.

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

#[cfg(test)]
mod tests {
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
            }
        }
    }
}
