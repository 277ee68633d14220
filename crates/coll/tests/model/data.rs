//! Contents of buffers and operators whose results tell how they were computed.

use super::{Op, Type};

/// What untouched memory looks like.
pub const POISON: u8 = 0xEE;

/// A buffer of poison with room for so many elements.
pub fn blank(ty: Type, count: usize) -> Vec<u8> {
    vec![POISON; ty.extent * count]
}

/// Byte `i` of the packed block that `from` has for `to`.
pub fn byte(from: u32, to: u32, i: usize) -> u8 {
    let mix = u64::from(from) * 7919 + u64::from(to) * 104_729 + i as u64 * 31 + 17;
    (mix ^ (mix >> 7) ^ (mix >> 13)) as u8
}

/// The packed block that `from` has for `to`.
pub fn packed(from: u32, to: u32, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| byte(from, to, i)).collect()
}

/// Writes packed bytes as elements of a type, from a byte offset on.
pub fn put(buffer: &mut [u8], offset: usize, ty: Type, data: &[u8]) {
    assert!(ty.size == 0 || data.len().is_multiple_of(ty.size));
    for (i, element) in data.chunks(ty.size.max(1)).enumerate() {
        let at = offset + i * ty.extent;
        buffer[at..at + ty.size].copy_from_slice(element);
    }
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

fn store(bytes: &mut [u8], value: u64) {
    bytes.copy_from_slice(&value.to_le_bytes());
}

/// Commutative and associative: a wrapping sum.
pub fn sum(input: &[u8], inout: &mut [u8]) {
    let value = word(input).wrapping_add(word(inout));
    store(inout, value);
}

/// Composition of affine maps modulo a prime: associative, but the order of operands matters.
pub fn compose(input: &[u8], inout: &mut [u8]) {
    const P: u64 = 2_147_483_647;
    let ((a, b), (c, d)) = (split(word(input)), split(word(inout)));
    let (m, n) = (a * c % P, (b * c + d) % P);
    store(inout, m | n << 32);
}

fn split(word: u64) -> (u64, u64) {
    (word & 0x7fff_ffff, word >> 32 & 0x7fff_ffff)
}

/// Neither associative nor commutative: equal results mean equal bracketing and order.
pub fn scramble(input: &[u8], inout: &mut [u8]) {
    let value = word(input).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) ^ word(inout);
    store(inout, value.wrapping_mul(0xd6e8_feb8_6659_fd93));
}

/// Element `i` of a rank's operand.
pub fn operand(rank: u32, i: usize) -> u64 {
    let (a, b) = (u64::from(rank) * 31 + i as u64 + 2, u64::from(rank) * 1009 + 3 * i as u64);
    a & 0x7fff_ffff | (b & 0x7fff_ffff) << 32
}

/// A rank's packed operand.
pub fn operands(rank: u32, count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| operand(rank, i).to_le_bytes()).collect()
}

/// The packed reduction over a range of ranks in rank order; it must not be empty.
pub fn reduced(op: Op, ranks: std::ops::Range<u32>, count: usize) -> Vec<u8> {
    let mut result = operands(ranks.end - 1, count);
    for rank in ranks.rev().skip(1) {
        let input = operands(rank, count);
        for (a, b) in input.chunks(8).zip(result.chunks_mut(8)) {
            op(a, b);
        }
    }
    result
}
