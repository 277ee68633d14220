//! Collective access at the shared file pointer, in the order of ranks (section 14.4.4).

use super::access::Access;
use super::transfer::{Direction, Memory};
use super::{begin_split, end_split, with_status};
use crate::body::agree;
use crate::generated::constants::*;
use crate::object::file::FileObject;
use core::ffi::{c_int, c_void};
use hpvm_mpi::error::Result;

/// Each rank accesses what follows on the data of the ranks before it.
///
/// # Safety
/// The memory is valid for the direction.
unsafe fn in_order(file: &FileObject, direction: Direction, memory: Result<Memory>) -> Result<u64> {
    // Only rank 0 looks at the pointer; nobody moves it meanwhile.
    let checked = memory.and_then(|memory| {
        let etypes = Access::new(file, direction, 0, memory.clone())?.etypes();
        let now = if file.rank() == 0 { file.shared.get()? } else { 0 };
        Ok((etypes, now, memory))
    });
    // An error of one rank is one of all: the others would wait for it.
    let words = checked.as_ref().map_or([0; 2], |(etypes, now, _)| [*etypes, *now]);
    let ((_, _, memory), all) = agree::together_with(file, checked, words)?;
    let start = all[0][1];
    let before: u64 = all[..file.rank()].iter().map(|[n, _]| n).sum();
    let total: u64 = all.iter().map(|[n, _]| n).sum();
    let access = Access::new(file, direction, start + before, memory);
    let moved = match file.stripes.is_some() {
        // All ranks take part in the access.
        // SAFETY: the caller's promise.
        true => unsafe { Access::run_together(file, access, direction) },
        false => access.and_then(|access| {
            // SAFETY: the caller's promise.
            unsafe { access.run(direction) }
        }),
    };
    let set = if file.rank() == 0 { file.shared.set(start + total) } else { Ok(()) };
    // Nobody uses the pointer again before it has been moved.
    agree::together(file, set)?;
    moved
}

pub unsafe fn file_read_ordered(
    fh: MPI_File,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_read_ordered", fh, status, |file| {
            in_order(file, Direction::Read, Memory::incoming(buf, count, datatype))
        })
    }
}

pub unsafe fn file_read_ordered_begin(
    fh: MPI_File,
    buf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> c_int {
    const END: &str = "MPI_File_read_ordered_end";
    begin_split("MPI_File_read_ordered_begin", END, fh, buf as usize, |file| {
        // SAFETY: the caller's promises.
        unsafe { in_order(file, Direction::Read, Memory::incoming(buf, count, datatype)) }
    })
}

pub unsafe fn file_read_ordered_end(
    fh: MPI_File,
    buf: *mut c_void,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { end_split("MPI_File_read_ordered_end", fh, buf as usize, status) }
}

pub unsafe fn file_write_ordered(
    fh: MPI_File,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        with_status("MPI_File_write_ordered", fh, status, |file| {
            in_order(file, Direction::Write, Memory::outgoing(buf, count, datatype))
        })
    }
}

pub unsafe fn file_write_ordered_begin(
    fh: MPI_File,
    buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> c_int {
    const END: &str = "MPI_File_write_ordered_end";
    begin_split("MPI_File_write_ordered_begin", END, fh, buf as usize, |file| {
        // SAFETY: the caller's promises.
        unsafe { in_order(file, Direction::Write, Memory::outgoing(buf, count, datatype)) }
    })
}

pub unsafe fn file_write_ordered_end(
    fh: MPI_File,
    buf: *const c_void,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { end_split("MPI_File_write_ordered_end", fh, buf as usize, status) }
}
