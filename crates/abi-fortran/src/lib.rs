//! `libmpi_abi_fortran.so.1`: what Fortran programs call that are compiled with our own `mpif.h` or
//! module `mpi`. Their integers are the numbers of the standard ABI, so parts of a program in C,
//! compiled with our `mpi.h`, understand them.
//!
//! The procedures are those of the crate hpvm-fortran, for an ABI that is the standard one: every
//! translation between C and C does nothing here.

mod generated;
mod operator;
mod sizeof;

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::*;
use hpvm_foreign::{Abi, Outcome, entries};
use hpvm_fortran::{Fortran, Sentinels, one};

/// The standard ABI.
pub struct Standard;

macro_rules! handles {
    ($($class:ident $standard:ident $in:ident $out:ident $toint:ident $fromint:ident
       $to_entry:ident $from_entry:ident;)*) => {$(
        type $class = $standard;

        #[inline(always)]
        fn $in(handle: $standard) -> $standard {
            handle
        }

        #[inline(always)]
        fn $out(handle: $standard) -> $standard {
            handle
        }

        fn $toint(handle: $standard) -> c_int {
            // SAFETY: takes any handle.
            unsafe { (entries().standard.$to_entry)(handle) }
        }

        fn $fromint(number: c_int) -> $standard {
            // SAFETY: takes any number.
            unsafe { (entries().standard.$from_entry)(number) }
        }
    )*};
}

impl Abi for Standard {
    handles! {
        Comm MPI_Comm comm_in comm_out comm_toint comm_fromint MPI_Comm_toint MPI_Comm_fromint;
        Group MPI_Group group_in group_out group_toint group_fromint
            MPI_Group_toint MPI_Group_fromint;
        Datatype MPI_Datatype datatype_in datatype_out datatype_toint datatype_fromint
            MPI_Type_toint MPI_Type_fromint;
        Op MPI_Op op_in op_out op_toint op_fromint MPI_Op_toint MPI_Op_fromint;
        Request MPI_Request request_in request_out request_toint request_fromint
            MPI_Request_toint MPI_Request_fromint;
        Message MPI_Message message_in message_out message_toint message_fromint
            MPI_Message_toint MPI_Message_fromint;
        Errhandler MPI_Errhandler errhandler_in errhandler_out errhandler_toint errhandler_fromint
            MPI_Errhandler_toint MPI_Errhandler_fromint;
        Info MPI_Info info_in info_out info_toint info_fromint MPI_Info_toint MPI_Info_fromint;
        Win MPI_Win win_in win_out win_toint win_fromint MPI_Win_toint MPI_Win_fromint;
        File MPI_File file_in file_out file_toint file_fromint MPI_File_toint MPI_File_fromint;
        Session MPI_Session session_in session_out session_toint session_fromint
            MPI_Session_toint MPI_Session_fromint;
    }

    type Status = MPI_Status;

    const FAMILY: &str = "";

    #[inline(always)]
    fn load(status: &MPI_Status) -> Outcome {
        Outcome {
            source: status.MPI_SOURCE,
            tag: status.MPI_TAG,
            error: status.MPI_ERROR,
            bytes: status.bytes(),
            cancelled: status.cancelled(),
        }
    }

    #[inline(always)]
    unsafe fn store(status: *mut MPI_Status, outcome: &Outcome) {
        let mut own = MPI_Status::default();
        own.set_outcome(outcome.bytes, outcome.cancelled);
        // SAFETY: the caller's promise.
        unsafe {
            (&raw mut (*status).MPI_SOURCE).write(outcome.source);
            (&raw mut (*status).MPI_TAG).write(outcome.tag);
            (&raw mut (*status).MPI_internal).write(own.MPI_internal);
        }
    }

    #[inline(always)]
    unsafe fn store_error(status: *mut MPI_Status, error: c_int) {
        // SAFETY: the caller's promise.
        unsafe { (&raw mut (*status).MPI_ERROR).write(error) };
    }

    fn weights_in(weights: *const c_int) -> *const c_int {
        weights
    }
}

/// A common block; nobody reads or writes it. A program's own hides ours.
#[repr(transparent)]
pub struct Common<T>(UnsafeCell<T>);

// SAFETY: only the address is used.
unsafe impl<T> Sync for Common<T> {}

/// Integers in a status (`MPI_STATUS_SIZE`).
const STATUS: usize = 8;

/// `MPI_BOTTOM, MPI_IN_PLACE, MPI_ERRCODES_IGNORE(1), MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1),
/// MPI_STATUS_IGNORE(8), MPI_STATUSES_IGNORE(8,1)`: `include/mpif.h`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static hpvm_mpi_places_: Common<[c_int; 5 + 2 * STATUS]> =
    Common(UnsafeCell::new([0; 5 + 2 * STATUS]));

/// `MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1,1)`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static hpvm_mpi_texts_: Common<[u8; 2]> = Common(UnsafeCell::new([0; 2]));

/// `MPI_BUFFER_AUTOMATIC`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static hpvm_mpi_automatic_: Common<c_int> = Common(UnsafeCell::new(0));

impl Fortran for Standard {
    #[inline(always)]
    fn sentinels() -> Sentinels {
        let first = (&raw const hpvm_mpi_places_).cast::<c_int>();
        let place = |i: usize| one(first.wrapping_add(i).cast::<c_void>());
        let texts = (&raw const hpvm_mpi_texts_).cast::<u8>();
        Sentinels {
            bottom: place(0),
            in_place: place(1),
            errcodes_ignore: place(2),
            unweighted: place(3),
            weights_empty: place(4),
            status_ignore: place(5),
            statuses_ignore: place(5 + STATUS),
            argv_null: one(texts.cast()),
            argvs_null: one(texts.wrapping_add(1).cast()),
            buffer_automatic: one((&raw const hpvm_mpi_automatic_).cast()),
        }
    }

    fn c_weights() -> (*const c_int, *const c_int) {
        (MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY)
    }
}

hpvm_fortran::entry_points!(Standard);
hpvm_fortran::descriptor_entry_points!(Standard);
hpvm_fortran::cdesc_entry_points!(Standard);
