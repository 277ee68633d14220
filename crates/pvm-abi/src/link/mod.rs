//! Links: how messages get from task to task on one host, without the virtual machine's process.
//!
//! A link is memory that the sender makes when it first has something to say to a task; it is handed over through the
//! receiver's listening socket, where it waits while the receiver computes, and also when the sender has ended.

pub mod incoming;
mod nap;
pub mod outgoing;
pub mod segment;
pub mod sockets;
#[cfg(test)]
mod tests;
