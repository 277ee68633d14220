//! What both versions of PMI have in common: questions on one connection whose answers may be
//! waited for or taken later. Answers to questions of one kind come in the order of the questions;
//! those of different kinds (a value, the end of a barrier) may overtake each other.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::pmi1::PmiError;

/// Longest message that a manager may send us: what six digits can announce.
const MESSAGE_MAX: usize = 999_999;
/// Bytes read at a time.
const READ: usize = 16 << 10;

/// How messages are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// PMI-1: one line each.
    Lines,
    /// PMI-2: six digits of length in front.
    Digits,
}

/// The connection, what has been asked, and what has come.
#[derive(Debug)]
pub(crate) struct Conversation {
    stream: UnixStream,
    framing: Framing,
    /// Bytes of messages that have not come as a whole.
    inbox: Vec<u8>,
    /// The kinds of answers that are due, in the order of the questions.
    due: Vec<&'static str>,
    /// Answers that nobody has taken yet, with their kinds.
    answers: VecDeque<(&'static str, String)>,
    /// Keys that were asked for and whose values are due, in order.
    keys: VecDeque<String>,
    /// Values that have come and nobody has taken yet; none: there is none.
    values: BTreeMap<String, Option<String>>,
}

impl Conversation {
    pub fn new(stream: UnixStream, framing: Framing) -> Conversation {
        Conversation {
            stream,
            framing,
            inbox: Vec::new(),
            due: Vec::new(),
            answers: VecDeque::new(),
            keys: VecDeque::new(),
            values: BTreeMap::new(),
        }
    }

    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Sends something that has no answer.
    pub fn tell(&mut self, message: &str) -> Result<(), PmiError> {
        let framed = match self.framing {
            Framing::Lines => format!("{message}\n"),
            Framing::Digits if message.len() > MESSAGE_MAX => {
                return Err(PmiError::Protocol(format!("a message of {} bytes", message.len())));
            }
            Framing::Digits => format!("{:6}{message}", message.len()),
        };
        Ok(self.stream.write_all(framed.as_bytes())?)
    }

    /// Sends a question whose answer says `cmd=answer`.
    pub fn ask(&mut self, message: &str, answer: &'static str) -> Result<(), PmiError> {
        self.tell(message)?;
        self.due.push(answer);
        Ok(())
    }

    /// Asks for the value of a key, for [`Conversation::value`].
    pub fn ask_value(
        &mut self,
        key: &str,
        message: &str,
        answer: &'static str,
    ) -> Result<(), PmiError> {
        self.ask(message, answer)?;
        self.keys.push_back(key.to_owned());
        Ok(())
    }

    /// The oldest answer of a kind that has come. Does not block.
    pub fn take(&mut self, answer: &'static str) -> Result<Option<String>, PmiError> {
        if !self.has(answer) {
            self.receive()?;
        }
        Ok(self.oldest(answer))
    }

    fn oldest(&mut self, answer: &'static str) -> Option<String> {
        let place = self.answers.iter().position(|(kind, _)| *kind == answer)?;
        self.answers.remove(place).map(|(_, text)| text)
    }

    /// The same, but waits for it.
    pub fn wait(&mut self, answer: &'static str) -> Result<String, PmiError> {
        loop {
            if let Some(text) = self.take(answer)? {
                return Ok(text);
            }
            self.sleep(None)?;
        }
    }

    /// The value of a key that was asked for, once it has come. Does not block. `read` finds it in
    /// an answer of kind `answer`.
    pub fn value(
        &mut self,
        key: &str,
        answer: &'static str,
        read: impl Fn(&str) -> Result<Option<String>, PmiError>,
    ) -> Result<Option<Option<String>>, PmiError> {
        if !self.values.contains_key(key) && !self.has(answer) {
            self.receive()?;
        }
        while let Some(text) = self.oldest(answer) {
            if let Some(key) = self.keys.pop_front() {
                self.values.insert(key, read(&text)?);
            }
        }
        Ok(self.values.remove(key))
    }

    /// Whether an answer of that kind has come. Does not block.
    pub fn has_come(&mut self, answer: &'static str) -> Result<bool, PmiError> {
        if !self.has(answer) {
            self.receive()?;
        }
        Ok(self.has(answer))
    }

    fn has(&self, answer: &'static str) -> bool {
        self.answers.iter().any(|(kind, _)| *kind == answer)
    }

    /// Waits until something comes, for so long at most.
    pub fn sleep(&mut self, time: Option<Duration>) -> Result<(), PmiError> {
        hpvm_os::wait(&self.fd(), libc::POLLIN, time)?;
        Ok(())
    }

    /// Takes what is there. Does not block. An end behind something is told the next time.
    fn receive(&mut self) -> Result<(), PmiError> {
        for read in 0.. {
            let old = self.inbox.len();
            self.inbox.resize(old + READ, 0);
            let (fd, place) = (self.fd(), self.inbox[old..].as_mut_ptr().cast());
            // SAFETY: a place for so many bytes.
            let got = unsafe { libc::recv(fd, place, READ, libc::MSG_DONTWAIT) };
            let error = std::io::Error::last_os_error();
            self.inbox.truncate(old + usize::try_from(got).unwrap_or(0));
            match got {
                1.. => self.sort()?,
                _ if read > 0 => return Ok(()),
                0 => return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into()),
                _ if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                _ if error.kind() == std::io::ErrorKind::Interrupted => return Ok(()),
                _ => return Err(error.into()),
            }
            if got < READ as isize {
                break;
            }
        }
        Ok(())
    }

