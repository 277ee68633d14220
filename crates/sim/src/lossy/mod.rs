//! Processes that talk in datagrams, over roads that lose them.
//!
//! The reliability protocol of `hpvm-reliable` runs between each process and the roads, so what
//! is above sees a transport that keeps every promise. A process has a socket, which holds so
//! many datagrams and drops the rest, and an inbox of packets that came and were not polled. It
//! makes progress when it is polled, as a process does that calls MPI; one that has finished (see
//! [`crate::Network::run`]) goes on answering. Times are in nanoseconds: a tick is one.

mod process;
mod road;
mod weather;

pub(crate) use process::Lossy;
pub use weather::Weather;
