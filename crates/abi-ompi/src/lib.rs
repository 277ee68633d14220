//! `libmpi.so.40`: Open MPI's ABI over `libmpi_abi.so.1`.
//!
//! Handles are pointers: predefined ones to exported data symbols ([`object`]), all others numbers of
//! the engine. Everything else is data in `spec/abi/ompi.toml`, from which `generated` is made, and
//! the generic translation of the crate hpvm-foreign.

mod attribute;
mod convert;
mod extensions;
mod f08;
mod fortran;
mod generated;
mod object;
mod op;
mod own;
mod split;
mod status;

use core::ffi::c_int;
use hpvm_abi::constants::*;
use hpvm_foreign::{Abi, Outcome};

use generated::symbols::integers;
pub use status::Status;

/// Open MPI's ABI.
pub struct Ompi;

/// A handle of any kind.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

pub type Comm = Handle;
pub type Group = Handle;
pub type Datatype = Handle;
pub type Op = Handle;
pub type Request = Handle;
pub type Message = Handle;
pub type Errhandler = Handle;
pub type Info = Handle;
pub type Win = Handle;
pub type File = Handle;
pub type Session = Handle;

/// `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY`.
const UNWEIGHTED_HERE: usize = 2;
const WEIGHTS_EMPTY_HERE: usize = 3;

/// The integer that stands for a handle in Fortran.
#[cold]
fn integer_of(standard: usize, known: &[(c_int, usize)]) -> c_int {
    if standard >= object::PREDEFINED {
        return standard as c_int;
    }
    known.iter().find(|pair| pair.1 == standard).map_or(-1, |pair| pair.0)
}

/// The standard handle that an integer of Fortran stands for; 0: none.
#[cold]
fn of_integer(number: c_int, known: &[(c_int, usize)]) -> usize {
    match usize::try_from(number) {
        Ok(dynamic) if dynamic >= object::PREDEFINED => dynamic,
        _ => known.iter().find(|pair| pair.0 == number).map_or(0, |pair| pair.1),
    }
}

macro_rules! handles {
    ($($class:ident $standard:ident $in:ident $out:ident $toint:ident $fromint:ident $known:ident;)*) => {$(
        type $class = Handle;

        #[inline(always)]
        fn $in(handle: Handle) -> $standard {
            $standard(object::standard(handle.0))
        }

        #[inline(always)]
        fn $out(handle: $standard) -> Handle {
            Handle(object::foreign(handle.0))
        }

        fn $toint(handle: Handle) -> c_int {
            integer_of(object::standard(handle.0), integers::$known)
        }

        fn $fromint(number: c_int) -> Handle {
            Handle(object::foreign(of_integer(number, integers::$known)))
        }
    )*};
}

impl Abi for Ompi {
    handles! {
        Comm MPI_Comm comm_in comm_out comm_toint comm_fromint COMM;
        Group MPI_Group group_in group_out group_toint group_fromint GROUP;
        Datatype MPI_Datatype datatype_in datatype_out datatype_toint datatype_fromint DATATYPE;
        Op MPI_Op op_in op_out op_toint op_fromint OP;
        Message MPI_Message message_in message_out message_toint message_fromint MESSAGE;
        Errhandler MPI_Errhandler errhandler_in errhandler_out errhandler_toint errhandler_fromint
            ERRHANDLER;
        Info MPI_Info info_in info_out info_toint info_fromint INFO;
        Win MPI_Win win_in win_out win_toint win_fromint WIN;
        File MPI_File file_in file_out file_toint file_fromint FILE;
        Session MPI_Session session_in session_out session_toint session_fromint SESSION;
    }

    type Request = Handle;

    /// Requests of the engine may have any bits; the only predefined one is the null request.
    #[inline(always)]
    fn request_in(handle: Handle) -> MPI_Request {
        match handle.0 {
            null if null == object::address(MPI_REQUEST_NULL.0) => MPI_REQUEST_NULL,
            // The standard's number for it is none here.
            number if number == MPI_REQUEST_NULL.0 => MPI_Request(0),
            other => MPI_Request(other),
        }
    }

    #[inline(always)]
    fn request_out(handle: MPI_Request) -> Handle {
        match handle {
            MPI_REQUEST_NULL => Handle(object::address(handle.0)),
            other => Handle(other.0),
        }
    }

    fn request_toint(handle: Handle) -> c_int {
        match Ompi::request_in(handle) {
            MPI_REQUEST_NULL => integer_of(MPI_REQUEST_NULL.0, integers::REQUEST),
            other => hpvm_abi::request::shorten(other.0).map_or(-1, |short| short as c_int),
        }
    }

    fn request_fromint(number: c_int) -> Handle {
        let known = integers::REQUEST.iter().any(|pair| pair.0 == number);
        Ompi::request_out(MPI_Request(match known {
            true => of_integer(number, integers::REQUEST),
            false => number as u32 as usize,
        }))
    }

    type Status = Status;

    const FAMILY: &str = "Open MPI v5.0.11, package: its ABI, provided by ";

    #[inline(always)]
    fn load(status: &Status) -> Outcome {
        status.outcome()
    }

    #[inline(always)]
    unsafe fn store(status: *mut Status, outcome: &Outcome) {
        // SAFETY: the caller's promise.
        unsafe { Status::store(status, outcome) }
    }

    #[inline(always)]
    unsafe fn store_error(status: *mut Status, error: c_int) {
        // SAFETY: the caller's promise.
        unsafe { (*status).MPI_ERROR = error }
    }

    fn weights_in(weights: *const c_int) -> *const c_int {
        match weights.addr() {
            UNWEIGHTED_HERE => MPI_UNWEIGHTED,
            WEIGHTS_EMPTY_HERE => MPI_WEIGHTS_EMPTY,
            _ => weights,
        }
    }
}
