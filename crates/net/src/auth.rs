//! Proof that a datagram comes from a process of the job: a keyed code over envelope and body.
//!
//! Every process of the job has the job's 128-bit key; no two directions use the same one. The keys
//! of a direction are functions of the job's key, the sender and the receiver. The code is a keyed
//! hash with 128 bits of output: SipHash-1-3 up to `SIPHASH_BYTES_MAX` bytes, HighwayHash beyond, each where it
//! is the faster one (`bench/NOTES.md`). Unlike GMAC they ask for no number that is never used
//! twice.
//!
//! What this does not give: the bytes are not encrypted, and a datagram can be recorded and sent
//! again. The reliability protocol drops what it has seen.

use highway::{HighwayHash, HighwayHasher, Key};
use hpvm_wire::envelope::{MAC, SIGNED};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;

/// The job's random key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JobKey([u8; 16]);

/// Bodies of at most so many bytes are authenticated by SipHash.
const SIPHASH_BYTES_MAX: usize = 192;

/// The keys of one direction between two processes.
#[derive(Clone, Copy)]
pub struct DirectionKey {
    short: SipHasher13,
    long: [u64; 4],
}

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
        let mut purpose = *b"hpvm key ?........";
        purpose[10..14].copy_from_slice(&src.to_le_bytes());
        purpose[14..18].copy_from_slice(&dst.to_le_bytes());
        let mut part = |number: u8| {
            purpose[9] = b'0' + number;
            self.derive(&purpose)
        };
        let short = SipHasher13::new_with_key(&part(0));
        let (low, high) = (u128::from_le_bytes(part(1)), u128::from_le_bytes(part(2)));
        let words = [low, low >> 64, high, high >> 64].map(|word| word as u64);
        DirectionKey { short, long: words }
    }
}

impl std::fmt::Debug for JobKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not even by accident.
        f.write_str("JobKey(..)")
    }
}

impl DirectionKey {
    /// The MAC of an envelope's signed bytes and a body.
    #[inline]
    pub fn mac(&self, signed: &[u8; SIGNED], body: &[u8]) -> [u8; MAC] {
        if body.len() > SIPHASH_BYTES_MAX {
            return self.mac_long(signed, body);
        }
        let mut hasher = self.short;
        hasher.write(signed);
        hasher.write(body);
        hasher.finish128().as_bytes()
    }

    #[inline(never)]
    fn mac_long(&self, signed: &[u8; SIGNED], body: &[u8]) -> [u8; MAC] {
        let mut hasher = HighwayHasher::new(Key(self.long));
        hasher.append(signed);
        hasher.append(body);
        let [low, high] = hasher.finalize128();
        (u128::from(low) | u128::from(high) << 64).to_le_bytes()
    }

    /// Whether `mac` is right. Takes the same time whatever the MAC.
    #[inline]
    pub fn verify(&self, signed: &[u8; SIGNED], body: &[u8], mac: &[u8; MAC]) -> bool {
        let right = u128::from_le_bytes(self.mac(signed, body));
        let found = u128::from_le_bytes(*mac);
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
        every_bit_counts_in(33);
        every_bit_counts_in(SIPHASH_BYTES_MAX + 1);
        every_bit_counts_in(1200);
    }

    fn every_bit_counts_in(len: usize) {
        let key = JobKey::new([7; 16]);
        let (signed, body) = ([5; SIGNED], vec![6; len]);
        let direction = key.direction(1, 2);
        let mac = direction.mac(&signed, &body);
        assert!(direction.verify(&signed, &body, &mac));
        for bit in 0..MAC * 8 {
            let mut bad = mac;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!direction.verify(&signed, &body, &bad), "bit {bit} of the MAC");
        }
        for bit in 0..SIGNED * 8 {
            let mut bad = signed;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!direction.verify(&bad, &body, &mac), "bit {bit} of the envelope");
        }
        for bit in 0..body.len() * 8 {
            let mut bad = body.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!direction.verify(&signed, &bad, &mac), "bit {bit} of the body");
        }
        assert!(!direction.verify(&signed, &body[..len - 1], &mac));
    }

    #[test]
    fn directions_and_jobs_differ() {
        let mac = |key: [u8; 16], src, dst| {
            let direction = JobKey::new(key).direction(src, dst);
            [direction.mac(&[0; SIGNED], b"body"), direction.mac(&[0; SIGNED], &[0; 500])]
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
