//! Shared objects for programs on distributed memory, after SAM (Scales and Lam, Stanford, 1994), without C and without
//! MPI.
//!
//! The objects of a program have names in one name space. A *value* is written once and then read anywhere; ranks
//! that read it keep copies in a bounded cache. An *accumulator* is updated under mutual exclusion and moves to who
//! updates it. *Tasks* are stolen by ranks that have none.
//!
//! Each name has a home, a rank that follows from the name: it knows who owns the value or is last in the
//! chain of updaters ([`Machine`]'s directory), and holds no content. A reader asks the home, the home tells the owner, and the
//! owner sends the value to the reader and remembers it, until the value goes and the copies with it.
//!
//! [`Machine`] decides: events go in (calls of the program, messages of peers), messages come out, and nothing in it
//! blocks, sends or looks at a clock. [`Node`] is a machine with a [`Carrier`] that moves its messages, whose calls block;
//! [`Sam`] is the same for Rust programs, with guards in place of pointers.
//!
//! What peers send is checked before it has an effect. An error ends the program: [`Fault`] says what was expected.

mod accumulators;
mod buffer;
mod cache;
mod carrier;
mod content;
mod directory;
mod fault;
mod handle;
mod machine;
mod message;
mod name;
mod node;
mod store;
mod tasks;
mod values;

pub use buffer::Buffer;
pub use carrier::{Carrier, Incoming, Received};
pub use content::{Content, ContentType, Object};
pub use fault::Fault;
pub use handle::{Reading, Sam, Updating};
pub use machine::{Census, Counters, Here, Home, Machine, Settings};
pub use message::{Head, Kind, Outgoing, Rank};
pub use name::Name;
pub use node::Node;
pub use store::Store;
pub use tasks::Next;
