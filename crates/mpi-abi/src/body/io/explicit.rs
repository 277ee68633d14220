//! Access at explicit offsets (section 14.4.2).

use super::access::{Access, check_not_sequential};
use super::transfer::{Direction, Memory};
use super::{begin_split, end_split, not_negative, with_request, with_status};
use crate::generated::constants::*;
use crate::object::file::FileObject;
use core::ffi::{c_int, c_void};
use hpvm_mpi::error::Result;

/// The access at `offset`.
fn at(
    file: &FileObject,
    direction: Direction,
    offset: MPI_Offset,
    memory: Result<Memory>,
) -> Result<Access<'_>> {
    check_not_sequential(file)?;
    Access::new(file, direction, not_negative("offset", offset)?, memory?)
}

/// One access of this rank alone.
///
/// # Safety
/// The memory is valid for the direction.
unsafe fn alone(
    file: &FileObject,
    direction: Direction,
    offset: MPI_Offset,
    memory: Result<Memory>,
) -> Result<u64> {
    let access = at(file, direction, offset, memory)?;
    // SAFETY: the caller's promise.
    unsafe { access.run(direction) }
}

/// One access of all ranks of the file.
///
/// # Safety
/// The memory is valid for the direction.
unsafe fn together(
    file: &FileObject,
    direction: Direction,
    offset: MPI_Offset,
    memory: Result<Memory>,
) -> Result<u64> {
    let access = at(file, direction, offset, memory);
    // SAFETY: the caller's promise.
    unsafe { Access::run_together(file, access, direction) }
}

pub unsafe fn file_read_at(
    fh: MPI_File,
    offset: MPI_Offset,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_read_at", fh, status, |file| {
            alone(file, Direction::Read, offset, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_iread_at(
    fh: MPI_File,
    offset: MPI_Offset,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_request("MPI_File_iread_at", fh, request, Direction::Read, |file| {
            at(file, Direction::Read, offset, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_read_at_all(
    fh: MPI_File,
    offset: MPI_Offset,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_read_at_all", fh, status, |file| {
            together(file, Direction::Read, offset, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_iread_at_all(
    fh: MPI_File,
    offset: MPI_Offset,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_request("MPI_File_iread_at_all", fh, request, Direction::Read, |file| {
            at(file, Direction::Read, offset, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_read_at_all_begin(
    fh: MPI_File,
    offset: MPI_Offset,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> c_int {
    const END: &str = "MPI_File_read_at_all_end";
    begin_split("MPI_File_read_at_all_begin", END, fh, buf as usize, |file| {
        // SAFETY: the caller's promises.
        unsafe { together(file, Direction::Read, offset, Memory::incoming(buf, count, datatype)) }
    })
}

pub unsafe fn file_read_at_all_end(
    fh: MPI_File,
    buf: *mut c_void,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { end_split("MPI_File_read_at_all_end", fh, buf as usize, status) }
}

pub unsafe fn file_write_at(
    fh: MPI_File,
    offset: MPI_Offset,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_write_at", fh, status, |file| {
            alone(file, Direction::Write, offset, Memory::outgoing(buf, count, datatype))
        })
    }
}

pub unsafe fn file_iwrite_at(
    fh: MPI_File,
    offset: MPI_Offset,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_request("MPI_File_iwrite_at", fh, request, Direction::Write, |file| {
            at(file, Direction::Write, offset, Memory::outgoing(buf, count, datatype))
        })
    }
}

pub unsafe fn file_write_at_all(
    fh: MPI_File,
    offset: MPI_Offset,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_write_at_all", fh, status, |file| {
            together(file, Direction::Write, offset, Memory::outgoing(buf, count, datatype))
        })
    }
}

pub unsafe fn file_iwrite_at_all(
    fh: MPI_File,
    offset: MPI_Offset,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_request("MPI_File_iwrite_at_all", fh, request, Direction::Write, |file| {
            at(file, Direction::Write, offset, Memory::outgoing(buf, count, datatype))
        })
    }
}

pub unsafe fn file_write_at_all_begin(
    fh: MPI_File,
    offset: MPI_Offset,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> c_int {
    const END: &str = "MPI_File_write_at_all_end";
    begin_split("MPI_File_write_at_all_begin", END, fh, buf as usize, |file| {
        // SAFETY: the caller's promises.
        unsafe { together(file, Direction::Write, offset, Memory::outgoing(buf, count, datatype)) }
    })
}

pub unsafe fn file_write_at_all_end(
    fh: MPI_File,
    buf: *const c_void,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { end_split("MPI_File_write_at_all_end", fh, buf as usize, status) }
}
