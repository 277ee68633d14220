//! What other ranks must know of a region to reach it.

use crate::Rank;

/// Names a region of a rank. Plain data: who exposes memory gives its key to those who shall reach it, by
/// whatever means the model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RegionKey {
    pub rank: Rank,
    /// Index in the owner's table.
    pub id: u32,
    /// Which of the regions that had this index, one after the other.
    pub generation: u32,
    /// [`RegionKey::LOCKED`], [`RegionKey::DYNAMIC`], [`RegionKey::DIRECT`].
    pub flags: u32,
    /// Where the memory lies in its owner.
    pub address: u64,
    /// Bytes.
    pub len: u64,
    /// Where the control words lie in its owner; 0 where others can't access them.
    pub control: u64,
    /// Control words that belong to the model.
    pub words: u32,
}

impl RegionKey {
    /// Atomic operations are done under the accumulate lock, because some ranks of the host reach the memory
    /// through the kernel only.
    pub const LOCKED: u32 = 1;
    /// The region is any memory of its owner: offsets are addresses. What has been attached may be accessed
    /// ([`crate::OneSided::add_part`]).
    pub const DYNAMIC: u32 = 2;
    /// Models use the processor's atomics on mapped memory of the region by themselves, so that nobody may update it
    /// otherwise ([`crate::OneSided::set_direct`]).
    pub const DIRECT: u32 = 4;
    /// Bytes of a key on its way to others.
    pub const BYTES: usize = 48;

    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let words = [self.rank, self.id, self.generation, self.flags, self.words];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        for (to, word) in
            bytes[24..].chunks_exact_mut(8).zip([self.address, self.len, self.control])
        {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> RegionKey {
        let short = |i: usize| {
            let at = 4 * i;
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let long = |i: usize| u64::from(short(i)) | u64::from(short(i + 1)) << 32;
        RegionKey {
            rank: short(0),
            id: short(1),
            generation: short(2),
            flags: short(3),
            words: short(4),
            address: long(6),
            len: long(8),
            control: long(10),
        }
    }

    pub fn is_dynamic(&self) -> bool {
        self.flags & Self::DYNAMIC != 0
    }

    pub fn is_locked(&self) -> bool {
        self.flags & Self::LOCKED != 0
    }

    pub fn is_direct(&self) -> bool {
        self.flags & Self::DIRECT != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_journey() {
        let key = RegionKey {
            rank: 1,
            id: 2,
            generation: u32::MAX,
            flags: RegionKey::LOCKED,
            address: 0x1234_5678_9abc_def0,
            len: u64::MAX - 1,
            control: 1 << 63 | 5,
            words: 77,
        };
        assert_eq!(RegionKey::from_bytes(&key.to_bytes()), key);
    }
}
