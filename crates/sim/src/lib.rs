//! A seeded, deterministic virtual network.
//!
//! A [`Network`] holds every process of a job in one thread, without a clock: time is a number
//! that moves from event to event. One generator, seeded by [`Config::seed`], decides how long
//! each packet travels, when credits and buffers come home, and which requests are refused; the
//! same seed and the same calls give the same run, on every machine. A failing test prints its
//! seed, and the seed replays the failure.
//!
//! ```
//! use hpvm_sim::{Config, Network};
//! use hpvm_transport::{Head, Packets};
//!
//! let network = Network::new(Config { seed: 7, ..Config::calm(2) });
//! let (mut a, mut b) = (network.endpoint(0), network.endpoint(1));
//! assert!(a.take_credits(1) > 0);
//! a.send(1, Head::single(3, 99), 5, |to| to.copy_from_slice(b"hello")).unwrap();
//! network.settle();
//! let mut seen = Vec::new();
//! b.poll(16, |from, head, bytes| seen.push((from, head.imm, bytes.to_vec()))).unwrap();
//! assert_eq!(seen, [(0, 99, b"hello".to_vec())]);
//! ```
//!
//! What the network never does: lose, repeat or change a packet between two live processes, or
//! let two packets of one pair overtake each other. What it does freely: let packets of different
//! pairs overtake, and refuse a grant or a buffer now and then for no reason.
//!
//! With [`Config::lossy`] the processes talk in datagrams that are lost, repeated, overtaken, replayed and
//! cut off ([`Weather`]), and the reliability protocol of `hpvm-reliable` makes up for it.
//!
//! Misuse (a send without a credit, a payload above the limit) panics and names the seed: a
//! virtual network is a test instrument.

mod coll_slots;
mod config;
mod endpoint;
mod lossy;
mod network;
mod run;
mod state;
mod streams;

pub use config::{Config, Reads};
pub use endpoint::SimTransport;
pub use lossy::Weather;
pub use network::{Network, Statistics};
pub use run::Turn;
pub use streams::{BulkCounters, StreamConfig, Streaming, Streams};
