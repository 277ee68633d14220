//! The datagram of the reliability protocol (docs/reliable.md): a header, records, and at the end
//! words that say which later datagrams have come.
//!
//! ```text
//! offset  bytes  field
//!      0      8  number: of this transmission, from 1 on, never the same twice in one direction
//!      8      4  seq: of the data in it; without data, of the data that comes next
//!     12      4  ack: everything before this one has come
//!     16      4  stamp: the sender's clock, in ticks of 64 ns
//!     20      4  echo: the newest stamp that has come, plus the ticks that it has been here
//!     24      2  window: the datagrams from `ack` on that may be sent
//!     26      1  flags
//!     27      1  sacks: words at the end
//!     28      …  records (DATA), part header and bytes (DATA and PART), or padding (PROBE)
//!    end  8*sacks  bit i of word w: datagram ack + 1 + 64 w + i has come
//! ```
//!
//! All numbers are little endian and lie unaligned. Nothing here is trusted: [`Header::read`]
//! checks that the fields agree with each other and with the length.

use crate::packet::Head;

/// Bytes of the header.
pub const HEADER: usize = 28;
/// Bytes in front of each packet's payload.
pub const RECORD: usize = 14;
/// Bytes in front of a part.
pub const PART_HEADER: usize = 4;
/// Most words at the end.
pub const MAX_SACKS: usize = 16;
/// The first `seq` in each direction: the numbers soon begin again at 0, so whoever can't bear that
/// is found early.
pub const FIRST_SEQ: u32 = u32::MAX - 255;
/// Nanoseconds of one tick of `stamp` and `echo`, as a shift.
pub const TICK_SHIFT: u32 = 6;

/// It carries records: the datagram `seq` of the stream, or a part of it.
pub const DATA: u8 = 1;
/// The receiver is to acknowledge at once.
pub const WANT_ACK: u8 = 2;
/// The sender has more to send than the window lets it.
pub const STARVED: u8 = 4;
/// `echo` means something.
pub const ECHO: u8 = 8;
/// Only a part of the datagram `seq`, which is too large for the path as it is now.
pub const PART: u8 = 16;
/// Padding, to find out whether a datagram of this size comes through.
pub const PROBE: u8 = 32;
/// The answer to a probe: two bytes of payload say the size of the datagram that came.
pub const PROBED: u8 = 64;

const KNOWN: u8 = DATA | WANT_ACK | STARVED | ECHO | PART | PROBE | PROBED;

/// The header of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub number: u64,
    pub seq: u32,
    pub ack: u32,
    pub stamp: u32,
    pub echo: u32,
    pub window: u16,
    pub flags: u8,
    /// Words at the end.
    pub sacks: u8,
}

/// A datagram taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub header: Header,
    /// What lies between the header and the words.
    pub payload: &'a [u8],
    sacks: &'a [u8],
}

impl Header {
    /// Writes the header into the first [`HEADER`] bytes.
    #[inline(always)]
    pub fn write(&self, to: &mut [u8; HEADER]) {
        to[0..8].copy_from_slice(&self.number.to_le_bytes());
        to[8..12].copy_from_slice(&self.seq.to_le_bytes());
        to[12..16].copy_from_slice(&self.ack.to_le_bytes());
        to[16..20].copy_from_slice(&self.stamp.to_le_bytes());
        to[20..24].copy_from_slice(&self.echo.to_le_bytes());
        to[24..26].copy_from_slice(&self.window.to_le_bytes());
        to[26] = self.flags;
        to[27] = self.sacks;
    }

    #[inline(always)]
    fn read(b: &[u8; HEADER]) -> Header {
        Header {
            number: u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            seq: u32::from_le_bytes([b[8], b[9], b[10], b[11]]),
            ack: u32::from_le_bytes([b[12], b[13], b[14], b[15]]),
            stamp: u32::from_le_bytes([b[16], b[17], b[18], b[19]]),
            echo: u32::from_le_bytes([b[20], b[21], b[22], b[23]]),
            window: u16::from_le_bytes([b[24], b[25]]),
            flags: b[26],
            sacks: b[27],
        }
    }
}

impl<'a> Datagram<'a> {
    /// Takes a datagram apart. None: no correct peer sends these bytes.
    #[inline(always)]
    pub fn read(bytes: &'a [u8]) -> Option<Datagram<'a>> {
        let (head, rest) = bytes.split_first_chunk::<HEADER>()?;
        let header = Header::read(head);
        let words = header.sacks as usize;
        let flags = header.flags;
        let sound = header.number != 0
            && words <= MAX_SACKS
            && rest.len() >= 8 * words
            && flags & !KNOWN == 0
            && (flags & PART == 0 || flags & DATA != 0)
            && (flags & DATA == 0 || flags & (PROBE | PROBED) == 0);
        if !sound {
            return None;
        }
        let (payload, sacks) = rest.split_at(rest.len() - 8 * words);
        let sound = match flags & (DATA | PROBE | PROBED) {
            DATA => !payload.is_empty(),
            PROBED => payload.len() == 2,
            PROBE => true,
            0 => payload.is_empty(),
            _ => false,
        };
        sound.then_some(Datagram { header, payload, sacks })
    }

    /// The words at the end.
    #[inline(always)]
    pub fn sacks(&self) -> impl Iterator<Item = u64> + 'a {
        self.sacks.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
    }
}

