//! Large messages over connections that may break, as a pure state machine.
//!
//! A [`Bulk`] holds the streams and connections of one process. Nothing here knows a socket, a
//! clock or a thread: the caller moves bytes where [`Bulk::input`] and [`Bulk::output`] say, reports what happened and when,
//! and performs [`Action`]s. docs/bulk.md describes the protocol.
//!
//! - A *stream* is one message from one process to another, under a number that its sender chose.
//!   It is cut into *chunks*.
//! - A *rail* is one of the ways between two processes (an address at either end). It carries
//!   chunks in both directions, each exactly once and in order, over one connection after another:
//!   when a connection is made again, both sides say how many chunks have come, and what had not
//!   is sent again. Several rails share the chunks of a stream.
//! - Of two processes the one with the lower rank makes the connections, and keeps at it while any
//!   stream between the two is unfinished.
//!
//! A peer proves that it knows the job's key before anything that it says is believed, and every
//! header of a frame carries a tag.
//!
//! `M` is how the caller describes the memory of a stream; this crate never touches it.

mod action;
mod bulk;
mod connection;
mod flow;
mod greet;
mod intake;
mod order;
mod peer;
mod proof;
mod rail;
mod streaming;
mod transfer;

pub use action::{Action, ConnId, Counters, Done, Input, Nonsense, Output, Pending, Settings};
pub use bulk::Bulk;
pub use order::FENCE;

/// A process of the job, by rank.
pub type Rank = u32;
/// Nanoseconds since some moment.
pub type Time = u64;
