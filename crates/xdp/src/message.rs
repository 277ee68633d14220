//! What a process of a job and the helper that opens XSKs for it say to each other over a Unix socket: a request, and answers with
//! descriptors; when the process has mapped what they lead to, that it has; and how each interface is used. The kernel has rings
//! mapped before their sockets are bound (until Linux 6.5), and the sockets of a queue are bound together.

use crate::device::Mode;
use crate::open::{Refusal, Why, Wish};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Changes with every change of the messages or of what is handed over: a helper of another installation may answer.
const MAGIC: [u8; 8] = *b"hpvmxdp2";
/// Interfaces in one request.
pub const MOST_INTERFACES: usize = 32;
/// Descriptors for each of them.
const DESCRIPTORS: usize = 3;
/// What a process says when it has mapped everything.
pub const MAPPED: [u8; 8] = *b"hpvmmap2";
/// Longest message.
const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// Longest reason that is told.
const LONGEST_TEXT: usize = 400;

/// What one process asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The local rank of the process.
    pub local_rank: u32,
    /// How many of them there are.
    pub local_size: u32,
    pub wish: Wish,
    /// Numbers of the interfaces.
    pub interfaces: Vec<u32>,
}

/// The answer for one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The next descriptors are for it.
    HandedOver,
    /// It is used in this mode. Also why that is none of the better ones.
    Open(Mode, String),
    Refused(Refusal),
}

const MODES: [Mode; 3] = [Mode::ZeroCopy, Mode::Native, Mode::Generic];
const REASONS: [Why; 4] = [Why::Forbidden, Why::Taken, Why::Copies, Why::Impossible];

fn number<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().position(|other| other == one).map_or(u8::MAX, |number| number as u8)
}

/// Reads fields one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.bytes(1)?[0])
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(*self.bytes(2)?.first_chunk()?))
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes(4)?.first_chunk()?))
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(usize::from(self.byte()?)).copied()
    }
}

impl Request {
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(self.local_rank.to_le_bytes());
        out.extend(self.local_size.to_le_bytes());
        out.extend([number(&MODES, &self.wish.best), number(&MODES, &self.wish.worst)]);
        let patience = u16::try_from(self.wish.patience.as_millis()).unwrap_or(u16::MAX);
        out.extend(patience.to_le_bytes());
        let interfaces = &self.interfaces[..self.interfaces.len().min(MOST_INTERFACES)];
        out.push(interfaces.len() as u8);
        interfaces.iter().for_each(|index| out.extend(index.to_le_bytes()));
        out
    }

    /// `None`: this is no request.
    pub fn parse(bytes: &[u8]) -> Option<Request> {
        let mut fields = Fields(bytes);
        if fields.bytes(MAGIC.len())? != MAGIC {
            return None;
        }
        let (local_rank, local_size) = (fields.word()?, fields.word()?);
        let (best, worst) = (fields.one_of(&MODES)?, fields.one_of(&MODES)?);
        let patience = Duration::from_millis(u64::from(fields.short()?));
        let count = usize::from(fields.byte()?);
        let interfaces = (0..count).map(|_| fields.word()).collect::<Option<Vec<u32>>>()?;
        let right = count <= MOST_INTERFACES && fields.0.is_empty();
        let wish = Wish { best, worst, patience };
        right.then_some(Request { local_rank, local_size, wish, interfaces })
    }
}

/// The bytes of answers, in the order of the request.
pub fn answers(all: &[Answer]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    for answer in all {
        let (kind, number, text) = match answer {
            Answer::Open(mode, why) => (0, number(&MODES, mode), why.as_str()),
            Answer::Refused(refusal) => (1, number(&REASONS, &refusal.why), refusal.text.as_str()),
            Answer::HandedOver => (2, 0, ""),
        };
        let text = &text.as_bytes()[..text.len().min(LONGEST_TEXT)];
        out.extend([kind, number]);
        out.extend((text.len() as u16).to_le_bytes());
        out.extend(text);
    }
    out
}

/// `None`: these are no answers.
pub fn parse_answers(bytes: &[u8]) -> Option<Vec<Answer>> {
    let mut fields = Fields(bytes);
    if fields.bytes(MAGIC.len())? != MAGIC {
        return None;
    }
    let mut all = Vec::new();
    while !fields.0.is_empty() {
        let kind = fields.byte()?;
        let mode = fields.byte()?;
        let len = usize::from(fields.short()?);
        let text = String::from_utf8_lossy(fields.bytes(len)?).into_owned();
        all.push(match kind {
            0 => Answer::Open(*MODES.get(usize::from(mode))?, text),
            1 => Answer::Refused(Refusal { why: *REASONS.get(usize::from(mode))?, text }),
            2 => Answer::HandedOver,
            _ => return None,
        });
    }
    Some(all)
}

const _: () = assert!(DESCRIPTORS * MOST_INTERFACES <= hpvm_os::MOST_DESCRIPTORS);

/// Receives one message, request or answers: nothing, where the other side has gone.
///
/// # Errors
/// The system refuses, or nothing has come in the time of the socket.
pub fn receive(socket: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut bytes = vec![0; MESSAGE_BYTES_MAX];
    let received = hpvm_os::receive(socket, &mut bytes)?;
    bytes.truncate(received.len);
    Ok((bytes, received.descriptors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request() -> Request {
        let wish = Wish { worst: Mode::Native, ..Wish::ANY };
        Request { local_rank: 3, local_size: 8, wish, interfaces: vec![2, 70_000] }
    }

    fn some_answers() -> Vec<Answer> {
        let refusal = Refusal { why: Why::Taken, text: "somebody – else".to_owned() };
        let open = Answer::Open(Mode::Native, "no zero-copy".to_owned());
        vec![Answer::HandedOver, open, Answer::Refused(refusal)]
    }

    #[test]
    fn messages_come_back() {
        assert_eq!(Request::parse(&request().bytes()), Some(request()));
        assert_eq!(parse_answers(&answers(&some_answers())), Some(some_answers()));
        let long = Answer::Refused(Refusal { why: Why::Impossible, text: "x".repeat(10_000) });
        let all = vec![long; MOST_INTERFACES];
        let bytes = answers(&all);
        assert!(
            bytes.len() <= MESSAGE_BYTES_MAX && parse_answers(&bytes).unwrap().len() == all.len()
        );
    }

    #[test]
    fn what_is_cut_or_too_long_is_refused() {
        let bytes = request().bytes();
        for len in 0..bytes.len() {
            assert_eq!(Request::parse(&bytes[..len]), None, "{len}");
        }
        assert_eq!(Request::parse(&[&bytes[..], &[0]].concat()), None);
        let mut many = bytes.clone();
        many[20] = MOST_INTERFACES as u8 + 1;
        many.resize(21 + 4 * (MOST_INTERFACES + 1), 0);
        assert_eq!(Request::parse(&many), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(0u8.., 0..80)) {
            let _ = (Request::parse(&bytes), parse_answers(&bytes));
            bytes.splice(0..0, MAGIC);
            let _ = (Request::parse(&bytes), parse_answers(&bytes));
        }
    }
}
