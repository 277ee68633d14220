//! The queue and its server, as real processes.

#[path = "../common/mod.rs"]
mod common;

mod accounts;
mod api;
mod kills;
mod life;
mod remote;
mod server;
