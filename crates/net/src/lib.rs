//! Transport between hosts over commodity Ethernet, and its union with shared memory.
//!
//! Small messages travel as datagrams of one UDP socket per process. The protocol that makes them
//! reliable is `hpvm-reliable`; here are the sockets (`socket`, `outbox`), the seal that every
//! datagram carries (`auth`), who may be reached where (`interfaces`, `card`, `search`, `gate`),
//! whether silent peers live (`watch`, `ping`), and sleeping (`bell`). [`Joint`] is the transport that a
//! process of MPI uses. docs/network.md is the user's view.

mod address;
mod auth;
mod bell;
mod bulk;
mod card;
mod favourite;
mod gate;
pub mod interfaces;
mod joint;
mod net;
mod outbox;
mod pace;
mod ping;
mod search;
mod socket;
mod watch;

pub use auth::JobKey;
pub use card::{Card, Place};
pub use gate::Directory;
pub use joint::Joint;
pub use net::{Net, Opened, Settings};
