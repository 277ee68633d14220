//! Random moments and victims that a seed repeats.

use crate::common::number;

/// A seed from `HPVM_TEST_SEED`, or a new one; a failure names it.
pub fn seed() -> u64 {
    match std::env::var("HPVM_TEST_SEED").map(|text| text.parse()) {
        Ok(Ok(seed)) => seed,
        Ok(Err(_)) => panic!("HPVM_TEST_SEED: expected a number"),
        Err(_) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map_or(1, |t| t.as_micros() as u64) * 1000 + u64::from(number())
        }
    }
}

/// A small generator of numbers that a seed repeats (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number from 0 to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}
