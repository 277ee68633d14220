//! Packets and streams between hosts over commodity Ethernet.
//!
//! Small messages travel as datagrams of one UDP socket per process. The protocol that makes them
//! reliable is `hpvm-reliable`; here are the sockets (`socket`, `outbox`), the MAC that every
//! datagram carries (`auth`, `body_hash`), who may be reached where (`interfaces`, `card`, `search`, `datagrams`),
//! and whether silent peers live (`watch`, `ping`). `hpvm-mux` makes a transport of [`Net`] and
//! shared memory. docs/network.md is the user's view.

mod address;
mod auth;
mod body_hash;
mod bulk;
mod card;
mod datagrams;
mod epoll;
pub mod handshake;
pub mod interfaces;
mod net;
mod ofi;
mod outbox;
mod ping;
mod rdma;
mod search;
mod socket;
mod streams;
mod turns;
mod watch;
mod xdp;

pub use auth::JobKey;
pub use body_hash::BodyHash;
pub use bulk::MIN_STREAMED;
pub use card::{AddressAndPrefix, CARD_BYTES_MAX, Card, FabricCard, is_link_local};
pub use datagrams::Directory;
pub use epoll::watch;
pub use hpvm_ofi::Rdma;
pub use hpvm_xdp::{Helper as XdpHelper, Refusal, Why};
pub use net::{Lane, Net, Opened, Settings, now};
pub use ofi::try_card;
pub use xdp::{PastKernelSettings, XDP_HELPER, xdp_is_worth, xdp_usable};
