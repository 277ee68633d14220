//! `libpvm3.so.3`: PVM 3.4's functions and its groups.
//!
//! What is packed and matched is in hpvm-pvm. Here are the entry points ([`entry`]), this process as a task
//! ([`task`]), the links between tasks of a host ([`link`]) and of two ([`direct`]) and the connection to the virtual machine's process ([`control`]).
//!
//! The safety of every entry point is C's: pointers point to as much as the call says, for as long as PVM says.
#![allow(clippy::missing_safety_doc)]

mod catchout;
mod control;
mod direct;
mod entry;
mod fortran;
mod library;
mod link;
mod neighbours;
mod others;
mod say;
mod task;
