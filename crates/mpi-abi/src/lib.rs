//! libmpi_abi.so.1: entry points, handles, argument checks, nothing else.
//!
//! `generated` holds the C functions, made from `spec/`; each calls a function of `body`, which
//! checks its arguments, turns handles into objects (`object`), and calls the engine
//! (`hpvm-mpi`) through the one process-wide `runtime`. Errors go through `raise`, which finds
//! and runs the error handler.
//!
//! This crate may read the environment, print and end the process; those below may not.

pub mod args;
mod audit;
pub mod body;
mod deaths;
mod dynamic;
mod extra;
mod fast;
pub mod generated;
mod long_wait;
mod models;
pub mod object;
mod onesided;
mod pending;
pub mod raise;
mod region;
pub mod runtime;
mod say;
mod staged;
pub mod wait;

use core::ffi::c_int;
use hpvm_mpi::{Class, Error};

/// What a function of the ABI does that this version does not offer.
pub fn unsupported(name: &'static str) -> c_int {
    let text = format!("{name} is not available in this version of hpvm");
    let error = Error::new(Class::UnsupportedOperation, text);
    // Errors on files go to a handler of their own, which returns unless the program says else.
    match name.starts_with("MPI_File_") {
        true => body::errh::raise_file(name, generated::constants::MPI_FILE_NULL, error),
        false => raise::raise_global(name, error),
    }
}
