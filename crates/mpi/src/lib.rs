//! MPI semantics, one module per chapter of the standard.
//!
//! [`Process`] is one MPI process over one transport: the [`engine`] (requests, matching, progress),
//! point-to-point communication ([`pt2pt`], one file for each method by which a message travels),
//! collectives ([`coll`], which runs the schedules of `hpvm-coll`), and communicators ([`comm`]). Handles, argument
//! checks, error handlers, attributes and everything else that only the C interface shows live in `mpi-abi`.
//!
//! Deliberately absent: blocking, threads, callbacks into the program. A call starts an operation;
//! `Process::progress` advances all of them; reductions by functions of the program come back to
//! the caller as [`coll::Compute`], so that no borrow of the process is held while they run.

pub mod coll;
pub mod comm;
pub mod datatype;
pub mod engine;
pub mod error;
pub mod op;
pub mod pt2pt;
pub mod rma;
pub mod status;

pub use comm::build;
pub use comm::group::Group;
pub use comm::{Channel, Comm};
pub use engine::process::Process;
pub use engine::requests::{Outcome, ReqId};
pub use error::{Class, Error, Result};
/// The layer below windows and other models of one-sided communication.
pub use hpvm_onesided as onesided;
pub use pt2pt::blocking::Received;
pub use status::Status;
