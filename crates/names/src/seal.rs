//! Messages that nobody but the other end can read, write, change, leave out or repeat.
//!
//! Each is its length, its bytes under a stream of keys, and a code over both. Keys and codes follow from the key of
//! the connection, the direction and the number of the message, so nothing is used twice.

use crate::message::MESSAGE_MAX;
use hpvm_net::JobKey;
use hpvm_net::handshake::{WORD, same};

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Client,
    Server,
}

/// What one end of a connection seals with, and opens what the other one has sealed.
#[derive(Debug)]
pub struct Seal {
    key: JobKey,
    end: End,
    sealed: u64,
    opened: u64,
}

/// The bytes are not what the other end has said.
#[derive(Debug, PartialEq, Eq)]
pub struct Forged;

/// What comes before the bytes.
const HEAD: usize = 4;

impl Seal {
    /// For one end of a connection with this key.
    pub fn new(key: JobKey, end: End) -> Seal {
        Seal { key, end, sealed: 0, opened: 0 }
    }

    fn word(&self, purpose: &[u8; 16], from: End, number: u64, rest: &[u8]) -> [u8; WORD] {
        let from = [u8::from(from == End::Server)];
        self.key.derive(&[&purpose[..], &from, &number.to_le_bytes(), rest].concat())
    }

    fn hide(&self, from: End, number: u64, bytes: &mut [u8]) {
        for (place, block) in bytes.chunks_mut(WORD).enumerate() {
            let keys = self.word(b"hpvm names keys ", from, number, &(place as u64).to_le_bytes());
            block.iter_mut().zip(keys).for_each(|(byte, key)| *byte ^= key);
        }
    }

    /// The next message of this end, sealed.
    pub fn seal(&mut self, message: &[u8]) -> Vec<u8> {
        let mut bytes = (message.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(message);
        self.hide(self.end, self.sealed, &mut bytes[HEAD..]);
        bytes.extend(self.word(b"hpvm names code ", self.end, self.sealed, &bytes));
        self.sealed += 1;
        bytes
    }

    /// Takes the next message of the other end out of `inbox`, if it is there as a whole.
    ///
    /// # Errors
    /// What is there has been said by somebody else.
    pub fn open(&mut self, inbox: &mut Vec<u8>) -> Result<Option<Vec<u8>>, Forged> {
        let other = if self.end == End::Client { End::Server } else { End::Client };
        let Some(head) = inbox.first_chunk::<HEAD>() else { return Ok(None) };
        let len = u32::from_le_bytes(*head) as usize;
        if len > MESSAGE_MAX {
            return Err(Forged);
        }
        let Some((message, rest)) = inbox.split_at_checked(HEAD + len) else { return Ok(None) };
        let Some(code) = rest.first_chunk::<WORD>() else { return Ok(None) };
        if !same(code, &self.word(b"hpvm names code ", other, self.opened, message)) {
            return Err(Forged);
        }
        let mut message = message[HEAD..].to_vec();
        self.hide(other, self.opened, &mut message);
        self.opened += 1;
        inbox.drain(..HEAD + len + WORD);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Seal, Seal) {
        let key = JobKey::new([7; 16]);
        (Seal::new(key, End::Client), Seal::new(key, End::Server))
    }

    #[test]
    fn messages_come_in_any_pieces_and_in_both_directions() {
        let (mut client, mut server) = pair();
        for text in [&b"a message that is longer than one block of keys"[..], b"", b"x"] {
            let (there, back) = (client.seal(text), server.seal(text));
            assert!(
                text.len() < 5
                    || !there.windows(5).any(|bytes| text.windows(5).any(|t| t == bytes))
            );
            assert_ne!(there, back);
            let mut inbox = Vec::new();
            for (place, byte) in there.iter().enumerate() {
                inbox.push(*byte);
                let found = server.open(&mut inbox);
                let whole = (place + 1 == there.len()).then(|| text.to_vec());
                assert_eq!(found, Ok(whole));
            }
            assert!(inbox.is_empty());
            assert_eq!(client.open(&mut back.clone()), Ok(Some(text.to_vec())));
        }
    }

    #[test]
    fn what_was_changed_repeated_or_sent_back_is_forged() {
        let (mut client, mut server) = pair();
        let good = client.seal(b"message");
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 1;
            bad.resize(MESSAGE_MAX, 0);
            assert_eq!(server.open(&mut bad), Err(Forged), "byte {place}");
        }
        assert_eq!(client.open(&mut good.clone()), Err(Forged));
        assert!(server.open(&mut good.clone()).is_ok_and(|message| message.is_some()));
        assert_eq!(server.open(&mut good.clone()), Err(Forged));
        assert_eq!(server.open(&mut vec![0xff; HEAD]), Err(Forged));
    }
}
