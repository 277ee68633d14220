//! What the launcher and the agents on other hosts say to each other, over the standard streams of
//! `ssh` or whatever started the agent.
//!
//! A frame is a byte for its kind, a length, and that many bytes. A line end where a frame would
//! begin means nothing: it ends a batch of frames, because some connections pass on whole lines
//! only. What comes is an allegation until it is checked.

use super::codec::{Fault, Reader, Writer};
use crate::dispatcher::Ended;
use crate::pmi::server::ClientState;

/// No frame is longer; more than the largest environment, and than [`PUTS_MAX`].
pub const FRAME_MAX: usize = 64 << 20;
/// Values of the key-value space go in frames of about so many bytes.
pub const PUTS_MAX: usize = 1 << 20;
/// An agent says this, with its version and a line end, before its first frame. What a login
/// script prints before it is skipped.
pub const HELLO: &str = "HPVM-AGENT-1 ";
/// So much may be printed before the agent's greeting.
const NOISE_MAX: usize = 64 << 10;
/// Ends a batch of frames.
pub const FILLER: u8 = b'\n';

/// One message between launcher and agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    // Both ways.
    /// Nothing new, but the sender lives.
    Alive,
    /// Values of the key-value space.
    Puts(Vec<(String, String)>),
    /// Bytes of a stream between the launcher and a process on the host of this number; none: its end.
    Stream {
        node: u32,
        number: u32,
        bytes: Vec<u8>,
    },

    // From the launcher.
    /// What the agent is to start; see [`Order`](super::order::Order).
    Order(Vec<u8>),
    Signal(i32),
    /// For the launchers of jobs that ranks have spawned and that have parted from ours.
    SignalParted(i32),
    /// All ranks of the job have ended. `kill`: what is left is killed at once.
    Leave {
        kill: bool,
    },
    /// Whether outputs are not to be read, because nobody reads ours.
    Pause(bool),
    /// The barrier is open.
    Open,
    /// An answer for a rank's process-manager connection.
    Reply {
        rank: u32,
        text: String,
    },
    /// Bytes for the standard input of rank 0; none: its end.
    Stdin(Vec<u8>),
    /// A name that a rank has published, to be held for other jobs on the agent's host.
    Hold {
        question: u32,
        service: String,
        port: String,
    },
    /// What gateways are told of ranks that they know by this number.
    Space {
        number: u32,
        line: String,
    },
    /// Names that are to be held no longer.
    Release(Vec<String>),
    /// A name that is to be looked for on the agent's host, and those below.
    Find {
        question: u32,
        service: String,
    },

    // From agents.
    Started {
        rank: u32,
        pid: i32,
    },
    /// This rank of a host and those after it on the same host could not be started.
    NotStarted {
        rank: u32,
        text: String,
        code: i32,
    },
    NotExecuted {
        rank: u32,
        text: String,
        code: i32,
    },
    State {
        rank: u32,
        state: ClientState,
    },
    Abort {
        rank: u32,
        code: i32,
        message: Option<String>,
    },
    Malformed {
        rank: u32,
        text: String,
    },
    Exited {
        rank: u32,
        ended: Ended,
    },
    /// `side` is 0 for standard output, 1 for standard error.
    Output {
        rank: u32,
        side: u8,
        bytes: Vec<u8>,
    },
    OutputEnd {
        rank: u32,
        side: u8,
    },
    Waits {
        rank: u32,
    },
    Arrived,
    /// A line of a rank that only the launcher can answer.
    Ask {
        rank: u32,
        line: Vec<u8>,
    },
    /// So many bytes of standard input have been taken by rank 0.
    StdinTaken(u32),
    /// Rank 0 reads no more.
    StdinClosed,
    /// The agents of these hosts are gone.
    Lost {
        nodes: Vec<u32>,
        text: String,
        code: i32,
    },
    /// What a name stands for on the host of this number, if on anything.
    Found {
        question: u32,
        node: u32,
        port: Option<String>,
    },
    /// Whether the host of this number holds a name now; if not it stands for something else there.
    Held {
        question: u32,
        node: u32,
        held: bool,
    },
    /// Jobs that ranks of the agent's host have spawned, or of a host below, go on though this one is killed: the agent stays.
    GoOn,
    /// A remark for the user.
    Note(String),
    /// A rank uses another MPI's library.
    OtherMpi(String),
    /// The ranks of a host have too many threads for it.
    TooManyThreads(String),
    /// A gateway has given up; the text says why.
    GatewayLost(String),
    /// Everything here and below has ended.
    Left,
}

