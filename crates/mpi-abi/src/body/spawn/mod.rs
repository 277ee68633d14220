//! Dynamic processes (chapter 11): arguments and handles. What happens is in [`crate::dynamic`].

mod names;
mod ports;
mod start;

pub use super::comm::disconnect as comm_disconnect;
pub use names::*;
pub use ports::*;
pub use start::*;

use crate::body::check::wrong;
use crate::dynamic::link::Side;
use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::runtime::Entered;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::sync::Arc;

/// The group that a call brings together with another one: the members of an intracommunicator.
fn side(w: &Entered, comm: MPI_Comm, root: c_int) -> Result<(Side, Arc<CommObject>)> {
    let object = w.objects.comm(comm)?.clone();
    if object.comm.is_inter() {
        return Err(wrong(Class::Comm, "comm is an intercommunicator"));
    }
    let size = object.comm.size();
    let root = u32::try_from(root).ok().filter(|root| *root < size).ok_or_else(|| {
        wrong(Class::Root, format!("root {root}; expected 0 to {}", size.wrapping_sub(1) as i32))
    })?;
    Ok((Side { comm: object.comm.clone(), root }, object))
}
