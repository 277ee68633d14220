//! One connection: how far its greeting is, what is half read and half written.

use crate::intake::Intake;
use crate::proof::FrameTags;
use crate::{Rank, Time};
use hpvm_wire::bulk::{Frame, GREETING};
use std::collections::VecDeque;

/// How far a connection is.
pub(crate) enum Stage {
    /// The caller connects.
    Connecting,
    /// We connected; the other's challenge is due.
    Challenge { hello: [u8; GREETING] },
    /// The other's welcome is due. With everything said so far.
    Welcome { said: Said },
    /// They connected; their hello is due. With our nonce.
    Hello { nonce: [u8; 16] },
    /// Their proof is due.
    Proof { said: Said },
    /// Frames.
    Open(Box<Open>),
}

/// What both sides have said before they prove anything.
#[derive(Clone, Copy)]
pub(crate) struct Said {
    pub hello: [u8; GREETING],
    /// The nonce of the side that did not connect.
    pub nonce: [u8; 16],
}

/// A connection that has proved itself.
pub(crate) struct Open {
    pub tags_out: FrameTags,
    pub tags_in: FrameTags,
    /// Frames that go before the next chunk.
    pub control: VecDeque<Frame>,
    /// The buffer to be written holds so many words, and then the headers of so many chunks without
    /// bytes, of which so many have been written.
    pub words: usize,
    pub empty: usize,
    pub empty_out: usize,
    /// The chunk that is being written, behind those.
    pub writing: Option<Part>,
    /// The chunk that is coming.
    pub reading: Option<Reading>,
    /// What has come and is to be looked at: of the next header, or behind one.
    pub intake: Intake,
}

impl Open {
    /// Something of what has come can be taken now.
    pub fn is_ready(&self) -> bool {
        match self.reading {
            Some(_) => !self.intake.bytes().is_empty(),
            None => self.intake.header().is_some(),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub number: u64,
    pub offset: u64,
    pub left: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub part: Part,
    /// Bytes of the whole chunk.
    pub len: u32,
}

pub(crate) struct Connection {
    pub stage: Stage,
    /// Who is at the other end, and which rail this is. Only alleged before `Stage::Open`.
    pub peer: Option<(Rank, u8)>,
    /// We connected.
    pub ours: bool,
    /// When it is given up if it is not open before.
    pub deadline: Option<Time>,
    /// A greeting, as far as it has come.
    pub head_in: [u8; GREETING],
    pub have: usize,
    /// A greeting, or headers of frames, to be written.
    pub head_out: Vec<u8>,
    pub head_done: usize,
}

impl Connection {
    pub fn new(stage: Stage, peer: Option<(Rank, u8)>, deadline: Time) -> Connection {
        Connection {
            stage,
            ours: peer.is_some(),
            peer,
            deadline: Some(deadline),
            head_in: [0; GREETING],
            have: 0,
            head_out: Vec::new(),
            head_done: 0,
        }
    }

    /// Puts `bytes` into the buffer to be written.
    pub fn say(&mut self, bytes: &[u8]) {
        if self.unsaid().is_empty() {
            self.head_out.clear();
            self.head_done = 0;
        }
        self.head_out.extend_from_slice(bytes);
    }

    /// What of the buffer has not been written.
    pub fn unsaid(&self) -> &[u8] {
        &self.head_out[self.head_done..]
    }

    pub fn open(&self) -> Option<&Open> {
        match &self.stage {
            Stage::Open(open) => Some(open),
            _ => None,
        }
    }
}
