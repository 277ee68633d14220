//! What travels on a connection of bulk streams (docs/bulk.md): four greetings, then frames.
//!
//! ```text
//! greeting, 56 bytes                          frame, 80 bytes
//! offset  bytes  field                        offset  bytes  field
//!      0      8  magic                             0      2  magic
//!      8      2  version                           2      1  kind
//!     10      1  kind                              3      1  flags
//!     11      1  rail                              4      4  length: bytes that follow a chunk
//!     12      4  rank of the connecting process    8      8  number of the stream, or rail
//!     16      4  rank of the other                16      8  offset in the stream, or count
//!     20      4  epoch                            24      8  chunks of this rail that have come
//!     24     16  nonce, or count and zero         32      8  bytes that may come unasked, in all
//!     40     16  tag                              40     28  of an opening, otherwise zero:
//!                                                 40      8  bytes of the whole stream
//!                                                 48      4  openings before it
//!                                                 52      4  packets before it
//!                                                 56      8  imm, for the receiver's handler
//!                                                 64      4  handler, flags, aux
//!                                                 68      4  chunks known to have come, low half
//!                                                 72      8  tag
//! ```
//!
//! Numbers are little endian. Nothing is trusted before its tag has been checked, and its meaning
//! is checked after that.

use crate::Head;

/// Bytes of a greeting.
pub const GREETING: usize = 56;
/// Bytes of a frame's header.
pub const FRAME: usize = 80;
/// Bytes of a frame's header that its tag covers.
pub const TAGGED: usize = 72;
/// Most bytes of one chunk that a receiver accepts.
pub const MAX_CHUNK: u32 = 16 << 20;

const MAGIC: [u8; 8] = *b"hpvmBULK";
const VERSION: u16 = 3;
const FRAME_MAGIC: u16 = 0xb41c;

/// What a greeting says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GreetingKind {
    /// The connecting process: who I am, whom I mean, my nonce.
    Hello = 1,
    /// The other: my nonce, and the proof that I know the key.
    Challenge = 2,
    /// The connecting process: my proof, and how many chunks of this rail have come.
    Proof = 3,
    /// The other: how many have come here. From now on frames.
    Welcome = 4,
}

/// One of the four messages that begin a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    pub kind: GreetingKind,
    pub rail: u8,
    pub from: u32,
    pub to: u32,
    /// Number of the attempt to connect this rail.
    pub epoch: u32,
    /// A nonce, or a count in its first eight bytes.
    pub value: [u8; 16],
    pub tag: [u8; 16],
}

impl Greeting {
    pub fn write(&self) -> [u8; GREETING] {
        let mut out = [0; GREETING];
        out[0..8].copy_from_slice(&MAGIC);
        out[8..10].copy_from_slice(&VERSION.to_le_bytes());
        out[10] = self.kind as u8;
        out[11] = self.rail;
        out[12..16].copy_from_slice(&self.from.to_le_bytes());
        out[16..20].copy_from_slice(&self.to.to_le_bytes());
        out[20..24].copy_from_slice(&self.epoch.to_le_bytes());
        out[24..40].copy_from_slice(&self.value);
        out[40..56].copy_from_slice(&self.tag);
        out
    }

    /// `None`: not a greeting of this version.
    pub fn read(bytes: &[u8; GREETING]) -> Option<Greeting> {
        if bytes[0..8] != MAGIC || u16::from_le_bytes([bytes[8], bytes[9]]) != VERSION {
            return None;
        }
        let kind = match bytes[10] {
            1 => GreetingKind::Hello,
            2 => GreetingKind::Challenge,
            3 => GreetingKind::Proof,
            4 => GreetingKind::Welcome,
            _ => return None,
        };
        Some(Greeting {
            kind,
            rail: bytes[11],
            from: word(bytes, 12),
            to: word(bytes, 16),
            epoch: word(bytes, 20),
            value: *bytes[24..].first_chunk()?,
            tag: *bytes[40..].first_chunk()?,
        })
    }

