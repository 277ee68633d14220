//! Access at the individual file pointer (section 14.4.3).

use super::access::{Access, check_not_sequential};
use super::transfer::{Direction, Memory};
use super::{begin_split, end_split, with_request, with_status};
use crate::generated::constants::*;
use crate::object::file::FileObject;
use core::ffi::{c_int, c_void};
use hpvm_mpi::error::Result;

/// The next access, which moves the pointer by all that is asked for, wherever the file ends. The pointer
/// is moved before the data, so that two threads do not access the same.
fn next(file: &FileObject, direction: Direction, memory: Result<Memory>) -> Result<Access<'_>> {
    check_not_sequential(file)?;
    let mut access = Access::new(file, direction, 0, memory?)?;
    let mut state = file.state();
    access.seek(state.position)?;
    state.position += access.etypes();
    Ok(access)
}

/// # Safety
/// The memory is valid for the direction.
unsafe fn alone(file: &FileObject, direction: Direction, memory: Result<Memory>) -> Result<u64> {
    let access = next(file, direction, memory)?;
    // SAFETY: the caller's promise.
    unsafe { access.run(direction) }
}

/// # Safety
/// The memory is valid for the direction.
unsafe fn together(file: &FileObject, direction: Direction, memory: Result<Memory>) -> Result<u64> {
    let access = next(file, direction, memory);
    // SAFETY: the caller's promise.
    unsafe { Access::run_together(file, access, direction) }
}

pub unsafe fn file_read(
    fh: MPI_File,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_read", fh, status, |file| {
            alone(file, Direction::Read, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_iread(
    fh: MPI_File,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_request("MPI_File_iread", fh, request, Direction::Read, |file| {
            next(file, Direction::Read, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_read_all(
    fh: MPI_File,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_read_all", fh, status, |file| {
            together(file, Direction::Read, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_iread_all(
    fh: MPI_File,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_request("MPI_File_iread_all", fh, request, Direction::Read, |file| {
            next(file, Direction::Read, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_read_all_begin(
    fh: MPI_File,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> c_int {
    const END: &str = "MPI_File_read_all_end";
    begin_split("MPI_File_read_all_begin", END, fh, buf as usize, |file| {
        // SAFETY: the caller's promises.
        unsafe { together(file, Direction::Read, Memory::incoming(buf, count, datatype)) }
    })
}

pub unsafe fn file_read_all_end(fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { end_split("MPI_File_read_all_end", fh, buf as usize, status) }
}

pub unsafe fn file_write(
    fh: MPI_File,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_write", fh, status, |file| {
            alone(file, Direction::Write, Memory::outgoing(buf, count, datatype))
        })
    }
}

pub unsafe fn file_iwrite(
    fh: MPI_File,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_request("MPI_File_iwrite", fh, request, Direction::Write, |file| {
            next(file, Direction::Write, Memory::outgoing(buf, count, datatype))
        })
    }
}

pub unsafe fn file_write_all(
    fh: MPI_File,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_write_all", fh, status, |file| {
            together(file, Direction::Write, Memory::outgoing(buf, count, datatype))
        })
    }
}

pub unsafe fn file_iwrite_all(
    fh: MPI_File,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_request("MPI_File_iwrite_all", fh, request, Direction::Write, |file| {
            next(file, Direction::Write, Memory::outgoing(buf, count, datatype))
        })
    }
}

pub unsafe fn file_write_all_begin(
    fh: MPI_File,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> c_int {
    const END: &str = "MPI_File_write_all_end";
    begin_split("MPI_File_write_all_begin", END, fh, buf as usize, |file| {
        // SAFETY: the caller's promises.
        unsafe { together(file, Direction::Write, Memory::outgoing(buf, count, datatype)) }
    })
}

pub unsafe fn file_write_all_end(
    fh: MPI_File,
    buf: *const c_void,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { end_split("MPI_File_write_all_end", fh, buf as usize, status) }
}
