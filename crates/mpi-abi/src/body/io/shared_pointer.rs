//! The shared file pointer of a file: memory that all ranks map where they are on one host, else a window in which
//! rank 0 exposes one number.

use crate::body::agree::{self, done};
use crate::body::{errh, rma};
use crate::generated::constants::*;
use core::ffi::c_void;
use hpvm_mpi::error::Result;

/// In etypes.
#[derive(Debug)]
pub enum SharedPointer {
    Memory(hpvm_io::SharedPointer),
    /// The number lies at displacement 0 of rank 0. All ranks have locked the window from its creation to its end.
    Window(MPI_Win),
}

impl SharedPointer {
    /// One for ranks of several hosts. All ranks of the communicator call it; its value is undefined.
    /// Fails on all of them or on none.
    pub fn between_hosts(comm: MPI_Comm, rank: usize, size: usize) -> Result<SharedPointer> {
        let bytes = if rank == 0 { size_of::<u64>() as MPI_Aint } else { 0 };
        let mut base: *mut c_void = core::ptr::null_mut();
        let mut win = MPI_WIN_NULL;
        // SAFETY: both places can be written; the window is new, and nobody else has it.
        unsafe {
            let address = (&raw mut base).cast();
            done(rma::win_allocate(bytes, 1, MPI_INFO_NULL, comm, address, &mut win))?;
        }
        let pointer = SharedPointer::Window(win);
        // SAFETY: as above.
        let locked = unsafe {
            done(errh::win_set_errhandler(win, MPI_ERRORS_RETURN))
                .and_then(|()| done(rma::win_lock_all(MPI_MODE_NOCHECK, win)))
        };
        let well = locked.is_ok();
        match agree::together_on(comm, size, locked) {
            Ok(()) => Ok(pointer),
            Err(error) => {
                // SAFETY: as in `free`. The first error counts.
                let _ = unsafe { end(win, well) };
                Err(error)
            }
        }
    }

    pub fn get(&self) -> Result<u64> {
        match self {
            SharedPointer::Memory(pointer) => Ok(pointer.get()),
            SharedPointer::Window(win) => update(*win, 0, MPI_NO_OP),
        }
    }

    pub fn set(&self, etypes: u64) -> Result<()> {
        match self {
            SharedPointer::Memory(pointer) => {
                pointer.set(etypes);
                Ok(())
            }
            SharedPointer::Window(win) => update(*win, etypes, MPI_REPLACE).map(drop),
        }
    }

    /// Moves it on; says where it was.
    pub fn advance(&self, etypes: u64) -> Result<u64> {
        match self {
            SharedPointer::Memory(pointer) => Ok(pointer.advance(etypes)),
            SharedPointer::Window(win) => update(*win, etypes, MPI_SUM),
        }
    }

    /// All ranks call it when nobody uses the pointer any more.
    pub fn free(&self) -> Result<()> {
        let SharedPointer::Window(win) = *self else { return Ok(()) };
        // SAFETY: the file's own window, which nobody uses any more.
        unsafe { end(win, true) }
    }
}

/// Frees a window, which is `locked` or not. All ranks call it.
///
/// # Safety
/// Nobody uses the window any more.
unsafe fn end(mut win: MPI_Win, locked: bool) -> Result<()> {
    // SAFETY: the caller's promise.
    let unlocked = if locked { done(unsafe { rma::win_unlock_all(win) }) } else { Ok(()) };
    // SAFETY: as above. The others free it in any case.
    unlocked.and(done(unsafe { rma::win_free(&mut win) }))
}

/// An atomic operation on the number at rank 0; says what was there.
fn update(win: MPI_Win, value: u64, op: MPI_Op) -> Result<u64> {
    let (value, mut before) = (value, 0u64);
    // SAFETY: both numbers are of the datatype, and live until the flush has completed the operation.
    unsafe {
        let (from, into) = ((&raw const value).cast(), (&raw mut before).cast());
        done(rma::fetch_and_op(from, into, MPI_UINT64_T, 0, 0, op, win))?;
        done(rma::win_flush(0, win))?;
    }
    Ok(before)
}
