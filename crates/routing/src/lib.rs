//! Static routes for a fabric of switches: deadlock-free ones are made, any are checked.
//!
//! A [`Fabric`] is read ([`format`]) or generated ([`generate`]). [`updown`] makes [`Tables`] for it, [`reroute`]
//! changes tables after a failure as little as it can. [`check`] follows every route of any table and looks for
//! a cycle in its channel dependency graph; [`bisection`] says what the fabric and the routes carry between halves.
//! What the tables are used for is in [`lft`] (OpenSM), [`linux`] (`ip route`), [`order`] (host order) and [`plot`].
//!
//! Nothing here reads files, prints or knows about messages.

pub mod bisection;
pub mod check;
pub mod error;
pub mod fabric;
pub mod format;
pub mod generate;
pub mod hostlist;
pub mod lft;
pub mod linux;
pub mod network;
pub mod order;
pub mod plot;
pub mod random;
pub mod reroute;
pub mod tables;
pub mod updown;

pub use error::Error;
pub use fabric::Fabric;
pub use network::Network;
pub use tables::Tables;
