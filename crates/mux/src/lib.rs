//! The transport of a process, out of two: shared memory between the ranks of a host, the network between
//! hosts. [`Mux`] is what a process of MPI uses; a message that stays on its host meets nothing of the
//! network but one branch.

mod bell;
mod links;
mod mux;
mod packets;
mod peer_memory;
mod poll_interval;
mod segment;
mod streams;

pub use links::LinkEnds;
pub use mux::Mux;
