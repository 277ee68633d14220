//! What ranks send one another: a head of fixed length and, with some kinds, a content.

use crate::buffer::Buffer;
use crate::{Fault, Name};
use hpvm_wire::cell::LINE_PAYLOAD;
use hpvm_wire::narrow;

pub type Rank = u32;

/// Defines the kinds with their numbers, names for people, and whether a content comes with them.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $number:literal $content:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $kind = $number),* }

        impl Kind {
            fn from_byte(byte: u8) -> Option<Kind> {
                match byte { $($number => Some(Kind::$kind),)* _ => None }
            }

            /// Whether a content comes with it.
            pub fn carries(self) -> bool {
                match self { $(Kind::$kind => $content),* }
            }
        }
    };
}

kinds! {
    /// To the home: the sender has written a value. `a`: its uses, or 0.
    Created 1 false;
    /// To the home: the sender wants the value. `a`: 1 if its program waits for it, and so will use it.
    Fetch 2 false;
    /// Home to owner: send the value to `rank`. `a`: as with `Fetch`.
    Supply 3 false;
    /// Owner to reader: the value. `a`: its uses that are left, or 0. `b`: 1 if one of them is granted to the reader, which need not
    /// report it.
    Value 4 true;
    /// Home or owner to reader: the object is gone.
    Freed 5 false;
    /// Reader to owner: `a` uses are over. `b`: 1 if its copy is gone, because there is no further use.
    Used 6 false;
    /// Owner to those who have a copy: the value is gone.
    Drop 7 false;
    /// Owner to home: the object is gone.
    Gone 8 false;
    /// To the home: the program has no use for the object any more.
    Free 9 false;
    /// Home to owner: the same.
    Retire 10 false;
    /// To the home: the sender has made an accumulator, and has it.
    Accumulator 11 false;
    /// To the home: the sender wants to update.
    Acquire 12 false;
    /// Home to the last in the chain of updaters: `rank` is next.
    Pass 13 false;
    /// One updater to the next: the accumulator. `a`: updates so far.
    Hand 14 true;
    /// To the home: the sender has made the accumulator a value. `a`: its uses, or 0.
    Converted 15 false;
    /// To the home: the sender wants a snapshot.
    Glance 16 false;
    /// Home to the last in the chain: send a snapshot to `rank`.
    Show 17 false;
    /// The snapshot. `a`: updates so far.
    Snapshot 18 true;
    /// The sender has no task. `a`: the phase.
    Ask 19 false;
    /// A task. `a`: the phase.
    Give 20 true;
    /// The token that looks for the end of a phase. `a`: the phase, `b`: tasks sent less tasks received, `rank`: 1
    /// if somebody has received one meanwhile.
    Token 21 false;
    /// The phase `a` is over.
    Over 22 false;
}

/// The part that every message has. As it travels: kind (1 byte), form (1), type of the content (2), then by the form
/// - [`NARROW`]: the numbers of the head ([`narrow`]);
/// - `PLACED + b`, if the head has no rank, `b` is 0 or 1 and the content has less than 2³² bytes: length of the content (4), name
///   (16), `a` (8). Such a head is written and read in a few steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    /// Of the content, among the registered types; 0: bytes.
    pub content_type: u16,
    pub rank: Rank,
    pub name: Name,
    pub a: u64,
    pub b: u64,
    pub len: u64,
}

/// Kind, form, type of the content.
const FIRST: usize = 4;
const NUMBERS: usize = 6;

/// Forms.
const NARROW: u8 = 0;
const PLACED: u8 = 1;

/// Bytes of a head whose numbers have fixed places.
const PLACED_BYTES: usize = 32;
/// The longest content that fits a line of the transport together with such a head.
const NEAR: u64 = (LINE_PAYLOAD - PLACED_BYTES) as u64;

impl Head {
    /// At most.
    pub const BYTES: usize = FIRST + narrow::bytes(NUMBERS);

    pub fn new(kind: Kind, name: Name) -> Head {
        Head { kind, content_type: 0, rank: 0, name, a: 0, b: 0, len: 0 }
    }

    /// Whether numbers in fixed places cost no line of the transport more than narrow ones may.
    #[inline(always)]
    fn is_placed(&self) -> bool {
        let fits = self.len <= NEAR || (LINE_PAYLOAD as u64..1 << 32).contains(&self.len);
        fits && self.rank == 0 && self.b <= 1
    }

