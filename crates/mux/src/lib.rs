//! The transport of a process, made of two: shared memory between the ranks of a host, and the network between hosts.
//! Every process of MPI uses a [`Mux`]. A message that stays on its host executes one branch here and nothing of the
//! network.

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
