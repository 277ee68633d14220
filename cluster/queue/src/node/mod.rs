//! Jobs on other hosts: what the server and `hpvm node` tell each other, and what each makes of it.
//!
//! Both sides say all they know each time, never what has changed: the server which jobs it wants
//! on the host ([`Orders`]), the host which it has and how they stand ([`Report`]). Each statement
//! carries a number that only grows, and one that is not newer than the last is dropped. So
//! messages may be lost, repeated and overtake each other, and a side that was killed learns
//! everything again from the next one. [`Controller`] is the server's side of one host, [`Daemon`]
//! the host's; both are pure. The test in `simulation` plays them against each other. A report that
//! says what the last one said does not reach the manager at all ([`Pulses`]).

mod controller;
mod daemon;
mod fleet;
mod protocol;
mod pulse;
#[cfg(test)]
mod simulation;

pub use controller::{Controller, Queue, Refused};
pub use daemon::{Daemon, Deed, FORGOTTEN_MAX};
pub use fleet::{Capacity, Fleet, News, NodeView, SILENT_SECONDS};
pub use protocol::{Looks, Newest, Ordered, Orders, Parts, Report, Said, Told, Version, Work};
pub use pulse::Pulses;
