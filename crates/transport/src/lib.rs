//! What a transport is, in four concepts, and the conformance suite (feature `conformance`).
//!
//! A transport moves packets between the processes of a job: reliably, in order per pair, and
//! only when the sender holds a credit. Everything above it is a state machine that calls
//! [`Packets::poll`]; nothing here blocks except [`Doorbell::wait`].
//!
//! Every transport has [`Packets`]. [`PeerMemory`], [`Streams`] and [`Segment`] are capabilities. Their methods
//! have defaults that mean "this transport has none", so a transport without streams says
//! `impl Streams for Mine {}`.

use core::fmt;
pub use hpvm_wire::Head;
pub use hpvm_wire::cell::PREFIX;

#[cfg(feature = "conformance")]
pub mod conformance;
mod life;
mod memory;
mod packets;
mod peer_memory;
mod segment;
mod streams;

pub use life::Life;
pub use memory::{Holes, Memory};
pub use packets::{Doorbell, Limits, Packets, Refused};
pub use peer_memory::{Exposed, PeerMemory, PeerMemoryError};
pub use segment::Segment;
pub use streams::{Landing, Streamed, Streams};

/// A process of the job, 0 to size - 1.
pub type Rank = u32;

/// A transport that can't go on. The text names what was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// A peer wrote something that no correct peer writes.
    Corrupt(String),
    /// A peer is gone.
    PeerLost { rank: Rank, why: String },
    /// The system does not do what the transport needs any more.
    Failed(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Corrupt(text) => write!(f, "corrupt data from a peer: {text}"),
            Broken::PeerLost { rank, why } => write!(f, "rank {rank} is gone: {why}"),
            Broken::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Broken {}

/// One process's end of a job's network: all four concepts.
pub trait Transport: Packets + PeerMemory + Streams + Segment {}

impl<T: Packets + PeerMemory + Streams + Segment> Transport for T {}
