//! Portals 4.3 without C and without an engine: what a target decides when a message arrives, what counters trigger, and
//! what atomic operations do to bytes.
//!
//! [`Portal`] is one entry of a portal table: its priority and overflow lists, its unexpected headers, whether it is enabled.
//! Messages go in by their headers ([`Message`]) and the end of their data ([`Portal::complete`]); events of queues and
//! counts come out as [`Effect`]s, in the order in which a program must see them. Nothing in it moves data, blocks or looks
//! at a clock. [`Counters`] are the counting events of an interface with the operations that wait for them.
//! [`atomic`] has the operations of `PtlAtomic`, `PtlFetchAtomic` and `PtlSwap` on little-endian bytes.
//!
//! Names are those of the specification: match entry (ME), list entry (LE), counting event (CT), event queue (EQ).
//!
//! [`Interface`] puts them together with handles, limits, queues, descriptors and the initiator's side of operations. What it
//! needs of the world is a [`Carrier`]: packets ([`Head`]) to other processes, and access to memory.

#![forbid(unsafe_code)]

pub mod atomic;
mod carrier;
mod counters;
mod entry;
mod event;
mod fault;
mod handle;
mod interface;
mod limits;
mod memory;
mod message;
mod portal;
mod queue;
mod slab;
mod wire;

pub use carrier::{Carrier, Data, Inaccessible, Purpose, Transfer, Unreachable};
pub use counters::{Count, Counters, Triggered};
pub use entry::{Entry, Options, Source};
pub use event::{Body, Effect, Event, EventKind, List, NiFail, Register};
pub use fault::Fault;
pub use handle::{Handle, Kind as HandleKind};
pub use interface::{
    ANY, ANY_ID, Ack, Appended, Get, Interface, Local, MdOptions, Nature, Peer, PtOptions, Put,
    Request, Target, Verb, discard,
};
pub use limits::{EAGER, Limits, PUSHED};
pub use memory::{Region, Run};
pub use message::{Message, Operation, Process};
pub use portal::{Delivery, Portal, Refused, Revision, Search, Settings, Verdict};
pub use queue::FullEvent;
pub use slab::Id;
pub use wire::{Head, Kind as PacketKind, Malformed, OPERAND, Replies, Reply};
