//! Access at the shared file pointer (section 14.4.4).

use super::access::Access;
use super::transfer::{Direction, Memory};
use super::{with_request, with_status};
use crate::generated::constants::*;
use crate::object::file::FileObject;
use core::ffi::{c_int, c_void};
use hpvm_mpi::error::Result;

/// The next access of any rank: the pointer is moved first, so that no two ranks get the same place.
fn next(file: &FileObject, direction: Direction, memory: Result<Memory>) -> Result<Access<'_>> {
    let memory = memory?;
    // Checked before the pointer moves.
    let etypes = Access::new(file, direction, 0, memory.clone())?.etypes();
    Access::new(file, direction, file.shared.advance(etypes)?, memory)
}

/// # Safety
/// The memory is valid for the direction.
unsafe fn alone(file: &FileObject, direction: Direction, memory: Result<Memory>) -> Result<u64> {
    let access = next(file, direction, memory)?;
    // SAFETY: the caller's promise.
    unsafe { access.run(direction) }
}

pub unsafe fn file_read_shared(
    fh: MPI_File,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_read_shared", fh, status, |file| {
            alone(file, Direction::Read, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_iread_shared(
    fh: MPI_File,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_request("MPI_File_iread_shared", fh, request, Direction::Read, |file| {
            next(file, Direction::Read, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_write_shared(
    fh: MPI_File,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_write_shared", fh, status, |file| {
            alone(file, Direction::Write, Memory::outgoing(buf, count, datatype))
        })
    }
}

pub unsafe fn file_iwrite_shared(
    fh: MPI_File,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_request("MPI_File_iwrite_shared", fh, request, Direction::Write, |file| {
            next(file, Direction::Write, Memory::outgoing(buf, count, datatype))
        })
    }
}
