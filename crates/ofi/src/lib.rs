//! Messages by libfabric (OpenFabrics Interfaces): one reliable datagram endpoint (`FI_EP_RDM`, `FI_MSG`) per process, of
//! whatever provider the library has: `verbs;ofi_rxm`, `efa`, `tcp;ofi_rxm` and so on.
//!
//! The library is loaded when it is asked for ([`library`]); nothing is linked and no header is needed. The structures
//! that pass between it and us are written down in [`abi`], from libfabric's manual pages, and are those of its symbol
//! versions `FABRIC_1.0` to `FABRIC_1.3`, which every later library of this name keeps. Which provider is taken decides
//! [`offer`]; [`endpoint`] sends and receives; [`rdma`] reads the memory of peers that they have exposed.
//!
//! Messages are an allegation like datagrams: whoever uses this crate authenticates what comes, and has a way of its
//! own when a peer is not reached.

pub mod abi;
mod cards;
mod endpoint;
mod library;
mod memory;
mod object;
mod offer;
mod open;
mod providers;
mod rdma;
mod signals;

pub use cards::cards;
pub use endpoint::{Endpoint, LONGEST_ADDRESS, LONGEST_MESSAGE, SHORTEST_MESSAGE, Sent, Tally};
pub use library::Library;
pub use offer::{Found, Provider, Wanted, probe};
pub use providers::{number, word};
pub use rdma::{Exposed, Rdma, ReadEnd};
