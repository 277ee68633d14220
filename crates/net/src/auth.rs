//! Proof that a datagram comes from a process of the job: a keyed code over envelope and body.
//!
//! Every process of the job has the job's 128-bit key; no two directions use the same one. The keys
//! of a direction are functions of the job's key, the sender and the receiver. The code is SipHash-1-3 with 128 bits of
//! output over envelope and body. Of a body of more than `SIPHASH_BYTES_MAX` bytes it has only a universal hash
//! ([`BodyHash`]), which is faster (`bench/NOTES.md`). Unlike GMAC it asks for no number that is never used twice: what is
//! added to the universal hash is not a secret sum, but the hash is itself what SipHash hides.
//!
//! What this does not give: the bytes are not encrypted, and a datagram can be recorded and sent
//! again. The reliability protocol drops what it has seen.

use crate::body_hash::BodyHash;
use hpvm_wire::envelope::{MAC, SIGNED};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;

/// The job's random key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JobKey([u8; 16]);

/// Bodies of at most so many bytes are authenticated by SipHash.
const SIPHASH_BYTES_MAX: usize = 120;

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
        let bytes = self.derive(b"hpvm job number, 2");
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// The key of what `src` sends to `dst`.
    pub fn direction(&self, src: u32, dst: u32) -> DirectionKey {
        let mut purpose = *b"hpvm key 0........";
        purpose[10..14].copy_from_slice(&src.to_le_bytes());
        purpose[14..18].copy_from_slice(&dst.to_le_bytes());
        DirectionKey(SipHasher13::new_with_key(&self.derive(&purpose)))
    }

    /// The hash of long bodies, in all directions.
    pub fn body_hash(&self) -> Box<BodyHash> {
        let mut purpose = *b"hpvm hash of bodies....";
        let at = purpose.len() - 4;
        BodyHash::new(|number| {
            purpose[at..].copy_from_slice(&number.to_le_bytes());
            self.derive(&purpose)
        })
    }
}

impl std::fmt::Debug for JobKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not even by accident.
        f.write_str("JobKey(..)")
    }
}

impl DirectionKey {
    /// The MAC of an envelope's signed bytes, the body's length among them, and a body. `hash` is the job's.
    #[inline]
    pub fn mac(&self, hash: &BodyHash, signed: &[u8; SIGNED], body: &[u8]) -> [u8; MAC] {
        if body.len() > SIPHASH_BYTES_MAX {
            return self.mac_long(hash, signed, body);
        }
        self.mac_of(signed, body)
    }

    #[inline]
    fn mac_of(&self, signed: &[u8; SIGNED], rest: &[u8]) -> [u8; MAC] {
        let mut hasher = self.0;
        hasher.write(signed);
        hasher.write(rest);
        hasher.finish128().as_bytes()
    }

    #[inline(never)]
    fn mac_long(&self, hash: &BodyHash, signed: &[u8; SIGNED], body: &[u8]) -> [u8; MAC] {
        match hash.digest(body) {
            Some(digest) => self.mac_of(signed, digest.map(u128::to_le_bytes).as_flattened()),
            // None of ours; only its sender pays for that.
            None => self.mac_of(signed, body),
        }
    }

    /// Whether `mac` is right. Takes the same time whatever the MAC.
    #[inline]
    pub fn verify(
        &self,
        hash: &BodyHash,
        signed: &[u8; SIGNED],
        body: &[u8],
        mac: &[u8; MAC],
    ) -> bool {
        let right = u128::from_le_bytes(self.mac(hash, signed, body));
        let found = u128::from_le_bytes(*mac);
        // One look at all bits, which the compiler must not split.
        core::hint::black_box(right ^ found) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body_hash::BODY_MAX;

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
        every_bit_counts_in(33);
        every_bit_counts_in(SIPHASH_BYTES_MAX + 1);
        every_bit_counts_in(1200);
        every_bit_counts_in(BODY_MAX + 1);
    }

    fn every_bit_counts_in(len: usize) {
        let key = JobKey::new([7; 16]);
        let (signed, body) = ([5; SIGNED], vec![6; len]);
        let (direction, hash) = (key.direction(1, 2), key.body_hash());
        let mac = direction.mac(&hash, &signed, &body);
        assert!(direction.verify(&hash, &signed, &body, &mac));
        for bit in 0..MAC * 8 {
            let mut bad = mac;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!direction.verify(&hash, &signed, &body, &bad), "bit {bit} of the MAC");
        }
        for bit in 0..SIGNED * 8 {
            let mut bad = signed;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!direction.verify(&hash, &bad, &body, &mac), "bit {bit} of the envelope");
        }
        for bit in 0..body.len() * 8 {
            let mut bad = body.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!direction.verify(&hash, &signed, &bad, &mac), "bit {bit} of the body");
        }
        assert!(!direction.verify(&hash, &signed, &body[..len - 1], &mac));
    }

    #[test]
    fn directions_and_jobs_differ() {
        let mac = |key: [u8; 16], src, dst| {
            let key = JobKey::new(key);
            let (direction, hash) = (key.direction(src, dst), key.body_hash());
            [b"body", &[0; 500][..]].map(|body| direction.mac(&hash, &[0; SIGNED], body))
        };
        let mut all: Vec<_> = [([1; 16], 1, 2), ([1; 16], 2, 1), ([1; 16], 1, 3), ([2; 16], 1, 2)]
            .into_iter()
            .flat_map(|(key, src, dst)| mac(key, src, dst))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8);
        assert_ne!(JobKey::new([1; 16]).job(), JobKey::new([2; 16]).job());
    }
}
