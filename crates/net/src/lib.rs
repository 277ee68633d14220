//! Packets and streams between hosts over commodity Ethernet.
//!
//! Small messages travel as datagrams of one UDP socket per process. The protocol that makes them
//! reliable is `hpvm-reliable`; here are the sockets (`socket`, `outbox`), the seal that every
//! datagram carries (`auth`), who may be reached where (`interfaces`, `card`, `search`, `gate`),
//! and whether silent peers live (`watch`, `ping`). `hpvm-mux` makes a transport of [`Net`] and
//! shared memory. docs/network.md is the user's view.

mod address;
mod auth;
mod bulk;
mod card;
mod epoll;
mod favourite;
mod gate;
pub mod interfaces;
mod net;
mod outbox;
mod ping;
mod search;
mod socket;
mod streams;
mod watch;

pub use auth::JobKey;
pub use card::{Card, Place};
pub use epoll::watch;
pub use gate::Directory;
pub use net::{Net, Opened, Settings, now};
