//! The packed message of one process for another: records of a header and a body.
//!
//! Consecutive accesses of one kind and length share a record; if each begins where the one before ends (of gets: in both
//! memories), they are one access of the record, and a large one if nothing of it has to be copied. All numbers are in the machine's own order: the
//! processes of a program are on machines of one kind.
//!
//! | kind | slot | len | count | body |
//! |---|---|---|---|---|
//! | puts | registration | bytes of each | how many | for each: offset (4 bytes), data |
//! | gets | registration | bytes of each | how many | for each: offset (4 bytes) |
//! | messages | | bytes of each payload | how many | for each: tag, payload, both aligned |
//! | large put | registration | bytes | offset | the data travels by itself |
//! | large get | registration | bytes | offset | |
//! | large message | | bytes of the payload | | the tag, aligned; the payload travels by itself |

use crate::buffer::ALIGN;

/// Bytes of a header; records begin at multiples of 8.
pub const HEADER: usize = 16;
pub const RECORD_ALIGN: usize = 8;

/// Bytes of an offset before the data of a put.
pub const OFFSET: usize = 4;

/// The bit of a slot that says that its accesses are unbuffered. There are never so many slots.
pub const HP: u32 = 1 << 31;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    Puts = 1,
    Gets = 2,
    Messages = 3,
    LargePut = 4,
    LargeGet = 5,
    LargeMessage = 6,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub kind: Kind,
    pub slot: u32,
    /// By `bsp_hpput` or `bsp_hpget`; told only where races are looked for.
    pub hp: bool,
    pub len: u32,
    pub count: u32,
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let slot = if self.hp { self.slot | HP } else { self.slot };
        let words = [self.kind as u32, slot, self.len, self.count];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Header> {
        let word =
            |i: usize| Some(u32::from_ne_bytes(bytes.get(4 * i..4 * i + 4)?.try_into().ok()?));
        let kind = match word(0)? {
            1 => Kind::Puts,
            2 => Kind::Gets,
            3 => Kind::Messages,
            4 => Kind::LargePut,
            5 => Kind::LargeGet,
            6 => Kind::LargeMessage,
            _ => return None,
        };
        let slot = word(1)?;
        let (slot, hp) = (slot & !HP, slot & HP != 0);
        Some(Header { kind, slot, hp, len: word(2)?, count: word(3)? })
    }
}

/// How tags and payloads lie in a record of messages: each may hold what C aligns to its size, up to 16.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub align: usize,
    /// Bytes from the tag to the payload.
    pub tag: usize,
    /// Bytes from one message to the next.
    pub stride: usize,
}

impl Shape {
    /// `payload` is 0 for a large message, which has none here.
    #[inline(always)]
    pub fn of(tag: usize, payload: usize) -> Shape {
        let align = if tag >= ALIGN || payload >= ALIGN { ALIGN } else { RECORD_ALIGN };
        let padded = tag.next_multiple_of(align);
        // A message of nothing has a place, too.
        let stride = (padded + payload.next_multiple_of(align)).max(RECORD_ALIGN);
        Shape { align, tag: padded, stride }
    }
}

/// A record, and where its body lies in the message.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub header: Header,
    pub body: usize,
    pub body_len: usize,
}

impl Record {
    pub fn len(&self) -> usize {
        self.header.len as usize
    }

    pub fn count(&self) -> usize {
        self.header.count as usize
    }
}

/// Walks through a packed message. Ends at its end, or with `None` where it is not what we write.
pub struct Records<'a> {
    bytes: &'a [u8],
    /// Size of the tags in it.
    tag: usize,
    at: usize,
}

impl<'a> Records<'a> {
    pub fn new(bytes: &'a [u8], tag: usize) -> Records<'a> {
        Records { bytes, tag, at: 0 }
    }

    /// Goes on where another walk has stopped.
    pub fn resume(bytes: &'a [u8], tag: usize, at: usize) -> Records<'a> {
        Records { bytes, tag, at }
    }

    /// Where this walk is.
    pub fn position(&self) -> usize {
        self.at
    }

    fn read(&mut self) -> Option<Record> {
        let start = self.at.next_multiple_of(RECORD_ALIGN);
        let header = Header::decode(self.bytes.get(start..)?)?;
        let (len, count) = (header.len as usize, header.count as usize);
        let mut body = start + HEADER;
        let body_len = match header.kind {
            Kind::Puts => count.checked_mul(OFFSET + len)?,
            Kind::Gets => count.checked_mul(OFFSET)?,
            Kind::Messages => {
                let shape = Shape::of(self.tag, len);
                body = body.next_multiple_of(shape.align);
                count.checked_mul(shape.stride)?
            }
            Kind::LargePut | Kind::LargeGet => 0,
            Kind::LargeMessage => {
                let shape = Shape::of(self.tag, 0);
                body = body.next_multiple_of(shape.align);
                shape.stride
            }
        };
        let end = body.checked_add(body_len)?;
        if end > self.bytes.len() {
            return None;
        }
        self.at = end;
        Some(Record { header, body, body_len })
    }
}

/// The message ends in the middle of a record, or has one of an unknown kind, at this byte.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed(pub usize);

impl Iterator for Records<'_> {
    type Item = Result<Record, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at.next_multiple_of(RECORD_ALIGN) >= self.bytes.len() {
            return None;
        }
        let at = self.at;
        let record = self.read();
        if record.is_none() {
            self.at = self.bytes.len();
        }
        Some(record.ok_or(Malformed(at)))
    }
}

/// The offset of the access that begins at `bytes[0]`.
#[inline(always)]
pub fn offset(bytes: &[u8]) -> usize {
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn garbage_ends(bytes in prop::collection::vec(0u8..8, 0..200), tag in 0usize..40) {
            let mut steps = 0;
            for record in Records::new(&bytes, tag) {
                if let Ok(record) = record {
                    prop_assert!(record.body + record.body_len <= bytes.len());
                }
                steps += 1;
            }
            prop_assert!(steps <= bytes.len());
        }
    }

    #[test]
    fn a_record_that_promises_too_much_is_refused() {
        let header =
            Header { kind: Kind::Puts, slot: 0, hp: false, len: u32::MAX, count: u32::MAX };
        let mut records = Records::new(&[], 0);
        assert!(records.next().is_none());
        let bytes = header.encode();
        assert_eq!(
            Records::new(&bytes, 0).next().map(|r| r.map(|r| r.header)),
            Some(Err(Malformed(0)))
        );
    }
}
