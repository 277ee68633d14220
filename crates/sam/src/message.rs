//! What ranks send one another: a head of fixed length and, with some kinds, a content.

use crate::content::Buffer;
use crate::{Fault, Name};
use std::rc::Rc;

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
    /// To the home: the sender wants the value.
    Fetch 2 false;
    /// Home to owner: send the value to `rank`.
    Supply 3 false;
    /// Owner to reader: the value. `a`: 1 if uses are counted.
    Value 4 true;
    /// Home or owner to reader: the object is gone.
    Freed 5 false;
    /// Reader to owner: `a` uses are over.
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

/// The fixed part. Numbers are little-endian:
/// kind (1 byte), zero (1), type of the content (2), rank (4), name (16), a (8), b (8), length of the content (8).
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

impl Head {
    pub const BYTES: usize = 48;

    pub fn new(kind: Kind, name: Name) -> Head {
        Head { kind, content_type: 0, rank: 0, name, a: 0, b: 0, len: 0 }
    }

    pub fn to_bytes(&self) -> [u8; Head::BYTES] {
        let mut bytes = [0; Head::BYTES];
        bytes[0] = self.kind as u8;
        bytes[2..4].copy_from_slice(&self.content_type.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.rank.to_le_bytes());
        let words = [self.name.space, self.name.key, self.a, self.b, self.len];
        for (word, place) in words.iter().zip(bytes[8..].chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The head at the beginning of a message.
    ///
    /// # Errors
    /// What no correct peer sends.
    pub fn from_bytes(bytes: &[u8]) -> Result<Head, Fault> {
        let Some(bytes) = bytes.first_chunk::<{ Head::BYTES }>() else {
            let text = format!("a message of {} bytes; expected {}", bytes.len(), Head::BYTES);
            return Err(Fault::new(text));
        };
        let kind = Kind::from_byte(bytes[0])
            .ok_or_else(|| Fault::new(format!("a message of the unknown kind {}", bytes[0])))?;
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let head = Head {
            kind,
            content_type: u16::from_le_bytes([bytes[2], bytes[3]]),
            rank: word(0).wrapping_shr(32) as u32,
            name: Name { space: word(8), key: word(16) },
            a: word(24),
            b: word(32),
            len: word(40),
        };
        if bytes[1] != 0 || (!kind.carries() && (head.len != 0 || head.content_type != 0)) {
            return Err(Fault::new(format!("{kind:?} with a content, which it never has")));
        }
        Ok(head)
    }
}

/// A message to go out.
pub struct Outgoing {
    pub to: Rank,
    pub head: Head,
    /// `head.len` bytes, which stay as they are until the message is sent.
    pub content: Option<Rc<Buffer>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back() {
        let head = Head {
            kind: Kind::Hand,
            content_type: 7,
            rank: 0x8000_0001,
            name: Name::new(u64::MAX - 1, 5),
            a: 1 << 63,
            b: u64::MAX,
            len: 99,
        };
        assert_eq!(Head::from_bytes(&head.to_bytes()).unwrap(), head);
        assert!(Head::from_bytes(&head.to_bytes()[1..]).is_err());
    }

    #[test]
    fn what_is_no_head_is_refused() {
        for kind in 0..=255 {
            let mut bytes = Head::new(Kind::Fetch, Name::default()).to_bytes();
            bytes[0] = kind;
            assert_eq!(Head::from_bytes(&bytes).is_ok(), (1..=22).contains(&kind), "{kind}");
        }
        let with_content = Head { len: 8, ..Head::new(Kind::Fetch, Name::default()) };
        assert!(Head::from_bytes(&with_content.to_bytes()).is_err());
    }
}
