//! A universal hash of a datagram's body, which makes the MAC of a long body cheap: the body is read once by carry-less
//! multiplications that do not wait for each other, and only 32 bytes are left to a keyed hash that is strong by itself.
//!
//! It is PH, the form over polynomials of NH (Black and others, UMAC, 1999; Lemire and Kaser, 2016), two passes by
//! Toeplitz's construction: with words `w` of the body and `k` of the key, pass j is the sum over i of
//! `(w[2i] + k[2i + 2j]) (w[2i + 1] + k[2i + 1 + 2j])`, where words are polynomials over GF(2). Two different bodies of one
//! length have the same result for one of 2^128 keys. The result must not be shown to anybody: it goes into a keyed hash
//! together with the length.

/// Longest body that can be hashed: no datagram of the job has a longer one (an MTU of 9000 is the largest that is used).
pub const BODY_MAX: usize = 9024;
/// The body is padded with zeros to a multiple of so many bytes.
const BLOCK: usize = 64;
const WORDS_IN_BLOCK: usize = BLOCK / 8;
/// Words by which the key of the second pass is shifted.
const SHIFT: usize = 2;
const KEY_WORDS: usize = BODY_MAX / 8 + SHIFT;

/// The key: as long as the longest body. It follows from the job's key, and all directions use the same one.
#[repr(align(64))]
pub struct BodyHash {
    words: [u64; KEY_WORDS],
}

/// What is left of a body.
pub type Digest = [u128; 2];

impl BodyHash {
    /// `part` gives bytes that nobody can guess, others for each number.
    pub fn new(mut part: impl FnMut(u32) -> [u8; 16]) -> Box<BodyHash> {
        let mut words = [0; KEY_WORDS];
        for (number, pair) in (0..).zip(words.chunks_mut(2)) {
            let bytes = u128::from_le_bytes(part(number));
            pair.copy_from_slice(&[bytes as u64, (bytes >> 64) as u64]);
        }
        Box::new(BodyHash { words })
    }

    /// `None`: the body is longer than any.
    #[inline]
    pub fn digest(&self, body: &[u8]) -> Option<Digest> {
        if body.len() > BODY_MAX {
            return None;
        }
        let (blocks, rest) = body.as_chunks::<BLOCK>();
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let last = if rest.is_empty() { None } else { Some(&last) };
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected;
            if is_x86_feature_detected!("vpclmulqdq") && is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has both.
                return Some(unsafe { x86::wide(self, blocks, last) });
            }
            if is_x86_feature_detected!("pclmulqdq") {
                // SAFETY: the processor has it.
                return Some(unsafe { x86::narrow(self, blocks, last) });
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("aes") {
            // SAFETY: the processor has it.
            return Some(unsafe { aarch64::narrow(self, blocks, last) });
        }
        Some(self.portable(blocks, last))
    }

    /// The words of the key for each block, and those of its second pass behind them.
    #[inline(always)]
    fn keys(&self) -> impl Iterator<Item = &[u64; WORDS_IN_BLOCK + SHIFT]> {
        let all = self.words.windows(WORDS_IN_BLOCK + SHIFT).step_by(WORDS_IN_BLOCK);
        all.filter_map(<[u64]>::first_chunk)
    }

    /// For processors without such multiplications: slow, in a time that does not depend on what it multiplies.
    fn portable(&self, blocks: &[[u8; BLOCK]], last: Option<&[u8; BLOCK]>) -> Digest {
        self.sums(blocks, last, multiply)
    }