impl Frame {
    /// Appends the frame's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer(std::mem::take(out));
        let start = w.0.len();
        w.u8(self.kind()).u32(0);
        self.body(&mut w);
        let length = (w.0.len() - start - 5) as u32;
        w.0[start + 1..start + 5].copy_from_slice(&length.to_le_bytes());
        *out = w.0;
    }

    /// Never [`FILLER`].
    fn kind(&self) -> u8 {
        match self {
            Frame::Alive => 1,
            Frame::Puts(_) => 2,
            Frame::Order(_) => 3,
            Frame::Signal(_) => 4,
            Frame::Leave { .. } => 5,
            Frame::Pause(_) => 6,
            Frame::Open => 7,
            Frame::Reply { .. } => 8,
            Frame::Stdin(_) => 9,
            // 10 is the filler.
            Frame::Hold { .. } => 11,
            Frame::Release(_) => 12,
            Frame::Find { .. } => 13,
            Frame::SignalParted(_) => 14,
            Frame::Stream { .. } => 15,
            Frame::Space { .. } => 16,
            Frame::Started { .. } => 32,
            Frame::NotStarted { .. } => 33,
            Frame::NotExecuted { .. } => 34,
            Frame::State { .. } => 35,
            Frame::Abort { .. } => 36,
            Frame::Malformed { .. } => 37,
            Frame::Exited { .. } => 38,
            Frame::Output { .. } => 39,
            Frame::OutputEnd { .. } => 40,
            Frame::Waits { .. } => 41,
            Frame::Arrived => 42,
            Frame::Ask { .. } => 43,
            Frame::StdinTaken(_) => 44,
            Frame::StdinClosed => 45,
            Frame::Lost { .. } => 46,
            Frame::Note(_) => 47,
            Frame::Left => 48,
            Frame::OtherMpi(_) => 49,
            Frame::Found { .. } => 50,
            Frame::Held { .. } => 51,
            Frame::GoOn => 52,
            Frame::GatewayLost(_) => 53,
            Frame::TooManyThreads(_) => 54,
        }
    }

    fn body(&self, w: &mut Writer) {
        match self {
            Frame::Alive
            | Frame::Open
            | Frame::Arrived
            | Frame::StdinClosed
            | Frame::Left
            | Frame::GoOn => {}
            Frame::Puts(pairs) => {
                w.list(pairs, |w, (key, value)| {
                    w.bytes(key.as_bytes()).bytes(value.as_bytes());
                });
            }
            Frame::Order(bytes) | Frame::Stdin(bytes) => w.0.extend_from_slice(bytes),
            Frame::Signal(number) | Frame::SignalParted(number) => {
                w.u32(*number as u32);
            }
            Frame::Leave { kill: flag } | Frame::Pause(flag) => {
                w.u8(u8::from(*flag));
            }
            Frame::Hold { question, service, port } => {
                w.u32(*question).bytes(service.as_bytes()).bytes(port.as_bytes());
            }
            Frame::Find { question, service } => {
                w.u32(*question).bytes(service.as_bytes());
            }
            Frame::Stream { node, number, bytes } => {
                w.u32(*node).u32(*number).0.extend_from_slice(bytes);
            }
            Frame::Space { number, line } => {
                w.u32(*number).bytes(line.as_bytes());
            }
            Frame::Found { question, node, port } => {
                w.u32(*question).u32(*node).u8(u8::from(port.is_some()));
                w.bytes(port.as_deref().unwrap_or("").as_bytes());
            }
            Frame::Held { question, node, held } => {
                w.u32(*question).u32(*node).u8(u8::from(*held));
            }
            Frame::Release(services) => {
                w.list(services, |w, service| {
                    w.bytes(service.as_bytes());
                });
            }
            Frame::Reply { rank, text } | Frame::Malformed { rank, text } => {
                w.u32(*rank).bytes(text.as_bytes());
            }
            Frame::Started { rank, pid } => {
                w.u32(*rank).u32(*pid as u32);
            }
            Frame::NotStarted { rank, text, code } | Frame::NotExecuted { rank, text, code } => {
                w.u32(*rank).u32(*code as u32).bytes(text.as_bytes());
            }
            Frame::State { rank, state } => {
                w.u32(*rank).u8(*state as u8);
            }
            Frame::Abort { rank, code, message } => {
                w.u32(*rank).u32(*code as u32).u8(u8::from(message.is_some()));
                w.bytes(message.as_deref().unwrap_or("").as_bytes());
            }
            Frame::Exited { rank, ended } => {
                let (kind, value) = match *ended {
                    Ended::Code(code) => (0, code),
                    Ended::Signal { number, core } => (1 + u8::from(core), number),
                };
                w.u32(*rank).u8(kind).u32(value as u32);
            }
            Frame::Output { rank, side, bytes } => {
                w.u32(*rank).u8(*side).0.extend_from_slice(bytes);
            }
            Frame::OutputEnd { rank, side } => {
                w.u32(*rank).u8(*side);
            }
            Frame::Waits { rank } => {
                w.u32(*rank);
            }
            Frame::Ask { rank, line } => w.u32(*rank).0.extend_from_slice(line),
            Frame::StdinTaken(count) => {
                w.u32(*count);
            }
            Frame::Lost { nodes, text, code } => {
                w.list(nodes, |w, node| {
                    w.u32(*node);
                });
                w.u32(*code as u32).bytes(text.as_bytes());
            }
            Frame::Note(text)
            | Frame::OtherMpi(text)
            | Frame::TooManyThreads(text)
            | Frame::GatewayLost(text) => w.0.extend_from_slice(text.as_bytes()),
        }
    }

    fn decode(kind: u8, bytes: &[u8]) -> Result<Frame, Fault> {
        let mut r = Reader::new(bytes);
        let frame = Self::decode_body(kind, &mut r)?;
        r.end()?;
        Ok(frame)
    }

    fn decode_body(kind: u8, r: &mut Reader) -> Result<Frame, Fault> {
        Ok(match kind {
            1 => Frame::Alive,
            2 => Frame::Puts(r.list(|r| Ok((r.text()?, r.text()?)))?),
            3 => Frame::Order(r.rest().to_vec()),
            4 => Frame::Signal(r.u32()? as i32),
            5 => Frame::Leave { kill: r.flag()? },
            6 => Frame::Pause(r.flag()?),
            7 => Frame::Open,
            8 => Frame::Reply { rank: r.u32()?, text: r.text()? },
            9 => Frame::Stdin(r.rest().to_vec()),
            11 => Frame::Hold { question: r.u32()?, service: r.text()?, port: r.text()? },
            12 => Frame::Release(r.list(Reader::text)?),
            13 => Frame::Find { question: r.u32()?, service: r.text()? },
            14 => Frame::SignalParted(r.u32()? as i32),
            15 => Frame::Stream { node: r.u32()?, number: r.u32()?, bytes: r.rest().to_vec() },
            16 => Frame::Space { number: r.u32()?, line: r.text()? },
            32 => Frame::Started { rank: r.u32()?, pid: r.u32()? as i32 },
            33 => Frame::NotStarted { rank: r.u32()?, code: r.u32()? as i32, text: r.text()? },
            34 => Frame::NotExecuted { rank: r.u32()?, code: r.u32()? as i32, text: r.text()? },
            35 => Frame::State { rank: r.u32()?, state: state(r.u8()?)? },
            36 => {
                let (rank, code) = (r.u32()?, r.u32()? as i32);
                let (some, message) = (r.flag()?, r.text()?);
                Frame::Abort { rank, code, message: some.then_some(message) }
            }
            37 => Frame::Malformed { rank: r.u32()?, text: r.text()? },
            38 => Frame::Exited { rank: r.u32()?, ended: ended(r.u8()?, r.u32()? as i32)? },
            39 => Frame::Output { rank: r.u32()?, side: side(r)?, bytes: r.rest().to_vec() },
            40 => Frame::OutputEnd { rank: r.u32()?, side: side(r)? },
            41 => Frame::Waits { rank: r.u32()? },
            42 => Frame::Arrived,
            43 => Frame::Ask { rank: r.u32()?, line: r.rest().to_vec() },
            44 => Frame::StdinTaken(r.u32()?),
            45 => Frame::StdinClosed,
            46 => {
                Frame::Lost { nodes: r.list(Reader::u32)?, code: r.u32()? as i32, text: r.text()? }
            }
            47 => Frame::Note(String::from_utf8_lossy(r.rest()).into_owned()),
            48 => Frame::Left,
            49 => Frame::OtherMpi(String::from_utf8_lossy(r.rest()).into_owned()),
            50 => {
                let (question, node) = (r.u32()?, r.u32()?);
                let (some, port) = (r.flag()?, r.text()?);
                Frame::Found { question, node, port: some.then_some(port) }
            }
            51 => Frame::Held { question: r.u32()?, node: r.u32()?, held: r.flag()? },
            52 => Frame::GoOn,
            53 => Frame::GatewayLost(String::from_utf8_lossy(r.rest()).into_owned()),
            54 => Frame::TooManyThreads(String::from_utf8_lossy(r.rest()).into_owned()),
            other => return Err(format!("a frame of unknown kind {other}")),
        })
    }

    /// The rank that the frame is about, if it is about one.
    pub fn rank(&self) -> Option<u32> {
        match self {
            Frame::Reply { rank, .. }
            | Frame::Started { rank, .. }
            | Frame::NotStarted { rank, .. }
            | Frame::NotExecuted { rank, .. }
            | Frame::State { rank, .. }
            | Frame::Abort { rank, .. }
            | Frame::Malformed { rank, .. }
            | Frame::Exited { rank, .. }
            | Frame::Output { rank, .. }
            | Frame::OutputEnd { rank, .. }
            | Frame::Waits { rank }
            | Frame::Ask { rank, .. } => Some(*rank),
            _ => None,
        }
    }
}

