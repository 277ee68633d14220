//! Proof that a datagram comes from a process of the job: a keyed code over envelope and body.
//!
//! Every process of the job has the job's 128-bit key; no two directions use the same one. The key
//! of a direction is a function of the job's key, the sender and the receiver. The function is
//! SipHash-1-3 with 128 bits of output: among the codes that were measured (`bench/NOTES.md`) it
//! is the fastest at the sizes that are sent most, and unlike GMAC it asks for no number that is
//! never used twice.
//!
//! What this does not give: the bytes are not encrypted, and a datagram can be recorded and sent
//! again. The reliability protocol drops what it has seen.

use hpvm_wire::envelope::{SEAL, SIGNED};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;

/// The job's random key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JobKey([u8; 16]);

/// The key of one direction between two processes.
#[derive(Clone, Copy)]
pub struct DirectionKey(SipHasher13);

impl JobKey {
    pub fn new(bytes: [u8; 16]) -> JobKey {
        JobKey(bytes)
    }

    /// Thirty-two hexadecimal digits, as [`JobKey::hex`] writes them.
    pub fn parse(text: &str) -> Option<JobKey> {
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(|n| JobKey(n.to_be_bytes()))
    }

    /// For the process manager's key space only: whoever reads it can join the job.
    pub fn hex(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }

    /// Sixteen bytes that follow from the key and `purpose` and tell nothing about the key.
    pub fn derive(&self, purpose: &[u8]) -> [u8; 16] {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write(purpose);
        hasher.finish128().as_bytes()
    }

    /// The job's number in envelopes. Public.
    pub fn job(&self) -> u32 {
        let bytes = self.derive(b"hpvm job number");
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// The key of what `src` sends to `dst`.
    pub fn direction(&self, src: u32, dst: u32) -> DirectionKey {
        let mut purpose = *b"hpvm data ........";
        purpose[10..14].copy_from_slice(&src.to_le_bytes());
        purpose[14..18].copy_from_slice(&dst.to_le_bytes());
        DirectionKey(SipHasher13::new_with_key(&self.derive(&purpose)))
    }
}

impl std::fmt::Debug for JobKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not even by accident.
        f.write_str("JobKey(..)")
    }
}

impl DirectionKey {
    /// The seal of an envelope's signed bytes and a body.
    #[inline]
    pub fn seal(&self, signed: &[u8; SIGNED], body: &[u8]) -> [u8; SEAL] {
        let mut hasher = self.0;
        hasher.write(signed);
        hasher.write(body);
        hasher.finish128().as_bytes()
    }

    /// Whether `seal` is right. Takes the same time whatever the seal.
    #[inline]
    pub fn agrees(&self, signed: &[u8; SIGNED], body: &[u8], seal: &[u8; SEAL]) -> bool {
        let right = u128::from_le_bytes(self.seal(signed, body));
        let found = u128::from_le_bytes(*seal);
        // One look at all bits, which the compiler must not split.
        core::hint::black_box(right ^ found) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_as_text() {
        let key = JobKey::new([0x12, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255]);
        assert_eq!(key.hex(), "120003040506070809".to_owned() + "0a0b0c0d0e0fff");
        assert_eq!(JobKey::parse(&key.hex()), Some(key));
        for bad in ["", "12", &"g".repeat(32), &"1".repeat(33), &"+".repeat(32)] {
            assert_eq!(JobKey::parse(bad), None, "{bad}");
        }
        assert_eq!(format!("{key:?}"), "JobKey(..)");
    }

    #[test]
    fn every_bit_counts() {
        let key = JobKey::new([7; 16]);
        let (signed, body) = ([5; SIGNED], [6; 33]);
        let direction = key.direction(1, 2);
        let seal = direction.seal(&signed, &body);
        assert!(direction.agrees(&signed, &body, &seal));
        for bit in 0..SEAL * 8 {
            let mut bad = seal;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!direction.agrees(&signed, &body, &bad), "bit {bit} of the seal");
        }
        for bit in 0..SIGNED * 8 {
            let mut bad = signed;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!direction.agrees(&bad, &body, &seal), "bit {bit} of the envelope");
        }
        for bit in 0..body.len() * 8 {
            let mut bad = body;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!direction.agrees(&signed, &bad, &seal), "bit {bit} of the body");
        }
        assert!(!direction.agrees(&signed, &body[..32], &seal));
    }

    #[test]
    fn directions_and_jobs_differ() {
        let seal = |key: [u8; 16], src, dst| {
            JobKey::new(key).direction(src, dst).seal(&[0; SIGNED], b"body")
        };
        let mut all: Vec<_> = [([1; 16], 1, 2), ([1; 16], 2, 1), ([1; 16], 1, 3), ([2; 16], 1, 2)]
            .into_iter()
            .map(|(key, src, dst)| seal(key, src, dst))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4);
        assert_ne!(JobKey::new([1; 16]).job(), JobKey::new([2; 16]).job());
    }
}
