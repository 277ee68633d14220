//! Compression of what goes over a link. Each batch of datagrams is compressed by itself (zstd, its fastest level): nothing of one
//! is needed for another. Only while the link, not we, is what is slow; and where data cannot be made shorter it is tried
//! rarely. Headers of datagrams are alike, so that even of such data some per cent are won.

use std::io;

/// In place of a datagram's length: a compressed batch follows. No datagram is so long.
pub const MARK: u16 = u16::MAX;
/// What stands before a compressed batch: the mark, its length, and the length of what it becomes.
pub const HEAD: usize = 2 + 4 + 4;
/// The longest batch: what is taken in one go, and one more datagram with its length.
pub const BATCH_BYTES_MAX: usize = super::link::BATCH + 2 + (64 << 10);
/// Shorter ones are not worth the time.
const COMPRESSED_BYTES_MIN: usize = 1024;
/// zstd's level: what a processor does faster than a link of 1 Gbit/s takes.
const LEVEL: i32 = 1;
/// Where less than one part in so many is won, nothing is.
const WORTH: usize = 100;
/// Bytes that go as they are after a try that won nothing: at first, and at most. They double.
const FIRST_PAUSE: usize = 256 << 10;
const LONGEST_PAUSE: usize = 16 << 20;

/// Makes batches shorter.
pub struct Packer {
    /// None: nothing is compressed.
    zstd: Option<zstd::bulk::Compressor<'static>>,
    frame: Vec<u8>,
    /// Bytes that go as they are before the next try, and how many it will be when that wins nothing.
    resting: usize,
    pause: usize,
}

impl Packer {
    /// Without memory for it, batches go as they are.
    pub fn new(wanted: bool) -> Packer {
        let zstd = wanted.then(|| zstd::bulk::Compressor::new(LEVEL).ok()).flatten();
        Packer { zstd, frame: Vec::new(), resting: 0, pause: FIRST_PAUSE }
    }

    /// What goes in place of a batch: a frame, or none when that is not shorter.
    pub fn pack(&mut self, batch: &[u8]) -> Option<&[u8]> {
        let zstd = self.zstd.as_mut()?;
        if !(COMPRESSED_BYTES_MIN..=BATCH_BYTES_MAX).contains(&batch.len()) {
            return None;
        }
        if self.resting > 0 {
            self.resting = self.resting.saturating_sub(batch.len());
            return None;
        }
        // With less room than is wanted it fails, and that says all.
        self.frame.resize(batch.len() - batch.len() / WORTH, 0);
        let packed = zstd.compress_to_buffer(batch, &mut self.frame[HEAD..]);
        let Ok(len) = packed else {
            self.resting = self.pause;
            self.pause = (2 * self.pause).min(LONGEST_PAUSE);
            return None;
        };
        self.pause = FIRST_PAUSE;
        self.frame[..2].copy_from_slice(&MARK.to_le_bytes());
        self.frame[2..6].copy_from_slice(&(len as u32).to_le_bytes());
        self.frame[6..HEAD].copy_from_slice(&(batch.len() as u32).to_le_bytes());
        self.frame.truncate(HEAD + len);
        Some(&self.frame)
    }
}

/// Makes them what they were.
#[derive(Default)]
pub struct Unpacker {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    batch: Vec<u8>,
}