fn state(byte: u8) -> Result<ClientState, Fault> {
    match byte {
        0 => Ok(ClientState::Silent),
        1 => Ok(ClientState::Initialised),
        2 => Ok(ClientState::Finalised),
        other => Err(format!("{other} is not the state of a rank")),
    }
}

fn ended(kind: u8, value: i32) -> Result<Ended, Fault> {
    match kind {
        0 => Ok(Ended::Code(value)),
        1 | 2 if (1..=64).contains(&value) => Ok(Ended::Signal { number: value, core: kind == 2 }),
        _ => Err(format!("an end of kind {kind} with value {value}")),
    }
}

fn side(r: &mut Reader) -> Result<u8, Fault> {
    Ok(u8::from(r.flag()?))
}

/// Cuts what comes over a connection into frames.
#[derive(Debug, Default)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    start: usize,
    greeted: bool,
}

impl FrameBuffer {
    /// For the agent's end: the launcher sends no greeting.
    pub fn greeted() -> Self {
        Self { greeted: true, ..Self::default() }
    }

    /// Adds bytes that have been read.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// What came before any greeting, for messages.
    pub fn noise(&self) -> Option<String> {
        (!self.greeted && !self.bytes.is_empty())
            .then(|| String::from_utf8_lossy(&self.bytes).into_owned())
    }