    /// The bytes that travel are the first ones, as many as the number says: mostly so few that they and a content of 8 bytes fit
    /// a cache line of the transport.
    #[inline(always)]
    pub fn to_bytes(&self) -> ([u8; Head::BYTES], usize) {
        let mut bytes = [0; Head::BYTES];
        let Name { space, key } = self.name;
        if !self.is_placed() {
            let len = self.write_narrow(&mut bytes);
            return (bytes, len);
        }
        let form = PLACED + self.b as u8;
        let first = u64::from(self.kind as u8)
            | u64::from(form) << 8
            | u64::from(self.content_type) << 16
            | self.len << 32;
        for (place, word) in bytes.chunks_exact_mut(8).zip([first, space, key, self.a]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        (bytes, PLACED_BYTES)
    }

    #[inline(never)]
    fn write_narrow(&self, bytes: &mut [u8; Head::BYTES]) -> usize {
        bytes[0] = self.kind as u8;
        bytes[1] = NARROW;
        bytes[2..FIRST].copy_from_slice(&self.content_type.to_le_bytes());
        let Name { space, key } = self.name;
        let numbers = [space, key, self.len, u64::from(self.rank), self.a, self.b];
        FIRST + narrow::write(&numbers, &mut bytes[FIRST..])
    }

    /// The head at the beginning of a message, and what is behind it.
    ///
    /// # Errors
    /// What no correct peer sends.
    #[inline(always)]
    pub fn from_bytes(bytes: &[u8]) -> Result<(Head, &[u8]), Fault> {
        if let Some((placed, rest)) = bytes.split_first_chunk::<PLACED_BYTES>()
            && let b @ 0..2 = placed[1].wrapping_sub(PLACED)
            && let Some(kind) = Kind::from_byte(placed[0])
        {
            let [first, space, key, a] = words(placed);
            let (content_type, len) = ((first >> 16) as u16, first >> 32);
            let name = Name { space, key };
            let head = Head { kind, content_type, rank: 0, name, a, b: b.into(), len };
            return head.checked().map(|head| (head, rest));
        }
        Head::read_narrow(bytes)
    }

    #[inline(never)]
    fn read_narrow(bytes: &[u8]) -> Result<(Head, &[u8]), Fault> {
        let mut numbers = [0; NUMBERS];
        let parts = bytes.split_first_chunk::<FIRST>();
        let read = parts.and_then(|(first, rest)| {
            narrow::read(rest, &mut numbers).map(|len| (first, &rest[len..]))
        });
        let Some(([number, form, low, high], rest)) = read else {
            let text = format!("a message of {} bytes, which end in its head", bytes.len());
            return Err(Fault::new(text));
        };
        let kind = Kind::from_byte(*number)
            .ok_or_else(|| Fault::new(format!("a message of the unknown kind {number}")))?;
        if *form != NARROW {
            return Err(Fault::new(format!("{kind:?} in the unknown form {form}")));
        }
        let [space, key, len, rank, a, b] = numbers;
        let rank = Rank::try_from(rank)
            .map_err(|_| Fault::new(format!("{kind:?} about rank {rank}, which nobody has")))?;
        let content_type = u16::from_le_bytes([*low, *high]);
        let head = Head { kind, content_type, rank, name: Name { space, key }, a, b, len };
        head.checked().map(|head| (head, rest))
    }

    #[inline(always)]
    fn checked(self) -> Result<Head, Fault> {
        if !self.kind.carries() && (self.len != 0 || self.content_type != 0) {
            return Err(Head::has_content(self.kind));
        }
        Ok(self)
    }

    #[cold]
    fn has_content(kind: Kind) -> Fault {
        Fault::new(format!("{kind:?} with a content, which it never has"))
    }
}

/// The words of a head in fixed places.
#[inline(always)]
fn words(bytes: &[u8; PLACED_BYTES]) -> [u64; PLACED_BYTES / 8] {
    let mut words = [0; PLACED_BYTES / 8];
    for (word, place) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*place);
    }
    words
}

/// A message to go out.
pub struct Outgoing {
    pub to: Rank,
    pub head: Head,
    /// `head.len` bytes, which stay as they are until the message is sent.
    pub content: Option<Buffer>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back() {
        let far = Head {
            kind: Kind::Hand,
            content_type: 7,
            rank: 0x8000_0001,
            name: Name::new(u64::MAX - 1, 5),
            a: 1 << 63,
            b: u64::MAX,
            len: 99,
        };
        let lens = [0, 8, 9, 39, 40, 99, (1 << 32) - 1, 1 << 32];
        let heads = lens.into_iter().flat_map(|len| {
            [(0, 0), (0, 1), (0, 2), (1, 1), (u32::MAX, 0)].map(|(rank, b)| Head {
                len,
                rank,
                b,
                ..far
            })
        });
        for head in heads.chain([far]) {
            let (bytes, len) = head.to_bytes();
            assert_eq!(Head::from_bytes(&bytes[..len]).unwrap(), (head, &[][..]));
            assert!(Head::from_bytes(&bytes[..len - 1]).is_err(), "{head:?}");
        }
    }

    #[test]
    fn what_is_no_head_is_refused() {
        for kind in 0..=255 {
            let (mut bytes, _) = Head::new(Kind::Fetch, Name::default()).to_bytes();
            bytes[0] = kind;
            assert_eq!(Head::from_bytes(&bytes).is_ok(), (1..=22).contains(&kind), "{kind}");
        }
        for form in 0..=255 {
            let (mut bytes, len) = Head::new(Kind::Fetch, Name::default()).to_bytes();
            bytes[1] = form;
            assert_eq!(Head::from_bytes(&bytes[..len]).is_ok(), form <= PLACED + 1, "{form}");
        }
        let with_content = Head { len: 8, ..Head::new(Kind::Fetch, Name::default()) };
        assert!(Head::from_bytes(&with_content.to_bytes().0).is_err());
        // A rank of more than 4 bytes.
        let mut bytes = [0xff; Head::BYTES];
        bytes[..FIRST].copy_from_slice(&[Kind::Supply as u8, 0, 0, 0]);
        assert!(Head::from_bytes(&bytes).is_err());
    }

    #[test]
    fn a_short_value_fits_a_line() {
        let name = Name::new(u64::MAX, 1 << 30);
        for rank in [0, 0xffff] {
            let head = Head { rank, a: 1, b: 1, len: 8, ..Head::new(Kind::Value, name) };
            assert!(head.to_bytes().1 + 8 <= LINE_PAYLOAD);
        }
    }
}