    /// The count that a proof or a welcome carries.
    pub fn count(&self) -> u64 {
        self.value.first_chunk().map_or(0, |c| u64::from_le_bytes(*c))
    }

    /// The value of a greeting that carries a count.
    pub fn with_count(count: u64) -> [u8; 16] {
        u128::from(count).to_le_bytes()
    }
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// `len` bytes of stream `number` follow.
    Chunk = 1,
    /// The sender has given up epoch `offset` of rail `number` and asks how many of its chunks
    /// have come.
    Ask = 2,
    /// That many: `offset`. `number` is the rail, and in its upper half the epoch of the question.
    Tell = 3,
    /// The destination of stream `number` is known: all of it may come.
    Go = 4,
    /// Nothing but the counts that every frame carries.
    Ack = 5,
}

/// Flag of a chunk that opens a stream.
const OPENS: u8 = 1;

/// What the first chunk of a stream says when the sender begins unasked: it stands for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Bytes of the whole stream.
    pub total: u64,
    /// Openings of the same sender to the same receiver that went before.
    pub order: u32,
    /// Packets that went before.
    pub packets: u32,
    /// For the receiver's handler, as a packet's.
    pub head: Head,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: FrameKind,
    pub len: u32,
    pub number: u64,
    pub offset: u64,
    /// Chunks of the same rail that the writer has received.
    pub received: u64,
    /// Bytes that the writer takes unasked, from the first on.
    pub limit: u64,
    /// Chunks of the same rail that the writer knows to have come at the other end. Counts wrap.
    pub known: u32,
    /// Of a chunk that opens a stream.
    pub opening: Option<Opening>,
}

impl Frame {
    /// A frame that no bytes follow.
    pub fn bare(kind: FrameKind, number: u64, offset: u64) -> Frame {
        let (received, limit, known) = (0, 0, 0);
        Frame { kind, len: 0, number, offset, received, limit, known, opening: None }
    }

    /// The header; the last eight bytes are left for the tag.
    pub fn write(&self) -> [u8; FRAME] {
        let mut out = [0; FRAME];
        out[0..2].copy_from_slice(&FRAME_MAGIC.to_le_bytes());
        out[2] = self.kind as u8;
        out[3] = u8::from(self.opening.is_some()) * OPENS;
        out[4..8].copy_from_slice(&self.len.to_le_bytes());
        out[8..16].copy_from_slice(&self.number.to_le_bytes());
        out[16..24].copy_from_slice(&self.offset.to_le_bytes());
        out[24..32].copy_from_slice(&self.received.to_le_bytes());
        out[32..40].copy_from_slice(&self.limit.to_le_bytes());
        if let Some(Opening { total, order, packets, head }) = &self.opening {
            out[40..48].copy_from_slice(&total.to_le_bytes());
            out[48..52].copy_from_slice(&order.to_le_bytes());
            out[52..56].copy_from_slice(&packets.to_le_bytes());
            out[56..64].copy_from_slice(&head.imm.to_le_bytes());
            (out[64], out[65]) = (head.handler, head.flags);
            out[66..68].copy_from_slice(&head.aux.to_le_bytes());
        }
        out[68..72].copy_from_slice(&self.known.to_le_bytes());
        out
    }

