//! What lies in a link: fragments of messages.

use hpvm_pvm::buffers::Head;

/// Bytes in front of each fragment: its length, and what it is.
pub const FRONT: u64 = 8;
/// Bytes of a message's head, which its first fragment has.
pub const HEAD: u64 = 40;
/// Fragments begin at multiples of this.
const ALIGN: u64 = 8;

/// What a fragment is.
pub const FIRST: u32 = 0x5056_4d31;
pub const MORE: u32 = 0x5056_4d32;

/// Bytes that a fragment takes in the ring.
pub fn room(first: bool, len: u64) -> u64 {
    (FRONT + if first { HEAD } else { 0 } + len).next_multiple_of(ALIGN)
}

/// A message's head with its length, as it lies in the ring.
pub fn encode(head: &Head, total: u64) -> [u8; HEAD as usize] {
    let mut out = [0; HEAD as usize];
    out[..8].copy_from_slice(&total.to_le_bytes());
    let words = [head.target, head.tag, head.context, head.wait_id, head.encoding, head.crc];
    for (word, to) in words.iter().zip(out[8..].chunks_exact_mut(4)) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    out
}

/// The opposite.
pub fn decode(bytes: &[u8; HEAD as usize], source: i32) -> (Head, u64) {
    let word =
        |at: usize| i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let total = u64::from(word(0) as u32) | u64::from(word(4) as u32) << 32;
    let head = Head {
        source,
        target: word(8),
        tag: word(12),
        context: word(16),
        wait_id: word(20),
        encoding: word(24),
        crc: word(28),
    };
    (head, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back() {
        let head =
            Head { source: 5, target: 6, tag: -7, context: 8, wait_id: 9, encoding: 1, crc: -3 };
        assert_eq!(decode(&encode(&head, 1 << 33), 5), (head, 1 << 33));
    }
}
