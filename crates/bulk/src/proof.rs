//! What only processes of the job can compute: SipHash-2-4 under keys made from the job's key.

use core::hash::Hasher;
use hpvm_wire::bulk::{FRAME, TAGGED};
use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher128};
use subtle::ConstantTimeEq;

/// A tag over `parts` under `key`, for the purpose that `label` names.
fn tag(key: &[u8; 16], label: &[u8; 8], parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = SipHasher128::new_with_key(key);
    hasher.write(label);
    for part in parts {
        hasher.write(part);
    }
    hasher.finish128().as_bytes()
}

/// The key of all bulk connections of a job.
#[derive(Clone)]
pub(crate) struct Key([u8; 16]);

impl Key {
    /// From the job's key, which datagrams use in other ways.
    pub fn of_job(job: &[u8; 16]) -> Key {
        Key(tag(job, b"hpvmbulk", &[]))
    }

    /// Proof over what has been said so far.
    pub fn proof(&self, step: u8, said: &[&[u8]]) -> [u8; 16] {
        tag(&self.0, &[b'p', b'r', b'o', b'o', b'f', 0, 0, step], said)
    }

    /// The keys of a connection: for frames of the connecting process, and for the other's.
    pub fn session(&self, said: &[&[u8]]) -> [FrameTags; 2] {
        [b"connects", b"accepts."].map(|way| FrameTags { key: tag(&self.0, way, said), frames: 0 })
    }
}

/// Compares in a time that does not tell where the difference is.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

/// Tags the frames of one direction of one connection, in order.
#[derive(Clone)]
pub(crate) struct FrameTags {
    key: [u8; 16],
    frames: u64,
}

impl FrameTags {
    fn next(&mut self, header: &[u8; FRAME]) -> [u8; FRAME - TAGGED] {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(&self.frames.to_le_bytes());
        hasher.write(&header[..TAGGED]);
        self.frames += 1;
        hasher.finish().to_le_bytes()
    }

    /// Writes the tag of the next frame into its header.
    pub fn write(&mut self, header: &mut [u8; FRAME]) {
        let tag = self.next(header);
        header[TAGGED..].copy_from_slice(&tag);
    }

    /// Whether `header` is the next frame that the peer made.
    pub fn verify(&mut self, header: &[u8; FRAME]) -> bool {
        let tag = self.next(header);
        equal(&tag, &header[TAGGED..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_purposes_differ() {
        let (a, b) = (Key::of_job(&[1; 16]), Key::of_job(&[2; 16]));
        assert_ne!(a.proof(1, &[b"x"]), b.proof(1, &[b"x"]));
        assert_ne!(a.proof(1, &[b"x"]), a.proof(2, &[b"x"]));
        assert_ne!(a.proof(1, &[b"x"]), a.proof(1, &[b"y"]));
        let [out, back] = a.session(&[b"n"]);
        assert_ne!(out.key, back.key);
    }

    #[test]
    fn a_frame_is_accepted_once_and_in_order() {
        let [tags, _] = Key::of_job(&[1; 16]).session(&[]);
        let (mut writer, mut reader) = (tags.clone(), tags);
        let (mut first, mut second) = ([3; FRAME], [3; FRAME]);
        writer.write(&mut first);
        writer.write(&mut second);
        assert!(reader.clone().verify(&first) && !reader.clone().verify(&second));
        assert!(reader.verify(&first) && !reader.clone().verify(&first) && reader.verify(&second));
        let mut bent = first;
        bent[5] ^= 1;
        assert!(!writer.verify(&bent));
    }
}
