//! What clients and the server say to each other, before it is sealed.

/// Longest name, bytes. Longer ones are told by their hash (`hpvm_job::names::key`).
pub const NAME_MAX: usize = 256;
/// Longest port, bytes.
pub const PORT_MAX: usize = 8 << 10;
/// Longest message of either side, bytes.
pub const MESSAGE_MAX: usize = 3 + NAME_MAX + PORT_MAX;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `name` stands for `port` until it is taken back, or the connection ends.
    Publish { name: String, port: String },
    /// What does it stand for?
    Lookup { name: String },
    /// Takes it back.
    Unpublish { name: String },
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// The name stands for this port.
    Port(String),
    /// Nobody, or with [`Request::Unpublish`] not this client, has published it.
    Unknown,
    /// Somebody has published it already.
    Taken,
    /// It can't be done; for people.
    Refused(String),
}

impl Request {
    /// The message.
    pub fn write(&self) -> Vec<u8> {
        let (kind, name, port) = match self {
            Request::Publish { name, port } => (b'P', name, &port[..]),
            Request::Lookup { name } => (b'L', name, ""),
            Request::Unpublish { name } => (b'U', name, ""),
        };
        let len = (name.len() as u16).to_le_bytes();
        [&[kind], &len[..], name.as_bytes(), port.as_bytes()].concat()
    }

    /// The request of a message; none: it is none.
    pub fn read(message: &[u8]) -> Option<Request> {
        let (&kind, rest) = message.split_first()?;
        let (len, rest) = rest.split_first_chunk::<2>()?;
        let (name, port) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let (name, port) = (text(name)?, text(port)?);
        if name.is_empty() || name.len() > NAME_MAX || port.len() > PORT_MAX {
            return None;
        }
        match kind {
            b'P' => Some(Request::Publish { name, port }),
            b'L' if port.is_empty() => Some(Request::Lookup { name }),
            b'U' if port.is_empty() => Some(Request::Unpublish { name }),
            _ => None,
        }
    }
}

impl Answer {
    /// The message.
    pub fn write(&self) -> Vec<u8> {
        let (kind, text) = match self {
            Answer::Done => (b'D', ""),
            Answer::Port(port) => (b'P', &port[..]),
            Answer::Unknown => (b'U', ""),
            Answer::Taken => (b'T', ""),
            Answer::Refused(why) => (b'R', &why[..]),
        };
        [&[kind], text.as_bytes()].concat()
    }

    /// The answer of a message; none: it is none.
    pub fn read(message: &[u8]) -> Option<Answer> {
        let (&kind, text) = message.split_first()?;
        let text = String::from_utf8(text.to_vec()).ok()?;
        match kind {
            b'P' => Some(Answer::Port(text)),
            b'R' => Some(Answer::Refused(text)),
            _ if !text.is_empty() => None,
            b'D' => Some(Answer::Done),
            b'U' => Some(Answer::Unknown),
            b'T' => Some(Answer::Taken),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(name in "[a-z%0-9]{1,256}", port in "[ -~]{0,300}") {
            for request in [
                Request::Publish { name: name.clone(), port: port.clone() },
                Request::Lookup { name: name.clone() },
                Request::Unpublish { name },
            ] {
                prop_assert_eq!(Request::read(&request.write()), Some(request));
            }
            for answer in [
                Answer::Done, Answer::Unknown, Answer::Taken, Answer::Port(port.clone()), Answer::Refused(port),
            ] {
                prop_assert_eq!(Answer::read(&answer.write()), Some(answer));
            }
        }

        #[test]
        fn garbage_is_no_message_or_one_that_is_written_so(bytes: Vec<u8>) {
            if let Some(request) = Request::read(&bytes) {
                prop_assert_eq!(request.write(), &bytes[..]);
            }
            if let Some(answer) = Answer::read(&bytes) {
                prop_assert_eq!(answer.write(), &bytes[..]);
            }
        }
    }
}