/// What lies in front of a packet's payload. The payload goes on at the beginning of the next
/// datagram of the stream when it is longer than what is left of this one.
#[inline(always)]
pub fn write_record(to: &mut [u8; RECORD], head: Head, len: u16) {
    to[0..8].copy_from_slice(&head.imm.to_le_bytes());
    to[8..10].copy_from_slice(&head.aux.to_le_bytes());
    to[10..12].copy_from_slice(&len.to_le_bytes());
    to[12] = head.handler;
    to[13] = head.flags;
}

/// The head of a packet and the bytes of its payload. An allegation.
#[inline(always)]
pub fn read_record(b: &[u8; RECORD]) -> (Head, usize) {
    let head = Head {
        imm: u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
        aux: u16::from_le_bytes([b[8], b[9]]),
        handler: b[12],
        flags: b[13],
    };
    (head, u16::from_le_bytes([b[10], b[11]]) as usize)
}

/// What lies in front of a part: where it begins in the datagram's payload, and that payload's
/// length.
pub fn write_part(to: &mut [u8; PART_HEADER], offset: u16, total: u16) {
    to[0..2].copy_from_slice(&offset.to_le_bytes());
    to[2..4].copy_from_slice(&total.to_le_bytes());
}

/// Offset and total length of a part. An allegation.
pub fn read_part(b: &[u8; PART_HEADER]) -> (usize, usize) {
    (u16::from_le_bytes([b[0], b[1]]) as usize, u16::from_le_bytes([b[2], b[3]]) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Header {
        Header {
            number: 0x0102_0304_0506_0708,
            seq: 0x1112_1314,
            ack: 0x2122_2324,
            stamp: 0x3132_3334,
            echo: 0x4142_4344,
            window: 0x5152,
            flags: DATA | ECHO,
            sacks: 1,
        }
    }

    fn bytes(header: Header, rest: &[u8]) -> Vec<u8> {
        let mut head = [0; HEADER];
        header.write(&mut head);
        [&head[..], rest].concat()
    }

    #[test]
    fn layout_is_pinned() {
        let b = bytes(some(), b"");
        let expected = "0807060504030201141312112423222134333231444342415251";
        let hex: String = b[..26].iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, expected);
        assert_eq!(b[26..], [9, 1]);
        let mut record = [0; RECORD];
        write_record(&mut record, Head { handler: 1, flags: 2, aux: 0x0304, imm: 5 }, 0x0607);
        assert_eq!(record, [5, 0, 0, 0, 0, 0, 0, 0, 4, 3, 7, 6, 1, 2]);
        let mut part = [0; PART_HEADER];
        write_part(&mut part, 0x0102, 0x0304);
        assert_eq!(part, [2, 1, 4, 3]);
    }

    #[test]
    fn round_trip() {
        let words = 77u64.to_le_bytes();
        let b = bytes(some(), &[b"abc", &words[..]].concat());
        let datagram = Datagram::read(&b).expect("sound");
        assert_eq!(datagram.header, some());
        assert_eq!(datagram.payload, b"abc");
        assert_eq!(datagram.sacks().collect::<Vec<_>>(), [77]);
        let head = Head { handler: 255, flags: 127, aux: 9, imm: u64::MAX };
        let mut record = [0; RECORD];
        write_record(&mut record, head, u16::MAX);
        assert_eq!(read_record(&record), (head, 65535));
        let mut part = [0; PART_HEADER];
        write_part(&mut part, 512, 1400);
        assert_eq!(read_part(&part), (512, 1400));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let refused = |header: Header, rest: &[u8]| {
            assert_eq!(Datagram::read(&bytes(header, rest)), None, "{header:?}");
        };
        let bare = Header { flags: 0, sacks: 0, ..some() };
        assert!(Datagram::read(&bytes(bare, b"")).is_some());
        refused(Header { number: 0, ..bare }, b"");
        refused(bare, b"x");
        refused(Header { sacks: 1, ..bare }, b"1234567");
        refused(Header { sacks: 17, ..bare }, &[0; 8 * 17]);
        refused(Header { flags: 128, ..bare }, b"");
        refused(Header { flags: DATA, ..bare }, b"");
        refused(Header { flags: PART, ..bare }, b"1234567");
        refused(Header { flags: DATA | PROBE, ..bare }, b"1234567");
        refused(Header { flags: PROBE | PROBED, ..bare }, b"12");
        refused(Header { flags: PROBED, ..bare }, b"1");
        for short in 0..HEADER {
            assert_eq!(Datagram::read(&bytes(bare, b"")[..short]), None);
        }
    }
}