    /// The sums, by this multiplication.
    #[inline(always)]
    fn sums(
        &self,
        blocks: &[[u8; BLOCK]],
        last: Option<&[u8; BLOCK]>,
        multiply: impl Fn(u64, u64) -> u128,
    ) -> Digest {
        let mut sums = [0; 2];
        for (block, key) in blocks.iter().chain(last).zip(self.keys()) {
            let mut words = [0; WORDS_IN_BLOCK];
            for (word, bytes) in words.iter_mut().zip(block.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            for (at, pair) in words.as_chunks::<2>().0.iter().enumerate() {
                for (pass, sum) in sums.iter_mut().enumerate() {
                    let key = &key[2 * at + SHIFT * pass..];
                    *sum ^= multiply(pair[0] ^ key[0], pair[1] ^ key[1]);
                }
            }
        }
        sums
    }
}

/// The product of two polynomials over GF(2). Every fifth bit of a factor is taken at a time: at most 13 ones come together at
/// one place of a product of integers, whose carries stay in the four places above.
fn multiply(a: u64, b: u64) -> u128 {
    const EVERY_FIFTH: u128 = {
        let (mut mask, mut bit) = (0, 0);
        while bit < 128 {
            mask |= 1 << bit;
            bit += 5;
        }
        mask
    };
    let parts = |x: u64| [0, 1, 2, 3, 4].map(|r| u128::from(x & (EVERY_FIFTH as u64) << r));
    let (a, b) = (parts(a), parts(b));
    let mut product = 0;
    for r in 0..5 {
        let sum = (0..5).fold(0, |sum, i| sum ^ (a[i] * b[(r + 5 - i) % 5]));
        product |= sum & EVERY_FIFTH << r;
    }
    product
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use super::{BLOCK, BodyHash, Digest};
    use core::arch::aarch64::vmull_p64;

    /// Two words at a time (PMULL).
    #[target_feature(enable = "neon,aes")]
    pub fn narrow(hash: &BodyHash, blocks: &[[u8; BLOCK]], last: Option<&[u8; BLOCK]>) -> Digest {
        hash.sums(blocks, last, |a, b| vmull_p64(a, b))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, BodyHash, Digest, SHIFT, WORDS_IN_BLOCK};
    use core::arch::asm;
    use core::arch::x86_64::*;

    /// `_mm256_clmulepi64_epi128(x, x, 0x10)`, which Rust 1.88 has only by this way: in each half of `x` the product of its two
    /// words.
    #[target_feature(enable = "vpclmulqdq,avx2")]
    fn products(x: __m256i) -> __m256i {
        let product;
        // SAFETY: the processor has the instruction, which reads and writes registers only.
        unsafe {
            asm!("vpclmulqdq {product}, {x}, {x}, 0x10", product = lateout(ymm_reg) product, x = in(ymm_reg) x,
                options(pure, nomem, nostack, preserves_flags));
        }
        product
    }

    /// Four words at a time.
    #[target_feature(enable = "vpclmulqdq,avx2")]
    pub fn wide(hash: &BodyHash, blocks: &[[u8; BLOCK]], last: Option<&[u8; BLOCK]>) -> Digest {
        // Products of one pass in two sums, which need not wait for each other.
        let mut sums = [[_mm256_setzero_si256(); 2]; 2];
        for (block, key) in blocks.iter().chain(last).zip(hash.keys()) {
            // SAFETY: the halves of the block's eight words, at any address.
            let words =
                [0, 4].map(|at| unsafe { _mm256_loadu_si256(block.as_ptr().add(8 * at).cast()) });
            for (pass, sums) in sums.iter_mut().enumerate() {
                for (half, sum) in sums.iter_mut().enumerate() {
                    let at = 4 * half + SHIFT * pass;
                    debug_assert!(at + 4 <= WORDS_IN_BLOCK + SHIFT);
                    // SAFETY: four words of the ten, at any address.
                    let key = unsafe { _mm256_loadu_si256(key.as_ptr().add(at).cast()) };
                    *sum = _mm256_xor_si256(*sum, products(_mm256_xor_si256(words[half], key)));
                }
            }
        }
        sums.map(|[a, b]| {
            let sum = _mm256_xor_si256(a, b);
            let halves = (_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
            number(_mm_xor_si128(halves.0, halves.1))
        })
    }

    /// Two words at a time.
    #[target_feature(enable = "pclmulqdq")]
    pub fn narrow(hash: &BodyHash, blocks: &[[u8; BLOCK]], last: Option<&[u8; BLOCK]>) -> Digest {
        let mut sums = [_mm_setzero_si128(); 2];
        for (block, key) in blocks.iter().chain(last).zip(hash.keys()) {
            for pair in 0..4 {
                // SAFETY: two of the block's eight words, at any address.
                let words = unsafe { _mm_loadu_si128(block.as_ptr().add(16 * pair).cast()) };
                for (pass, sum) in sums.iter_mut().enumerate() {
                    let at = 2 * pair + SHIFT * pass;
                    debug_assert!(at + 2 <= WORDS_IN_BLOCK + SHIFT);
                    // SAFETY: two words of the ten, at any address.
                    let key = unsafe { _mm_loadu_si128(key.as_ptr().add(at).cast()) };
                    let both = _mm_xor_si128(words, key);
                    *sum = _mm_xor_si128(*sum, _mm_clmulepi64_si128::<0x10>(both, both));
                }
            }
        }
        sums.map(|sum| number(sum))
    }

    #[target_feature(enable = "sse2")]
    fn number(x: __m128i) -> u128 {
        let high = _mm_unpackhi_epi64(x, x);
        u128::from(_mm_cvtsi128_si64(x) as u64) | u128::from(_mm_cvtsi128_si64(high) as u64) << 64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hash() -> Box<BodyHash> {
        BodyHash::new(|number| {
            let mut bytes = [0; 16];
            let mut state = u64::from(number) + 1;
            for byte in &mut bytes {
                state =
                    state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                *byte = (state >> 56) as u8;
            }
            bytes
        })
    }

    /// Bit by bit.
    fn slow_product(a: u64, b: u64) -> u128 {
        (0..64).filter(|bit| b >> bit & 1 == 1).fold(0, |sum, bit| sum ^ u128::from(a) << bit)
    }

    /// As the module's text describes it.
    fn slow(hash: &BodyHash, body: &[u8]) -> Digest {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(BLOCK), 0);
        let words: Vec<u64> =
            body.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        [0, 1].map(|pass| {
            let product = |i: usize| {
                let key = &hash.words[2 * i + SHIFT * pass..];
                slow_product(words[2 * i] ^ key[0], words[2 * i + 1] ^ key[1])
            };
            (0..words.len() / 2).fold(0, |sum, i| sum ^ product(i))
        })
    }

    fn all_agree(body: &[u8]) {
        let hash = hash();
        let expected = slow(&hash, body);
        assert_eq!(hash.digest(body), Some(expected), "{} bytes", body.len());
        let (blocks, rest) = body.as_chunks::<BLOCK>();
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let last = Some(&last).filter(|_| !rest.is_empty());
        assert_eq!(hash.portable(blocks, last), expected, "{} bytes", body.len());
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("pclmulqdq") {
            // SAFETY: the processor has it.
            let narrow = unsafe { x86::narrow(&hash, blocks, last) };
            assert_eq!(narrow, expected, "{} bytes", body.len());
        }
    }

    #[test]
    fn all_lengths() {
        let body: Vec<u8> =
            (0..BODY_MAX as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        (0..=BODY_MAX)
            .step_by(if cfg!(miri) { 509 } else { 1 })
            .for_each(|len| all_agree(&body[..len]));
        assert_eq!(hash().digest(&[0; BODY_MAX + 1]), None);
    }

    #[test]
    fn the_whole_key_counts() {
        let hash = hash();
        let body = [7; BODY_MAX];
        for at in 0..KEY_WORDS {
            let mut other = self::hash();
            other.words[at] ^= 1;
            assert_ne!(hash.digest(&body), other.digest(&body), "word {at}");
        }
    }

    proptest! {
        #[test]
        fn products(a: u64, b: u64) {
            prop_assert_eq!(multiply(a, b), slow_product(a, b));
            prop_assert_eq!(multiply(u64::MAX, b), slow_product(u64::MAX, b));
            prop_assert_eq!(multiply(u64::MAX, u64::MAX), slow_product(u64::MAX, u64::MAX));
        }

        #[test]
        fn bodies(body in proptest::collection::vec(any::<u8>(), 0..=BODY_MAX)) {
            all_agree(&body);
        }
    }
}
