//! `libhpvm_trace.so.1`: records what a program calls of MPI, one file for each rank, which `hpvm simulate trace` reads
//! (docs/simulation.md). `mpirun --record FOLDER` has it loaded in front of the program, so that it has MPI's functions before
//! `libmpi_abi.so.1`, which it calls in turn; a program that is not recorded pays nothing.
//!
//! What is written is in [`log`]; times, the file and which communicator is which in [`state`]. The functions of MPI are in the
//! other modules; calls that have none there are computation for a record.
//!
//! The safety of every entry point is that of the MPI function of the same name.
#![allow(clippy::missing_safety_doc)]

mod begin;
mod collective;
mod log;
mod message;
mod parts;
mod state;
mod wait;

use core::ffi::c_int;
use hpvm_abi::constants::{MPI_Datatype, MPI_SUCCESS};
use hpvm_abi::{Entries, Standard};

unsafe extern "C" {
    static hpvm_entries_1: Entries;
}

/// The functions of `libmpi_abi.so.1`. Not by name: those names are ours.
fn mpi() -> &'static Standard {
    // SAFETY: the library is linked, and never changes the table.
    unsafe { &hpvm_entries_1.standard }
}

/// Bytes of so many elements.
fn bytes(count: impl Into<i64>, ty: MPI_Datatype) -> u64 {
    let mut size = 0;
    // SAFETY: a place of ours; the program has just given the type to MPI.
    let code = unsafe { (mpi().MPI_Type_size_c)(ty, &mut size) };
    let size = if code == MPI_SUCCESS { size } else { 0 };
    u64::try_from(count.into().saturating_mul(size)).unwrap_or(0)
}

/// Whether a call has ended well.
fn is_right(code: c_int) -> bool {
    code == MPI_SUCCESS
}
