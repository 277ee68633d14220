//! What the roots of two groups say to each other until their groups are connected: messages of words over a socket.

use super::connected::send;
use crate::runtime::Entered;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// Words of one message, at most: enough for the identities of the largest jobs.
const MAX_WORDS: usize = 1 << 24;

/// A connection to another root.
#[derive(Debug)]
pub struct Talk {
    stream: UnixStream,
    inbox: Vec<u8>,
    /// What the other end has to say before anything else.
    expected: Vec<u8>,
    ended: bool,
}

fn broken(cause: &str) -> Error {
    Error::new(Class::Port, format!("the connection to the other group broke: {cause}"))
}

impl Talk {
    /// Over a socket that does not block.
    pub fn new(stream: UnixStream) -> Talk {
        Talk { stream, inbox: Vec::new(), expected: Vec::new(), ended: false }
    }

    /// The same, with somebody who has to say `first` to be believed.
    pub fn expecting(stream: UnixStream, first: &[u8]) -> Talk {
        Talk { expected: first.to_vec(), ..Talk::new(stream) }
    }

    /// The socket, when everything has been said.
    pub fn into_stream(self) -> UnixStream {
        self.stream
    }

    fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Sends one message. Waits, with progress.
    pub fn send(&mut self, w: &mut Entered, words: &[u64]) -> Result<()> {
        let mut bytes: Vec<u8> = (words.len() as u64).to_le_bytes().to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
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
        let fd = self.fd();
        // Failure to watch it costs time only.
        let _ = w.process.fm().transport().watch(fd);
        let mut result = Ok(None);
        let waited = w.wait_until(|_| {
            result = self.poll();
            !matches!(result, Ok(None))
        });
        w.process.fm().transport().unwatch(fd);
        waited?;
        result?.ok_or_else(|| broken("it ended"))
    }

    /// Waits, with progress, until the other end says anything more, or has ended.
    pub fn await_end(&mut self, w: &mut Entered) -> Result<()> {
        let fd = self.fd();
        // Failure to watch it costs time only.
        let _ = w.process.fm().transport().watch(fd);
        let waited = w.wait_until(|_| {
            let blocks = |error: &io::Error| {
                matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
            };
            !self.stream.read(&mut [0; 16]).is_err_and(|error| blocks(&error))
        });
        w.process.fm().transport().unwatch(fd);
        waited
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
        if !self.expected.is_empty() {
            let Some(said) = self.inbox.get(..self.expected.len()) else { return Ok(None) };
            if said != self.expected {
                return Err(Error::new(
                    Class::Port,
                    "who answers at the port does not know its secret",
                ));
            }
            self.inbox.drain(..self.expected.len());
            self.expected.clear();
        }
        let Some((head, rest)) = self.inbox.split_first_chunk::<8>() else { return Ok(None) };
        let count = u64::from_le_bytes(*head);
        if count > MAX_WORDS as u64 {
            return Err(broken(&format!(
                "a message of {count} words; expected at most {MAX_WORDS}"
            )));
        }
        let Some(body) = rest.get(..8 * count as usize) else { return Ok(None) };
        let words = body.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        self.inbox.drain(..8 + 8 * count as usize);
        Ok(Some(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn pair() -> (Talk, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (Talk::expecting(ours, b"yes"), theirs)
    }

    #[test]
    fn messages_come_in_any_pieces() {
        let (mut talk, mut theirs) = pair();
        let mut bytes = b"yes".to_vec();
        for word in [2_u64, 5, 6, 0, 1, 7] {
            bytes.extend(word.to_le_bytes());
        }
        let mut got = Vec::new();
        for byte in bytes {
            theirs.write_all(&[byte]).unwrap();
            got.extend(talk.poll().unwrap());
        }
        assert_eq!(got, [vec![5, 6], vec![], vec![7]]);
        drop(theirs);
        assert!(talk.poll().unwrap_err().to_string().contains("closed"));
    }

    #[test]
    fn who_does_not_know_the_secret_or_says_too_much_is_refused() {
        let (mut talk, mut theirs) = pair();
        theirs.write_all(b"no!").unwrap();
        assert!(talk.poll().unwrap_err().to_string().contains("secret"));
        let (mut talk, mut theirs) = pair();
        theirs.write_all(b"yes\xff\xff\xff\xff\xff\xff\xff\xff").unwrap();
        assert!(talk.poll().unwrap_err().to_string().contains("words"));
    }
}
