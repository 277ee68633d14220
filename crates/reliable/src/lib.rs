//! The datagram reliability protocol as a pure state machine.
//!
//! A [`Hub`] holds the links of one process to its peers. Datagrams that came and the time go in;
//! packets, in order and once each, and datagrams to send come out through callbacks. Nothing
//! here knows a socket, a clock or a thread; docs/reliable.md tells the protocol.
//!
//! The caller checks who sent a datagram (its authentication) before it hands in the bytes. It does not check the content or
//! the age: replays are found here.
//!
//! A turn of the caller's loop:
//!
//! 1. For each datagram of the socket: [`Hub::on_datagram`].
//! 2. When [`Hub::has_work`] says so: [`Hub::transmit`].
//! 3. To sleep: at most until [`Hub::deadline`].
//!
//! To send a packet: [`Hub::grant`] tells how many small packets have room, [`Hub::push`] takes
//! one, and [`Hub::transmit_to`] sends it at once.

mod assembly;
mod config;
mod counters;
mod hub;
mod incoming;
mod link;
pub mod liveness;
mod outgoing;
mod pool;
mod replay;
mod ring;
mod rtt;
mod shared;
mod size;

pub use config::Config;
pub use counters::Counters;
pub use hpvm_wire::Head;
pub use hub::{Dropped, Full, Hub, Pending, Sent};

/// A process of the job, by rank.
pub type Peer = u32;
