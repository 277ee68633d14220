//! What can go wrong in Fast Messages, for people.

use crate::{Broken, Rank};
use core::fmt;

/// A message that could not be delivered. It is discarded; the engine goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No handler has this id here.
    UnknownHandler { src: Rank, handler: u8 },
    /// The peer wrote what no correct peer writes.
    Corrupt { src: Rank, text: String },
    /// A handler waited for something other than its stream's next bytes: nobody would wake it.
    HandlerStalled { src: Rank, handler: u8 },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::UnknownHandler { src, handler } => write!(
                f,
                "message from node {src} for handler {handler}, which is not registered here; \
                 the message is discarded (register handlers before the first extract)"
            ),
            Fault::Corrupt { src, text } => write!(f, "message from node {src}: {text}"),
            Fault::HandlerStalled { src, handler } => write!(
                f,
                "handler {handler} for a message from node {src} waits for something other than \
                 its stream; the message is discarded"
            ),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Broken {
        Broken::Corrupt(fault.to_string())
    }
}

/// Why a message, or a piece of one, was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendError {
    /// There is no such node.
    NoSuchNode { dst: Rank, size: u32 },
    /// A stream to this node is open (outside handlers), or the list of deferred messages is full
    /// (inside handlers). End the stream first; inside a handler do not retry.
    Busy,
    /// Messages that handlers wrote to this node go first. Extract, then try again.
    Stalled,
    /// More bytes than begin announced, or than a message of this kind may have.
    TooLong { asked: u64, most: u64 },
    /// The stream has been ended already.
    Ended,
    /// The engine can't go on.
    Broken(Broken),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::NoSuchNode { dst, size } => {
                write!(f, "no node {dst}: the nodes are 0 to {}", size.saturating_sub(1))
            }
            SendError::Busy => write!(f, "a stream to this node is open, or no room to defer"),
            SendError::Stalled => write!(f, "earlier messages to this node wait for credit"),
            SendError::TooLong { asked, most } => {
                write!(f, "{asked} bytes in a message that may have at most {most}")
            }
            SendError::Ended => write!(f, "the stream has been ended already"),
            SendError::Broken(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for SendError {}

impl From<Broken> for SendError {
    fn from(why: Broken) -> SendError {
        SendError::Broken(why)
    }
}
