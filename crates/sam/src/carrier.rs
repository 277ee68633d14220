//! What a machine needs of whoever moves its messages.

use crate::Fault;
use crate::buffer::Buffer;
use crate::machine::Machine;
use crate::message::{Head, Outgoing, Rank};

pub struct Incoming {
    pub from: Rank,
    pub head: Head,
    /// As long as the head says.
    pub content: Option<Buffer>,
}

/// What came of a look for messages.
pub enum Received {
    /// There is none.
    Nothing,
    /// Some have been dealt with where they lay ([`Machine::receive_here`]).
    Here,
    /// One to be handled.
    Message(Incoming),
}

/// Moves messages between ranks: once each, unchanged, and between two ranks in the order sent.
pub trait Carrier {
    /// Takes a message over, and what it needs of it. Does not wait for the receiver.
    ///
    /// # Errors
    /// The receiver, or the network, is gone.
    fn send(&mut self, message: &Outgoing) -> Result<(), Fault>;

    /// The next message for a machine, whose content is of the machine's store, unless the machine takes it as it is shown; with `wait`
    /// blocks until there is one.
    ///
    /// # Errors
    /// As for `send`; or what came is no message.
    fn receive(&mut self, wait: bool, machine: &mut Machine) -> Result<Received, Fault>;

    /// Messages taken over whose memory is still needed.
    fn backlog(&self) -> usize;
}
