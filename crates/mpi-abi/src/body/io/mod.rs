//! Files (chapter 14). What a file is lies in `hpvm-io`; here are handles, checks, and what ranks say to
//! each other about a file.
//!
//! No call holds the engine while it waits for the file system, so that other threads go on.

mod access;
mod background;
mod collective;
mod common;
mod datarep;
mod explicit;
mod individual;
mod open;
mod ordered;
mod pointer;
mod properties;
mod shared;
mod shared_pointer;
mod striped;
mod transfer;
mod view;

pub use background::{Ended, poll};
pub use datarep::{register_datarep, register_datarep_c};
pub use explicit::*;
pub use individual::*;
pub use open::{file_close, file_delete, file_open};
pub use ordered::*;
pub use pointer::*;
pub use properties::*;
pub use shared::*;
pub use shared_pointer::SharedPointer;
pub use striped::{Owner, Striped, take as take_requests};
pub use view::*;

use self::access::Access;
use self::transfer::Direction;
use crate::body::check::wrong;
use crate::body::errh::raise_file;
use crate::generated::constants::*;
use crate::object::file::{FileObject, Split};
use crate::runtime::enter;
use core::ffi::c_int;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Status};
use std::sync::Arc;

/// Ends the threads that move data: first what this process has begun, then what it does for others.
pub fn end_background() {
    background::end();
    striped::end_owner();
}

/// Runs the body of a call on a file, without the engine, and hands errors to the file's handler.
fn on_file(
    function: &'static str,
    handle: MPI_File,
    body: impl FnOnce(&Arc<FileObject>) -> Result<()>,
) -> c_int {
    let file = enter().and_then(|w| w.objects.file(handle).cloned());
    match file.and_then(|file| body(&file)) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_file(function, handle, error),
    }
}

/// As `on_file`, for calls that have a status to store.
///
/// # Safety
/// `status` is null or may be written.
unsafe fn with_status(
    function: &'static str,
    handle: MPI_File,
    status: *mut MPI_Status,
    body: impl FnOnce(&Arc<FileObject>) -> Result<u64>,
) -> c_int {
    on_file(function, handle, |file| {
        let bytes = body(file)?;
        // SAFETY: the caller's promise.
        unsafe { crate::body::pt2pt::store(status, &moved(bytes)) };
        Ok(())
    })
}

/// The status of a call that has moved `bytes` bytes of the program's data.
fn moved(bytes: u64) -> Status {
    Status { bytes, ..Status::EMPTY }
}

/// As `on_file`, for calls that start an access, which `body` describes. What would take long goes on in the
/// background; the rest is done at once, and the request only tells how it ended.
///
/// # Safety
/// `request` may be written, and the memory of the access is valid for the direction until the request is complete.
unsafe fn with_request(
    function: &'static str,
    handle: MPI_File,
    request: *mut MPI_Request,
    direction: Direction,
    body: impl for<'a> FnOnce(&'a Arc<FileObject>) -> Result<Access<'a>>,
) -> c_int {
    on_file(function, handle, |file| {
        crate::body::check::out("request", request)?;
        let access = body(file)?;
        // SAFETY: the caller's promise.
        let id = match unsafe { background::done_at_once(&access, direction) } {
            Some(bytes) => enter()?.process.requests_mut().insert_done(moved(bytes?)),
            // SAFETY: the caller's promise.
            None => unsafe { background::start(access, direction)? },
        };
        // SAFETY: checked above.
        unsafe { *request = crate::object::request::handle(id) };
        Ok(())
    })
}

/// Begins a split collective call, which does everything at once and keeps its status for the end.
fn begin_split(
    function: &'static str,
    end: &'static str,
    handle: MPI_File,
    buffer: usize,
    body: impl FnOnce(&Arc<FileObject>) -> Result<u64>,
) -> c_int {
    on_file(function, handle, |file| {
        if let Some(split) = &file.state().split {
            let text =
                format!("a split collective call on this file waits for {} already", split.end);
            return Err(wrong(Class::Other, text));
        }
        let bytes = body(file)?;
        file.state().split = Some(Split { end, buffer, status: moved(bytes) });
        Ok(())
    })
}

/// Ends a split collective call.
///
/// # Safety
/// `status` is null or may be written.
unsafe fn end_split(
    end: &'static str,
    handle: MPI_File,
    buffer: usize,
    status: *mut MPI_Status,
) -> c_int {
    on_file(end, handle, |file| {
        let mut state = file.state();
        let Some(split) = state.split else {
            let text = format!("no call that {end} ends has begun on this file");
            return Err(wrong(Class::Other, text));
        };
        if split.end != end {
            let text = format!("the call that has begun on this file is ended by {}", split.end);
            return Err(wrong(Class::Other, text));
        }
        if split.buffer != buffer {
            let text =
                format!("the buffer is {buffer:#x}; the call began with {:#x}", split.buffer);
            return Err(wrong(Class::Buffer, text));
        }
        state.split = None;
        // SAFETY: the caller's promise.
        unsafe { crate::body::pt2pt::store(status, &split.status) };
        Ok(())
    })
}

/// A number of etypes or bytes that must not be negative.
fn not_negative(what: &str, value: MPI_Offset) -> Result<u64> {
    u64::try_from(value)
        .map_err(|_| wrong(Class::Arg, format!("{what} is {value}; expected 0 or more")))
}

/// `MPI_File_delete`, `MPI_Register_datarep` and their like: errors on no open file, which the default handler of files gets (14.7).
fn on_no_file(function: &'static str, body: impl FnOnce() -> Result<()>) -> c_int {
    match body() {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise_file(function, MPI_FILE_NULL, error),
    }
}
