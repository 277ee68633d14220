//! Communicators (chapter 7).

mod access;
mod dup;
mod free;
mod inter;
mod make;

pub use access::*;
pub use dup::*;
pub use free::*;
pub use inter::*;
pub use make::*;

use crate::generated::constants::*;
use crate::object::comm::{CommObject, Extras};
use crate::runtime::Entered;
use hpvm_mpi::Comm;
use hpvm_mpi::error::Result;
use std::sync::Arc;

/// A handle for a communicator made from `parent`: it inherits the error handler, and nothing
/// else.
pub fn adopt(w: &mut Entered, parent: &CommObject, comm: Arc<Comm>) -> Result<MPI_Comm> {
    let handler = parent.extras().handler;
    add(w, comm, Extras { handler, ..Extras::default() })
}

/// A handle for a new communicator.
pub(super) fn add(w: &mut Entered, comm: Arc<Comm>, extras: Extras) -> Result<MPI_Comm> {
    w.process.prepare_slots(&comm);
    w.objects.add_comm(CommObject::with_extras(comm, extras))
}

/// As [`adopt`], for a process that may have been left out.
fn adopt_some(w: &mut Entered, parent: &CommObject, made: Option<Arc<Comm>>) -> Result<MPI_Comm> {
    match made {
        None => Ok(MPI_COMM_NULL),
        Some(comm) => adopt(w, parent, comm),
    }
}
