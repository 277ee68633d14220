//! Messages that nobody but the other end can read, write, change, leave out or repeat: ChaCha20-Poly1305 (RFC 8439).
//!
//! Each is its length, which is authenticated, and its bytes and their tag. Each direction of a connection has a key of its
//! own, and the nonce is the number of the message, so no pair of both is used twice.

use crate::message::MESSAGE_MAX;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce};
use hpvm_net::JobKey;
use hpvm_net::handshake::NONCE_BYTES;
use std::{fmt, io};

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Client,
    Server,
}

/// What one end of a connection seals with, and opens what the other one has sealed.
pub struct Seal {
    ours: Direction,
    theirs: Direction,
}

/// Without keys.
impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal {{ sealed: {}, opened: {} }}", self.ours.number, self.theirs.number)
    }
}

/// What goes one way of a connection.
struct Direction {
    cipher: ChaCha20Poly1305,
    /// Messages until now.
    number: u64,
}

/// The bytes are not what the other end has said.
#[derive(Debug, PartialEq, Eq)]
pub struct Forged;

/// What comes before the bytes.
const HEAD: usize = 4;
/// What comes behind them.
const TAG: usize = 16;

impl Direction {
    /// What this end says.
    fn new(key: &JobKey, from: End) -> Direction {
        let name: &[u8] = match from {
            End::Client => b"hpvm names from client",
            End::Server => b"hpvm names from server",
        };
        let mut whole = [0u8; 2 * NONCE_BYTES];
        let (low, high) = whole.split_at_mut(NONCE_BYTES);
        low.copy_from_slice(&key.derive(&[name, &[0]].concat()));
        high.copy_from_slice(&key.derive(&[name, &[1]].concat()));
        Direction { cipher: ChaCha20Poly1305::new(&whole.into()), number: 0 }
    }

    fn nonce(&self) -> Nonce {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.number.to_le_bytes());
        nonce.into()
    }
}

impl Seal {
    /// For one end of a connection with this key.
    pub fn new(key: &JobKey, end: End) -> Seal {
        let other = if end == End::Client { End::Server } else { End::Client };
        Seal { ours: Direction::new(key, end), theirs: Direction::new(key, other) }
    }

    /// The next message of this end, sealed.
    ///
    /// # Errors
    /// It is longer than [`MESSAGE_MAX`].
    pub fn seal(&mut self, message: &[u8]) -> io::Result<Vec<u8>> {
        let too_long = || io::Error::new(io::ErrorKind::InvalidInput, "a message that is too long");
        let len = u32::try_from(message.len()).ok().filter(|len| *len as usize <= MESSAGE_MAX);
        let head = len.ok_or_else(too_long)?.to_le_bytes();
        let payload = Payload { msg: message, aad: &head };
        let sealed =
            self.ours.cipher.encrypt(&self.ours.nonce(), payload).map_err(|_| too_long())?;
        self.ours.number += 1;
        Ok([&head[..], &sealed].concat())
    }

    /// Takes the next message of the other end out of `inbox`, if it is there as a whole.
    ///
    /// # Errors
    /// What is there has been said by somebody else.
    pub fn open(&mut self, inbox: &mut Vec<u8>) -> Result<Option<Vec<u8>>, Forged> {
        let Some(head) = inbox.first_chunk::<HEAD>() else { return Ok(None) };
        let len = u32::from_le_bytes(*head) as usize;
        if len > MESSAGE_MAX {
            return Err(Forged);
        }
        let Some(sealed) = inbox.get(HEAD..HEAD + len + TAG) else { return Ok(None) };
        let payload = Payload { msg: sealed, aad: head };
        let message = self.theirs.cipher.decrypt(&self.theirs.nonce(), payload);
        let message = message.map_err(|_| Forged)?;
        self.theirs.number += 1;
        inbox.drain(..HEAD + len + TAG);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Seal, Seal) {
        let key = JobKey::new([7; 16]);
        (Seal::new(&key, End::Client), Seal::new(&key, End::Server))
    }

    #[test]
    fn messages_come_in_any_pieces_and_in_both_directions() {
        let (mut client, mut server) = pair();
        for text in [&b"a message that is longer than one block of keys"[..], b"", b"x"] {
            let (there, back) = (client.seal(text).unwrap(), server.seal(text).unwrap());
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
        let good = client.seal(b"message").unwrap();
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
    #[test]
    fn what_is_too_long_is_refused_before_it_is_sealed() {
        let (mut client, mut server) = pair();
        assert!(client.seal(&vec![0; MESSAGE_MAX + 1]).is_err());
        let longest = client.seal(&vec![0; MESSAGE_MAX]).unwrap();
        assert!(server.open(&mut longest.clone()).is_ok_and(|message| message.is_some()));
    }
}
