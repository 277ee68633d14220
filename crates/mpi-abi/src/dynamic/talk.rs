//! What the roots of two groups say to each other until their groups are connected: messages of words over a socket, each with
//! a code over it and its number.

use crate::runtime::Entered;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use hpvm_net::JobKey;
use hpvm_net::handshake::{Client, NONCE_BYTES, same, send};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// Words of one message, at most: enough for what is told of the largest jobs.
const MAX_WORDS: usize = 1 << 24;

/// A connection to another root.
#[derive(Debug)]
pub struct Talk {
    stream: UnixStream,
    inbox: Vec<u8>,
    /// Before the other end has proved itself: what we prove with.
    client: Option<Client>,
    key: JobKey,
    /// Messages that went out and came in.
    sent: u64,
    received: u64,
    /// The first to speak was the other end.
    accepted: bool,
    ended: bool,
    /// The launcher of a job over several sites has joined the two ends: both have the same gateways.
    shares_gateways: bool,
}

fn broken(cause: &str) -> Error {
    Error::new(Class::Port, format!("the connection to the other group broke: {cause}"))
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Waits, with progress, until `stream`, which does not block, says anything, or (false) has ended.
pub fn await_word(w: &mut Entered, mut stream: &UnixStream) -> Result<bool> {
    let fd = stream.as_raw_fd();
    // Failure to watch it costs time only.
    let _ = w.process.fm().transport().watch(fd);
    let mut said = false;
    let waited = w.wait_for_kernel(|_| match stream.read(&mut [0; 16]) {
        Err(error) if waits(&error) => false,
        outcome => {
            said = outcome.is_ok_and(|count| count > 0);
            true
        }
    });
    w.process.fm().transport().unwatch(fd);
    waited.map(|()| said)
}

impl Talk {
    /// With a client that has proved itself, over a socket that does not block.
    pub fn new(stream: UnixStream, key: JobKey) -> Talk {
        Talk {
            stream,
            inbox: Vec::new(),
            client: None,
            key,
            sent: 0,
            received: 0,
            accepted: true,
            ended: false,
            shares_gateways: false,
        }
    }

    /// The same; `shares`: both ends are in one job over several sites, or in jobs that it has spawned.
    pub fn sharing_gateways(self, shares: bool) -> Talk {
        Talk { shares_gateways: shares, ..self }
    }

    /// Whether sites that the two ends tell each other of are the same.
    pub fn shares_gateways(&self) -> bool {
        self.shares_gateways
    }

    /// With a port that has to prove itself, over a socket that does not block.
    pub fn greeting(stream: UnixStream, client: Client) -> Talk {
        // A fresh socket has room for so few bytes; when it is broken, reading says so.
        let _ = send(&stream, &client.greeting());
        let key = JobKey::new([0; NONCE_BYTES]);
        Talk { client: Some(client), accepted: false, ..Talk::new(stream, key) }
    }

    /// A key that both ends have and nobody else, for `purpose`.
    pub fn derive(&self, purpose: &[u8]) -> [u8; NONCE_BYTES] {
        self.key.derive(purpose)
    }

    /// The socket, when everything has been said.
    pub fn into_stream(self) -> UnixStream {
        self.stream
    }

    fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Waits, with progress, until `done` says so of what has come.
    fn wait(&mut self, w: &mut Entered, mut done: impl FnMut(&mut Talk) -> bool) -> Result<()> {
        let fd = self.fd();
        // Failure to watch it costs time only.
        let _ = w.process.fm().transport().watch(fd);
        let waited = w.wait_for_kernel(|_| done(self));
        w.process.fm().transport().unwatch(fd);
        waited
    }

    /// Waits, with progress, until the other end has proved itself.
    fn establish(&mut self, w: &mut Entered) -> Result<()> {
        let mut result = Ok(true);
        self.wait(w, |talk| {
            result = talk.established();
            !matches!(result, Ok(false))
        })?;
        result.map(drop)
    }

    /// Whether the other end has proved itself. Does not block.
    pub fn established(&mut self) -> Result<bool> {
        let Some(client) = &self.client else { return Ok(true) };
        let mut bytes = [0; 2 * NONCE_BYTES];
        while self.inbox.len() < bytes.len() {
            let room = bytes.len() - self.inbox.len();
            match self.stream.read(&mut bytes[..room]) {
                Ok(0) => return Err(broken("it was closed by the other side")),
                Ok(count) => self.inbox.extend_from_slice(&bytes[..count]),
                Err(error) if waits(&error) => return Ok(false),
                Err(error) => return Err(broken(&error.to_string())),
            }
        }
        let Some((answer, _)) = self.inbox.split_first_chunk() else { return Ok(false) };
        let Some((proof, key)) = client.prove(answer) else {
            let text = "who answers at the port does not know its secret";
            return Err(Error::new(Class::Port, text));
        };
        self.inbox.clear();
        self.client = None;
        self.key = key;
        match send(&self.stream, &proof) {
            Ok(NONCE_BYTES) => Ok(true),
            Ok(_) => Err(broken("it takes nothing")),
            Err(error) => Err(broken(&error.to_string())),
        }
    }

    /// The code of message `number` that the accepting side says, or the other.
    fn code(&self, of_port: bool, number: u64, message: &[u8]) -> [u8; NONCE_BYTES] {
        let head = [&[u8::from(of_port)][..], &number.to_le_bytes()].concat();
        self.key.derive(&[&b"hpvm port message"[..], &head, message].concat())
    }

    /// Sends one message. Waits, with progress.
    pub fn send(&mut self, w: &mut Entered, words: &[u64]) -> Result<()> {
        self.establish(w)?;
        let mut bytes: Vec<u8> = (words.len() as u64).to_le_bytes().to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(self.code(self.accepted, self.sent, &bytes));
        self.sent += 1;
        let mut sent = 0;
        let mut failure = None;
        w.wait_until(|_| {
            while sent < bytes.len() {
                match send(&self.stream, &bytes[sent..]) {
                    Ok(count) => sent += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                    Err(error) => {
                        failure = Some(broken(&error.to_string()));
                        return true;
                    }
                }
            }
            true
        })?;
        failure.map_or(Ok(()), Err)
    }

    /// The next message. Waits, with progress.
    pub fn receive(&mut self, w: &mut Entered) -> Result<Vec<u64>> {
        self.establish(w)?;
        let mut result = Ok(None);
        self.wait(w, |talk| {
            result = talk.poll();
            !matches!(result, Ok(None))
        })?;
        result?.ok_or_else(|| broken("it ended"))
    }

    /// The next message, if it has come.
    fn poll(&mut self) -> Result<Option<Vec<u64>>> {
        let mut bytes = [0; 4096];
        while !self.ended {
            match self.stream.read(&mut bytes) {
                Ok(0) => self.ended = true,
                Ok(count) => self.inbox.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error.to_string())),
            }
        }
        match self.message()? {
            None if self.ended => Err(broken("it was closed by the other side")),
            message => Ok(message),
        }
    }

    /// The first message of the inbox, if it is there as a whole.
    fn message(&mut self) -> Result<Option<Vec<u64>>> {
        let Some((head, rest)) = self.inbox.split_first_chunk::<8>() else { return Ok(None) };
        let count = u64::from_le_bytes(*head);
        if count > MAX_WORDS as u64 {
            return Err(broken(&format!(
                "a message of {count} words; expected at most {MAX_WORDS}"
            )));
        }
        let len = 8 * count as usize;
        let Some(body) = rest.get(..len) else { return Ok(None) };
        let Some(code) = rest.get(len..len + NONCE_BYTES) else { return Ok(None) };
        if !same(code, &self.code(!self.accepted, self.received, &self.inbox[..8 + len])) {
            return Err(broken("a message that the other side has not written"));
        }
        let words = body.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        self.received += 1;
        self.inbox.drain(..8 + len + NONCE_BYTES);
        Ok(Some(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn pair() -> (Talk, Talk) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let key = JobKey::new([7; NONCE_BYTES]);
        (Talk::new(ours, key), Talk { accepted: false, ..Talk::new(theirs, key) })
    }

    fn message(from: &Talk, number: u64, words: &[u64]) -> Vec<u8> {
        let mut bytes: Vec<u8> = (words.len() as u64).to_le_bytes().to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(from.code(from.accepted, number, &bytes));
        bytes
    }

    #[test]
    fn messages_come_in_any_pieces() {
        let (mut talk, mut theirs) = pair();
        let messages: [&[u64]; 3] = [&[5, 6], &[], &[7]];
        let bytes = (0..).zip(messages).flat_map(|(number, m)| message(&theirs, number, m));
        let mut got = Vec::new();
        for byte in bytes.collect::<Vec<_>>() {
            theirs.stream.write_all(&[byte]).unwrap();
            got.extend(talk.poll().unwrap());
        }
        assert_eq!(got, [vec![5, 6], vec![], vec![7]]);
        drop(theirs);
        assert!(talk.poll().unwrap_err().to_string().contains("closed"));
    }

    #[test]
    fn what_was_changed_or_said_before_and_what_is_too_long_is_refused() {
        let bad = |bytes: &dyn Fn(&Talk) -> Vec<u8>| {
            let (mut talk, mut theirs) = pair();
            let bytes = bytes(&theirs);
            theirs.stream.write_all(&bytes).unwrap();
            let first = talk.poll();
            first.and_then(|_| talk.poll()).unwrap_err().to_string()
        };
        let changed = |talk: &Talk| {
            let mut bytes = message(talk, 0, &[5]);
            bytes[8] ^= 1;
            bytes
        };
        let twice = |talk: &Talk| [message(talk, 0, &[5]), message(talk, 0, &[5])].concat();
        let mirrored = |talk: &Talk| {
            let other =
                Talk { accepted: true, ..Talk::new(talk.stream.try_clone().unwrap(), talk.key) };
            message(&other, 0, &[5])
        };
        assert!(bad(&changed).contains("not written"));
        assert!(bad(&twice).contains("not written"));
        assert!(bad(&mirrored).contains("not written"));
        assert!(bad(&|_| vec![0xff; 8]).contains("words"));
    }
}
