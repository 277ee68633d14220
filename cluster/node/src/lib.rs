//! `hpvm node`: runs jobs of a server on this host.
//!
//! One thread ([`run`]) holds what the host has ([`hpvm_queue::node::Daemon`], pure) and does what
//! the server orders; others wait for orders, send reports, output
//! ([`link`]) and, while somebody looks, what ranks do ([`look`]). What must
//! outlive a `kill -9` is on disk ([`disk`]); jobs run under supervisors of their own, which are no
//! children of this process.

mod disk;
mod link;
mod look;
mod output;
pub mod run;

pub use run::{Options, run};
