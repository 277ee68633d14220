//! The name space.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// The name of a shared object: two words that the program chooses, by custom what kind of object it is, and which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct Name {
    pub space: u64,
    pub key: u64,
}

/// An odd number without a pattern; the two halves of a product with it depend on all bits of a name.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl Name {
    pub fn new(space: u64, key: u64) -> Name {
        Name { space, key }
    }

    #[inline(always)]
    fn mixed(self) -> u64 {
        let word = self.space.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ self.key;
        let product = u128::from(word ^ (word >> 32)) * u128::from(MIX);
        (product >> 64) as u64 ^ product as u64
    }

    /// The rank that knows where the object is, unless the program says otherwise.
    pub fn home(self, ranks: u32) -> u32 {
        // The upper half: hash tables use the lower one.
        ((self.mixed() >> 32) % u64::from(ranks)) as u32
    }
}

impl Hash for Name {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.mixed());
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.space, self.key)
    }
}

/// Takes what `Name` has mixed as it is.
#[derive(Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(MIX);
        }
    }

    #[inline(always)]
    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

pub type Names<T> = HashMap<Name, T, BuildHasherDefault<Mixed>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_spread_evenly() {
        for ranks in [2, 3, 7] {
            let mut count = vec![0u32; ranks as usize];
            for space in 0..10 {
                for key in 0..1000 {
                    count[Name::new(space, key << 3).home(ranks) as usize] += 1;
                }
            }
            let share = 10_000 / ranks;
            assert!(count.iter().all(|n| n.abs_diff(share) < share / 5), "{ranks}: {count:?}");
        }
    }
}
