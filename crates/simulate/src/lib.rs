//! Jobs of many ranks in virtual time, on a model of a machine.
//!
//! A [`Job`] runs a [`Program`] on every rank. Each rank is a whole engine ([`hpvm_mpi::Process`]: matching, credits,
//! collectives as schedules or through collective slots) over a transport whose time is a number. A [`Machine`] says
//! what a packet costs inside a host and between hosts; with a fabric packets also wait for the links on their route
//! ([`Routes`]). The same job gives the same outcome, always.
//!
//! Nothing here reads files, prints, or looks at a clock.

mod agenda;
mod end;
pub mod error;
pub mod failures;
pub mod fit;
pub mod job;
pub mod machine;
mod net;
mod packet;
pub mod plot;
pub mod program;
mod rank;
pub mod recorded;
mod routes;
mod schedules;
mod slots;
pub mod time;
pub mod trace;

pub use error::Error;
pub use job::{Job, Outcome};
pub use machine::Machine;
pub use net::Statistics;
pub use program::{Call, Collective, Kind, Program, Repeated};
pub use routes::{Load, Routes};
