//! Dynamic processes (sections 11.8 to 11.10): of these, only what programs use without spawning.

pub use super::comm::disconnect as comm_disconnect;

use super::check::out;
use crate::generated::constants::*;
use crate::raise::on_world;
use core::ffi::c_int;

/// No process of hpvm was started by `MPI_Comm_spawn`, so none has a parent.
pub unsafe fn comm_get_parent(parent: *mut MPI_Comm) -> c_int {
    on_world("MPI_Comm_get_parent", |_| {
        out("parent", parent)?;
        // SAFETY: checked above.
        unsafe { *parent = MPI_COMM_NULL };
        Ok(())
    })
}
