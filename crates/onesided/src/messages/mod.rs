//! Operations in packets, where no memory is shared: the owner applies them when it makes progress.
//!
//! What is to be sent waits in a queue for each rank ([`queue`]), in order, for credits. [`request`] makes packets
//! of operations, [`batch`] lets small ones share packets, [`receive`] applies those of others, and [`answer`] sends what they are to be told.
//!
//! Bounds: a rank lets each other rank owe it at most [`MAX_UNANSWERED`] answers, each of at most a packet of fetched elements
//! or a list of memory to send. More than that is a violation of the protocol. Our own requests wait in the memory that
//! describes the program's operations.

mod answer;
pub(crate) mod batch;
pub(crate) mod packets;
mod queue;
mod receive;
pub(crate) mod request;

pub(crate) use batch::Completion;
pub(crate) use queue::{Leaves, Queues};
pub use receive::Message;
pub(crate) use request::{Body, Request};

/// Packets that one rank may have sent to another and that are not answered: enough to fill the way between two
/// hosts. What it asks for beyond that waits.
pub(crate) const MAX_UNANSWERED: u32 = 64;
/// Most bytes of elements that one packet asks to fetch: they are kept until they are sent.
pub(crate) const MAX_FETCHED: usize = 4096;
/// Model messages that are kept until the model takes them.
pub(crate) const MAX_MESSAGES: usize = 1 << 16;
/// Smallest packets that can carry operations, bytes: the largest element with what belongs to it.
pub(crate) const MIN_PACKET: usize = 64;
/// Longest element that can be compared and swapped, bytes.
pub(crate) const MAX_SWAPPED: usize = 16;

const _: () =
    assert!(2 * packets::WORD_BYTES + packets::RUN_BYTES + crate::MAX_ELEMENT <= MIN_PACKET);
const _: () = assert!(3 * packets::WORD_BYTES + 2 * MAX_SWAPPED <= MIN_PACKET);
const _: () = assert!(packets::Fault::BYTES <= MIN_PACKET);
