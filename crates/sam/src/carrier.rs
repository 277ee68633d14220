//! What a machine needs of whoever moves its messages.

use crate::Fault;
use crate::buffer::Buffer;
use crate::message::{Head, Outgoing, Rank};
use crate::store::Store;

pub struct Incoming {
    pub from: Rank,
    pub head: Head,
    /// As long as the head says.
    pub content: Option<Buffer>,
}

/// Moves messages between ranks: once each, unchanged, and between two ranks in the order sent.
pub trait Carrier {
    /// Takes a message over. Does not wait for the receiver.
    ///
    /// # Errors
    /// The receiver, or the network, is gone.
    fn send(&mut self, message: Outgoing) -> Result<(), Fault>;

    /// The next message, whose content is of `store`; with `wait` blocks until there is one.
    ///
    /// # Errors
    /// As for `send`; or what came is no message.
    fn receive(&mut self, wait: bool, store: &Store) -> Result<Option<Incoming>, Fault>;

    /// Messages taken over whose memory is still needed.
    fn backlog(&self) -> usize;
}
