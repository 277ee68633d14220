//! What a communicator handle refers to.

use super::attributes::Attributes;
use super::errhandler::Handler;
use super::info::Info;
pub use super::topology::Topology;
use crate::generated::constants::MPI_Comm;
use hpvm_mpi::Comm;
use hpvm_mpi::comm::agreement::Agreement;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A communicator and what the C interface keeps on it.
#[derive(Debug)]
pub struct CommObject {
    pub comm: Arc<Comm>,
    extras: Mutex<Extras>,
}

/// The parts that change.
#[derive(Debug, Default)]
pub struct Extras {
    pub name: String,
    pub handler: Handler,
    pub attributes: Attributes,
    pub info: Info,
    pub topology: Option<Topology>,
    /// Buffer of `MPI_Comm_attach_buffer`.
    pub buffer: crate::body::buffer::Attached,
}

impl CommObject {
    pub fn new(comm: Arc<Comm>, name: &str) -> Arc<CommObject> {
        let extras = Extras { name: name.to_owned(), ..Extras::default() };
        CommObject::with_extras(comm, extras)
    }

    pub fn with_extras(comm: Arc<Comm>, extras: Extras) -> Arc<CommObject> {
        Arc::new(CommObject { comm, extras: Mutex::new(extras) })
    }

    /// The changing parts. Held for moments only, never across a callback.
    pub fn extras(&self) -> MutexGuard<'_, Extras> {
        self.extras.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hints of `info` that communicators keep: the assertions of section 7.4.4. Others, and values
/// that are neither true nor false, are ignored, as the standard asks.
pub fn hints(info: &Info) -> Info {
    const KEPT: [&str; 5] = [
        "mpi_assert_no_any_tag",
        "mpi_assert_no_any_source",
        "mpi_assert_exact_length",
        "mpi_assert_allow_overtaking",
        "mpi_assert_strict_persistent_collective_ordering",
    ];
    let mut kept = Info::default();
    for (key, value) in
        info.iter().filter(|(k, v)| KEPT.contains(k) && matches!(*v, "true" | "false"))
    {
        kept.set(key, value);
    }
    kept
}

/// A communicator that `MPI_Comm_idup` is making: its handle and request exist already.
#[derive(Debug)]
pub struct Unfinished {
    pub parent: Arc<CommObject>,
    /// `None` only while its end is being handled.
    pub agreement: Option<Agreement>,
    pub handle: MPI_Comm,
    /// What was copied from the parent when the call was made.
    pub extras: Extras,
    /// Completes when the communicator is ready.
    pub request: hpvm_mpi::ReqId,
}