impl Unpacker {
    /// Reads the frame at the beginning of `bytes`, after its mark. Gives the batch and the bytes after the frame; none: it is not
    /// whole yet.
    ///
    /// # Errors
    /// It is no frame, or it becomes something else than it says, which is [`BATCH_BYTES_MAX`] at most.
    pub fn unpack<'a, 'b>(
        &'a mut self,
        bytes: &'b [u8],
    ) -> io::Result<Option<(&'a [u8], &'b [u8])>> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "it sent what is no batch");
        let Some((lengths, rest)) = bytes.split_at_checked(HEAD - 2) else { return Ok(None) };
        let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| lengths[at + i])) as usize;
        let (packed, whole) = (number(0), number(4));
        if whole > BATCH_BYTES_MAX || packed >= whole {
            return Err(wrong());
        }
        let Some((packed, rest)) = rest.split_at_checked(packed) else { return Ok(None) };
        if self.zstd.is_none() {
            self.zstd = Some(zstd::bulk::Decompressor::new()?);
        }
        let zstd = self.zstd.as_mut().ok_or_else(wrong)?;
        self.batch.resize(whole, 0);
        // It writes no more than there is room for.
        match zstd.decompress_to_buffer(packed, &mut self.batch[..]) {
            Ok(len) if len == whole => Ok(Some((&self.batch, rest))),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u8 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 56) as u8
    }

    /// A batch of datagrams of one sender, as long as they come: headers that are alike, a number, a signature, data.
    fn batch(count: u64, data: impl Fn(&mut u64) -> u8) -> Vec<u8> {
        let mut state = 1;
        let mut all = Vec::new();
        for number in 0..count {
            all.extend_from_slice(&1472_u16.to_le_bytes());
            all.extend_from_slice(&[0x5a; 20]);
            all.extend_from_slice(&(1000 + number).to_le_bytes());
            all.extend((0..16).map(|_| random(&mut state)));
            all.extend_from_slice(&[3, 0, 0, 0, 9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 0, 0]);
            all.extend((0..1472 - 64).map(|_| data(&mut state)));
        }
        all
    }

    fn round_trip(batch: &[u8]) -> Option<usize> {
        let mut packer = Packer::new(true);
        let frame = packer.pack(batch)?.to_vec();
        let later = [&frame[2..], b"later"].concat();
        let mut unpacker = Unpacker::default();
        assert_eq!(unpacker.unpack(&later).unwrap(), Some((batch, &b"later"[..])));
        for short in 0..frame.len() - 2 {
            assert_eq!(unpacker.unpack(&frame[2..2 + short]).unwrap(), None, "{short} bytes");
        }
        Some(frame.len())
    }

    #[test]
    fn headers_are_won_from_data_that_is_random() {
        let batch = batch(23, random);
        let len = round_trip(&batch).expect("shorter");
        // Of the 66 bytes around the data 16 are a signature.
        assert!(len * 100 < batch.len() * 98, "{len} of {}", batch.len());
    }

    #[test]
    fn data_that_repeats_becomes_short() {
        let batch = batch(23, |_| 0);
        assert!(round_trip(&batch).expect("shorter") * 10 < batch.len());
    }

    #[test]
    fn what_is_not_shortened_is_tried_rarely() {
        let mut state = 5;
        let noise: Vec<u8> = (0..32 << 10).map(|_| random(&mut state)).collect();
        let good = batch(23, |_| 0);
        let mut packer = Packer::new(true);
        let mut tries = 0;
        for _ in 0..(64 << 20) / noise.len() {
            tries += usize::from(packer.resting == 0);
            assert!(packer.pack(&noise).is_none());
        }
        assert!((7..12).contains(&tries), "{tries}");
        // It finds out that things have changed, and then goes on.
        let until = (0..).find(|_| packer.pack(&good).is_some()).unwrap();
        assert!(until * good.len() <= LONGEST_PAUSE + good.len(), "{until}");
        assert!(packer.pack(&good).is_some());
        assert!(Packer::new(false).pack(&good).is_none());
        assert!(packer.pack(&good[..COMPRESSED_BYTES_MIN - 1]).is_none());
    }

    #[test]
    fn a_frame_cannot_become_more_than_it_may() {
        let frame = |packed: &[u8], whole: usize| {
            let lengths = [packed.len() as u32, whole as u32].map(u32::to_le_bytes);
            [&lengths.concat()[..], packed].concat()
        };
        let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 3).unwrap();
        let honest = zstd::bulk::compress(&vec![0; 5000], 3).unwrap();
        let mut unpacker = Unpacker::default();
        assert!(unpacker.unpack(&frame(&honest, 5000)).is_ok());
        for bytes in [
            frame(&bomb, BATCH_BYTES_MAX),
            frame(&bomb, 64 << 20),
            frame(&bomb, u32::MAX as usize),
            frame(&honest, 4999),
            frame(&honest, 5001),
            frame(&honest, honest.len()),
            frame(&honest[..honest.len() - 1], 5000),
            frame(&[0x41; 100], 5000),
            frame(&[], 5000),
            vec![0xff; HEAD],
        ] {
            assert!(unpacker.unpack(&bytes).is_err());
            assert!(unpacker.batch.len() <= BATCH_BYTES_MAX);
        }
        // It goes on afterwards.
        assert!(unpacker.unpack(&frame(&honest, 5000)).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn garbage_is_refused_or_waited_for(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let mut unpacker = Unpacker::default();
            if let Ok(Some((batch, rest))) = unpacker.unpack(&bytes) {
                assert!(batch.len() <= BATCH_BYTES_MAX && rest.len() < bytes.len());
            }
        }
    }
}