    /// `None`: no correct peer writes such a header.
    pub fn read(bytes: &[u8; FRAME]) -> Option<Frame> {
        if u16::from_le_bytes([bytes[0], bytes[1]]) != FRAME_MAGIC {
            return None;
        }
        let kind = match bytes[2] {
            1 => FrameKind::Chunk,
            2 => FrameKind::Ask,
            3 => FrameKind::Tell,
            4 => FrameKind::Go,
            5 => FrameKind::Ack,
            _ => return None,
        };
        let (len, offset) = (word(bytes, 4), long(bytes, 16));
        let opening = (bytes[3] == OPENS).then(|| Opening {
            total: long(bytes, 40),
            order: word(bytes, 48),
            packets: word(bytes, 52),
            head: Head {
                handler: bytes[64],
                flags: bytes[65],
                aux: u16::from_le_bytes([bytes[66], bytes[67]]),
                imm: long(bytes, 56),
            },
        });
        let fits = match (kind, &opening) {
            (FrameKind::Chunk, Some(opening)) => {
                let inside = u64::from(len) <= opening.total && opening.total > 0;
                len <= MAX_CHUNK && offset == 0 && inside && opening.head.flags < Head::TRANSPORT
            }
            (FrameKind::Chunk, None) => (1..=MAX_CHUNK).contains(&len) && bytes[3] == 0,
            (_, _) => len == 0 && bytes[3] == 0,
        };
        fits.then(|| Frame {
            kind,
            len,
            number: long(bytes, 8),
            offset,
            received: long(bytes, 24),
            limit: long(bytes, 32),
            known: word(bytes, 68),
            opening,
        })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |w| u32::from_le_bytes(*w))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |w| u64::from_le_bytes(*w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_round_trip_and_lie_where_the_table_says() {
        let greeting = Greeting {
            kind: GreetingKind::Proof,
            rail: 3,
            from: 0x0102_0304,
            to: 5,
            epoch: 6,
            value: Greeting::with_count(1 << 40),
            tag: [7; 16],
        };
        let bytes = greeting.write();
        assert_eq!(&bytes[8..16], [3, 0, 3, 3, 4, 3, 2, 1]);
        assert_eq!(Greeting::read(&bytes), Some(greeting));
        assert_eq!(greeting.count(), 1 << 40);
        for (byte, wrong) in [(0, b'H'), (8, 2), (10, 0), (10, 5)] {
            let mut other = bytes;
            other[byte] = wrong;
            assert_eq!(Greeting::read(&other), None, "byte {byte}");
        }
    }

    #[test]
    fn frames_round_trip_and_impossible_ones_are_refused() {
        let head = Head { handler: 7, flags: 3, aux: 0x0102, imm: u64::MAX - 1 };
        let opening = Opening { total: 1 << 40, order: 5, packets: u32::MAX, head };
        let bare = Frame::bare(FrameKind::Ask, 1, 2);
        let chunk = Frame { kind: FrameKind::Chunk, len: 9, number: 1 << 33, offset: 8, ..bare };
        let chunk = Frame { received: 1 << 34, limit: 1 << 35, known: 1 << 31, ..chunk };
        let first = Frame { offset: 0, opening: Some(opening), ..chunk };
        let empty = Frame { len: 0, ..first };
        for right in [chunk, first, empty, bare, Frame::bare(FrameKind::Ack, 0, 0)] {
            assert_eq!(Frame::read(&right.write()), Some(right));
        }
        let short = Some(Opening { total: 8, ..opening });
        let none = Some(Opening { total: 0, ..opening });
        let flags = Head { flags: Head::TRANSPORT, ..head };
        let flagged = Some(Opening { head: flags, ..opening });
        for wrong in [
            Frame { len: 0, ..chunk },
            Frame { len: MAX_CHUNK + 1, ..chunk },
            Frame { len: MAX_CHUNK + 1, ..first },
            Frame { offset: 1, ..first },
            Frame { opening: short, ..first },
            Frame { opening: none, ..empty },
            Frame { opening: flagged, ..first },
            Frame { opening: Some(opening), ..bare },
            Frame { len: 1, ..bare },
        ] {
            assert_eq!(Frame::read(&wrong.write()), None, "{wrong:?}");
        }
        for (byte, wrong) in [(0, 0), (2, 0), (2, 6), (3, 2)] {
            let mut bytes = chunk.write();
            bytes[byte] = wrong;
            assert_eq!(Frame::read(&bytes), None, "byte {byte}");
        }
    }
}
