//! MPI semantics, one module per chapter of the standard.
//!
//! [`Process`] is one MPI process over one transport: point-to-point ([`pt2pt`], [`matching`],
//! [`protocol`]), collectives ([`collective`], which runs the schedules of `hpvm-coll`), and
//! communicators ([`comm`], [`context`], [`group`]). Handles, argument checks, error handlers,
//! attributes and everything else that only the C interface shows live in `mpi-abi`.
//!
//! Deliberately absent: blocking, threads, callbacks into the program. A call starts an operation;
//! `Process::progress` advances all of them; reductions by functions of the program come back to
//! the caller as [`collective::Compute`], so that no borrow of the process is held while they run.

mod backlog;
pub mod build;
mod bulk;
pub mod collective;
pub mod comm;
pub mod context;
pub mod datatype;
mod direct;
mod duet;
pub mod error;
pub mod group;
mod kept;
mod lent;
pub mod matching;
pub mod op;
mod pieces;
pub mod process;
mod progress;
pub mod protocol;
pub mod pt2pt;
pub mod request;
pub mod several;
pub mod status;
mod step;
pub mod topology;
mod transfer;

use hpvm_copy as copy;
use hpvm_copy::non_temporal as streaming;

pub use comm::{Channel, Comm};
pub use direct::Received;
pub use error::{Class, Error, Result};
pub use group::Group;
pub use process::Process;
pub use request::{Outcome, ReqId};
pub use status::Status;