    /// The next whole frame.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Fault> {
        if !self.greeted && !self.greeting()? {
            return Ok(None);
        }
        while self.bytes.get(self.start) == Some(&FILLER) {
            self.start += 1;
        }
        let rest = &self.bytes[self.start..];
        let [kind, a, b, c, d, body @ ..] = rest else { return Ok(None) };
        let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        if length > FRAME_MAX {
            return Err(format!("a frame of {length} bytes"));
        }
        let Some(body) = body.get(..length) else { return Ok(None) };
        let frame = Frame::decode(*kind, body)?;
        self.start += 5 + length;
        Ok(Some(frame))
    }

    /// Looks for the agent's greeting; false if it has not come yet.
    fn greeting(&mut self) -> Result<bool, Fault> {
        let hello = HELLO.as_bytes();
        let Some(at) = self.bytes.windows(hello.len()).position(|part| part == hello) else {
            if self.bytes.len() > NOISE_MAX {
                return Err(format!("{NOISE_MAX} bytes without hpvm's greeting"));
            }
            return Ok(false);
        };
        let rest = &self.bytes[at + hello.len()..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return Ok(false) };
        let version = String::from_utf8_lossy(&rest[..end]).into_owned();
        if version.trim() != env!("CARGO_PKG_VERSION") {
            return Err(format!(
                "hpvm {} there, hpvm {} here: install the same version",
                version.trim(),
                env!("CARGO_PKG_VERSION")
            ));
        }
        self.start = at + hello.len() + end + 1;
        self.greeted = true;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame() -> impl Strategy<Value = Frame> {
        let (rank, text) = (any::<u32>(), "[ -~\n]{0,20}");
        let bytes = prop::collection::vec(any::<u8>(), 0..40);
        prop_oneof![
            Just(Frame::Alive),
            Just(Frame::Open),
            Just(Frame::Arrived),
            Just(Frame::Left),
            Just(Frame::GoOn),
            prop::collection::vec((text, text), 0..4).prop_map(Frame::Puts),
            bytes.clone().prop_map(Frame::Order),
            bytes.clone().prop_map(Frame::Stdin),
            (rank, text, text).prop_map(|(question, service, port)| Frame::Hold {
                question,
                service,
                port
            }),
            prop::collection::vec(text, 0..4).prop_map(Frame::Release),
            (rank, text).prop_map(|(question, service)| Frame::Find { question, service }),
            (rank, rank, any::<bool>()).prop_map(|(question, node, held)| Frame::Held {
                question,
                node,
                held
            }),
            (rank, rank, prop::option::of(text)).prop_map(|(question, node, port)| Frame::Found {
                question,
                node,
                port
            }),
            any::<i32>().prop_map(Frame::Signal),
            any::<i32>().prop_map(Frame::SignalParted),
            any::<bool>().prop_map(|kill| Frame::Leave { kill }),
            (rank, rank, bytes.clone()).prop_map(|(node, number, bytes)| Frame::Stream {
                node,
                number,
                bytes
            }),
            (rank, text).prop_map(|(number, line)| Frame::Space { number, line }),
            (rank, text).prop_map(|(rank, text)| Frame::Reply { rank, text }),
            (rank, any::<i32>()).prop_map(|(rank, pid)| Frame::Started { rank, pid }),
            (rank, text, any::<i32>()).prop_map(|(rank, text, code)| Frame::NotStarted {
                rank,
                text,
                code
            }),
            (rank, any::<i32>(), prop::option::of(text))
                .prop_map(|(rank, code, message)| Frame::Abort { rank, code, message }),
            (rank, 1..64i32, any::<bool>()).prop_map(|(rank, number, core)| Frame::Exited {
                rank,
                ended: Ended::Signal { number, core }
            }),
            (rank, any::<i32>())
                .prop_map(|(rank, code)| Frame::Exited { rank, ended: Ended::Code(code) }),
            (rank, 0..2u8, bytes.clone()).prop_map(|(rank, side, bytes)| Frame::Output {
                rank,
                side,
                bytes
            }),
            (rank, bytes).prop_map(|(rank, line)| Frame::Ask { rank, line }),
            (prop::collection::vec(rank, 0..5), text, any::<i32>())
                .prop_map(|(nodes, text, code)| Frame::Lost { nodes, text, code }),
            text.prop_map(Frame::Note),
            text.prop_map(Frame::GatewayLost),
        ]
    }

    proptest! {
        /// However the bytes are cut, and whatever was printed before, all frames come.
        #[test]
        fn frames_survive_cuts(
            frames in prop::collection::vec(frame(), 0..12),
            noise in "[ -~\n]{0,60}",
            cut in 1usize..50,
        ) {
            let mut bytes = noise.into_bytes();
            bytes.extend_from_slice(format!("{HELLO}{}\n", env!("CARGO_PKG_VERSION")).as_bytes());
            for (index, frame) in frames.iter().enumerate() {
                frame.encode(&mut bytes);
                bytes.extend(std::iter::repeat_n(FILLER, index % 3));
            }
            let (mut buffer, mut seen) = (FrameBuffer::default(), Vec::new());
            for part in bytes.chunks(cut) {
                buffer.push(part);
                while let Some(frame) = buffer.next_frame().unwrap() {
                    seen.push(frame);
                }
            }
            prop_assert_eq!(seen, frames);
        }

        /// Garbage gives frames or an error, and takes no more memory than it has bytes.
        #[test]
        fn garbage_does_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut buffer = FrameBuffer::greeted();
            buffer.push(&bytes);
            while let Ok(Some(_)) = buffer.next_frame() {}
        }
    }

    #[test]
    fn another_version_is_refused() {
        let mut buffer = FrameBuffer::default();
        buffer.push(format!("motd\n{HELLO}0.0.0-other\n").as_bytes());
        let fault = buffer.next_frame().unwrap_err();
        assert!(fault.contains("hpvm 0.0.0-other there"), "{fault}");
        let mut buffer = FrameBuffer::default();
        buffer.push(&vec![b'x'; NOISE_MAX + 1]);
        assert!(buffer.next_frame().unwrap_err().contains("without hpvm's greeting"));
    }

    #[test]
    fn lengths_are_checked() {
        let mut buffer = FrameBuffer::greeted();
        buffer.push(&[1, 255, 255, 255, 255]);
        assert!(buffer.next_frame().is_err());
        let mut buffer = FrameBuffer::greeted();
        buffer.push(&[2, 4, 0, 0, 0, 255, 255, 255, 255]);
        assert!(buffer.next_frame().unwrap_err().contains("items announced"));
        let mut buffer = FrameBuffer::greeted();
        buffer.push(&[48, 1, 0, 0, 0, 7]);
        assert!(buffer.next_frame().unwrap_err().contains("1 bytes too many"));
    }
}
