//! The queue and its server, as real processes.

#[path = "../common/mod.rs"]
mod common;

mod accounting;
mod accounts;
mod api;
mod attacks;
mod binding;
mod config;
mod doctor;
mod first;
mod further;
mod groups;
mod kills;
mod life;
mod long_kills;
mod manner;
mod nodes;
mod ranks;
mod remote;
mod restarts;
mod restore;
mod scale;
mod server;
mod slurm;
mod started;
mod system;
mod system_hosts;
mod top;