    /// Sorts the whole messages of the inbox by the questions that they answer.
    fn sort(&mut self) -> Result<(), PmiError> {
        while let Some((start, end, next)) = self.whole()? {
            let text = String::from_utf8_lossy(&self.inbox[start..end]).into_owned();
            self.inbox.drain(..next);
            let place = self.due.iter().position(|kind| command(&text) == Some(kind));
            match place {
                Some(place) => self.answers.push_back((self.due.remove(place), text)),
                None => {
                    let expected: Vec<_> = self.due.iter().map(|k| format!("cmd={k}")).collect();
                    let expected = match expected.is_empty() {
                        true => "nothing".to_owned(),
                        false => expected.join(" or "),
                    };
                    return Err(PmiError::Protocol(format!("expected {expected}, found {text:?}")));
                }
            }
        }
        Ok(())
    }

    /// Where the first message of the inbox begins and ends, and where the next one begins.
    fn whole(&self) -> Result<Option<(usize, usize, usize)>, PmiError> {
        let too_long = |length| PmiError::Protocol(format!("a message of {length} bytes"));
        match self.framing {
            Framing::Lines => match self.inbox.iter().position(|byte| *byte == b'\n') {
                Some(end) => Ok(Some((0, end, end + 1))),
                None if self.inbox.len() > MESSAGE_MAX => Err(too_long(self.inbox.len())),
                None => Ok(None),
            },
            Framing::Digits => {
                let Some(digits) = self.inbox.first_chunk::<6>() else { return Ok(None) };
                let shown = String::from_utf8_lossy(digits);
                let length: usize = shown.trim().parse().map_err(|_| {
                    PmiError::Protocol(format!("expected six digits of length, found {shown:?}"))
                })?;
                let end = 6 + length;
                Ok((self.inbox.len() >= end).then_some((6, end, end)))
            }
        }
    }
}

/// What stands behind `cmd=` at the beginning of a message.
fn command(text: &str) -> Option<&str> {
    text.strip_prefix("cmd=")?.split([' ', ';', '\r']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(framing: Framing) -> (Conversation, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Conversation::new(ours, framing), theirs)
    }

    fn value(text: &str) -> Result<Option<String>, PmiError> {
        Ok(text.split_once("value=").map(|(_, value)| value.to_owned()))
    }

    #[test]
    fn a_value_is_asked_for_between_the_halves_of_a_barrier_whatever_is_answered_first() {
        for order in [["cmd=out\n", "cmd=got value=1\n"], ["cmd=got value=1\n", "cmd=out\n"]] {
            let (mut c, mut theirs) = pair(Framing::Lines);
            c.ask("cmd=in", "out").unwrap();
            c.ask_value("a", "cmd=get key=a", "got").unwrap();
            assert!(!c.has_come("out").unwrap());
            assert_eq!(c.value("a", "got", value).unwrap(), None);
            theirs.write_all(order.concat().as_bytes()).unwrap();
            assert_eq!(c.value("a", "got", value).unwrap(), Some(Some("1".into())));
            assert!(c.has_come("out").unwrap());
            assert_eq!(c.wait("out").unwrap(), "cmd=out");
            assert!(!c.has("out"));
        }
    }

    #[test]
    fn values_come_in_the_order_of_the_questions_and_messages_in_any_pieces() {
        for framing in [Framing::Lines, Framing::Digits] {
            let text = match framing {
                Framing::Lines => "cmd=got value=1\ncmd=got value=2\ncmd=got\n".to_owned(),
                Framing::Digits => ["cmd=got;value=1", "cmd=got;value=2", "cmd=got"]
                    .map(|m| format!("{:6}{m}", m.len()))
                    .concat(),
            };
            let (mut c, mut theirs) = pair(framing);
            for key in ["a", "b", "c"] {
                c.ask_value(key, "cmd=get", "got").unwrap();
            }
            for byte in text.bytes() {
                theirs.write_all(&[byte]).unwrap();
                c.receive().unwrap();
            }
            assert_eq!(c.value("b", "got", value).unwrap(), Some(Some("2".into())));
            assert_eq!(c.value("c", "got", value).unwrap(), Some(None));
            assert_eq!(c.value("a", "got", value).unwrap(), Some(Some("1".into())));
            assert_eq!(c.value("a", "got", value).unwrap(), None);
        }
    }

    #[test]
    fn what_nobody_asked_for_and_an_end_are_errors() {
        let (mut c, mut theirs) = pair(Framing::Lines);
        c.ask("cmd=in", "out").unwrap();
        theirs.write_all(b"cmd=no idea\n").unwrap();
        let text = c.wait("out").unwrap_err().to_string();
        assert!(text.contains("cmd=out") && text.contains("no idea"), "{text}");
        let (mut c, theirs) = pair(Framing::Digits);
        drop(theirs);
        assert!(matches!(c.has_come("out"), Err(PmiError::Io(_))));
        let (mut c, mut theirs) = pair(Framing::Digits);
        theirs.write_all(b"sixsix").unwrap();
        assert!(c.has_come("out").unwrap_err().to_string().contains("six digits"));
    }
}
