//! The envelope in front of every datagram between two hosts, and what probes carry.
//!
//! ```text
//! 0   job     u32  number of the job, derived from its key: sorts strays out cheaply
//! 4   kind    u8   data, probe, answer
//! 5   zero    1 byte
//! 6   len     u16 bytes of the body
//! 8   src     u32  rank of the sender
//! 12  dst     u32  rank of the receiver
//! 16  number  u64  the sender's datagrams are numbered from 1 on, over all receivers
//! 24  mac     16 bytes: message authentication code over bytes 0 to 23 and the body
//! 40  body
//! ```
//! All numbers are little-endian. The length is there because the kernel joins datagrams that come
//! behind each other.
//!
//! Nothing in it may be used before the MAC has been checked,
//! except to find out that the datagram is not for us.

/// Bytes of the envelope, MAC included.
pub const ENVELOPE: usize = 40;
/// Bytes of the envelope in front of the MAC.
pub const SIGNED: usize = 24;
/// Bytes of the MAC.
pub const MAC: usize = ENVELOPE - SIGNED;
/// Bytes of the body of a probe and of an answer.
pub const PROBE: usize = 8;

/// What a datagram is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The body belongs to the reliability protocol.
    Data = 1,
    /// Can you hear me on this path? The body is a number that nobody can guess.
    Probe = 2,
    /// The body is the number of the probe that is answered.
    Answer = 3,
}

impl Kind {
    fn of(number: u8) -> Option<Kind> {
        [Kind::Data, Kind::Probe, Kind::Answer].into_iter().find(|k| *k as u8 == number)
    }
}

/// The envelope without its MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub job: u32,
    pub kind: Kind,
    pub src: u32,
    pub dst: u32,
    pub number: u64,
    /// Bytes of the body.
    pub len: u16,
}

/// A datagram taken apart. Nothing is checked but its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unverified<'a> {
    pub envelope: Envelope,
    pub signed: &'a [u8; SIGNED],
    pub mac: &'a [u8; MAC],
    pub body: &'a [u8],
}

impl Envelope {
    /// The bytes that the MAC covers besides the body.
    #[inline(always)]
    pub fn bytes(&self) -> [u8; SIGNED] {
        let mut bytes = [0; SIGNED];
        bytes[0..4].copy_from_slice(&self.job.to_le_bytes());
        bytes[4] = self.kind as u8;
        bytes[6..8].copy_from_slice(&self.len.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.src.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.dst.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// Takes the first of some joined datagrams apart, and returns what follows it. `None`: it is
    /// none of ours, and nothing behind it can be found.
    #[inline(always)]
    pub fn open(datagrams: &[u8]) -> Option<(Unverified<'_>, &[u8])> {
        let (signed, rest) = datagrams.split_first_chunk::<SIGNED>()?;
        let (mac, rest) = rest.split_first_chunk::<MAC>()?;
        let len = u16::from_le_bytes([signed[6], signed[7]]);
        let (body, rest) = rest.split_at_checked(usize::from(len))?;
        let half = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| signed[at + i]));
        let kind = Kind::of(signed[4])?;
        let fits = match kind {
            Kind::Data => true,
            // Padding may follow, to try what a way carries.
            Kind::Probe => body.len() >= PROBE,
            Kind::Answer => body.len() == PROBE,
        };
        if signed[5] != 0 || !fits {
            return None;
        }
        let number = u64::from(half(16)) | u64::from(half(20)) << 32;
        let envelope = Envelope { job: half(0), kind, src: half(8), dst: half(12), number, len };
        Some((Unverified { envelope, signed, mac, body }, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(kind: Kind) -> Envelope {
        let len = if kind == Kind::Data { 4 } else { PROBE as u16 };
        let number = 0x1122_3344_5566;
        Envelope { job: 0x0102_0304, kind, src: 7, dst: 0xffff_fffe, number, len }
    }

    #[test]
    fn round_trip_and_pinned_layout() {
        let e = envelope(Kind::Data);
        let mut datagram = e.bytes().to_vec();
        assert_eq!(datagram[..8], [4, 3, 2, 1, 1, 0, 4, 0]);
        assert_eq!(datagram[16..24], [0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0]);
        datagram.extend([9; MAC]);
        datagram.extend(b"body");
        datagram.extend(b"next");
        let (found, rest) = Envelope::open(&datagram).unwrap();
        let (signed, mac) = (&e.bytes(), &[9; MAC]);
        assert_eq!(found, Unverified { envelope: e, signed, mac, body: b"body" });
        assert_eq!(rest, b"next");
    }

    #[test]
    fn garbage_is_refused() {
        let e = envelope(Kind::Probe);
        let datagram = [&e.bytes()[..], &[0; MAC], &[0; PROBE]].concat();
        assert!(Envelope::open(&datagram).is_some());
        for len in 0..datagram.len() {
            assert_eq!(Envelope::open(&datagram[..len]), None, "{len} bytes");
        }
        for (at, value) in [(4, 0), (4, 4), (5, 1), (6, 7), (6, 9), (7, 1)] {
            let mut bad = datagram.clone();
            bad[at] = value;
            assert_eq!(Envelope::open(&bad), None, "byte {at} is {value}");
        }
    }
}
