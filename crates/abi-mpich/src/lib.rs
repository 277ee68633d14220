//! libmpi.so.12: MPICH's ABI over `libmpi_abi.so.1`.
//!
//! Handles are `int`s (files: pointers). Predefined ones have their top two bits set to 01 or 10,
//! null handles are multiples of 0x04000000; the engine's dynamic handles are neither and are
//! passed on unchanged. The entry points are generated from spec/.

mod convert;
mod cxx;
mod data;
mod extensions;
mod f08;
#[allow(non_upper_case_globals)]
mod fortran;
mod generated;
mod handles;
mod status;

use core::ffi::{c_int, c_void};
use hpvm_abi::constants as standard;
use hpvm_abi::extra::ERRORS_THROW;
use hpvm_abi::request::shorten;
use hpvm_foreign::{Abi, Numbers, Outcome};

pub use status::Status;

/// MPICH's ABI.
pub struct Mpich;

pub type Comm = c_int;
pub type Group = c_int;
pub type Datatype = c_int;
pub type Op = c_int;
pub type Request = c_int;
pub type Message = c_int;
pub type Errhandler = c_int;
pub type Info = c_int;
pub type Win = c_int;
/// `MPI_File` is a pointer in this ABI; ours points to nothing.
pub type File = *mut c_void;
pub type Session = c_int;

// Numbers that the translation leaves alone.
const _: () = assert!(<Mpich as Numbers>::MPI_UNDEFINED == standard::MPI_UNDEFINED);

/// The part of `Abi` of a kind of handle that is its own Fortran integer.
macro_rules! handle {
    ($type:ident $standard:ident $in:ident $out:ident $toint:ident $fromint:ident $table:ident) => {
        type $type = $type;

        #[inline(always)]
        fn $in(handle: $type) -> standard::$standard {
            standard::$standard(handles::$table::to_standard(handle))
        }

        #[inline(always)]
        fn $out(handle: standard::$standard) -> $type {
            handles::$table::to_foreign(handle.0)
        }

        fn $toint(handle: $type) -> c_int {
            handle
        }

        fn $fromint(number: c_int) -> $type {
            number
        }
    };
}

impl Abi for Mpich {
    handle!(Comm MPI_Comm comm_in comm_out comm_toint comm_fromint comm);
    handle!(Group MPI_Group group_in group_out group_toint group_fromint group);
    handle!(Datatype MPI_Datatype datatype_in datatype_out datatype_toint datatype_fromint
        datatype);
    handle!(Op MPI_Op op_in op_out op_toint op_fromint op);
    handle!(Message MPI_Message message_in message_out message_toint message_fromint message);
    handle!(Info MPI_Info info_in info_out info_toint info_fromint info);
    handle!(Win MPI_Win win_in win_out win_toint win_fromint win);
    handle!(Session MPI_Session session_in session_out session_toint session_fromint session);

    type Request = Request;

    #[inline(always)]
    fn request_in(handle: Request) -> standard::MPI_Request {
        // The engine widens short requests itself.
        standard::MPI_Request(handles::request::to_standard(handle))
    }

    #[inline(always)]
    fn request_out(handle: standard::MPI_Request) -> Request {
        match handle {
            standard::MPI_REQUEST_NULL => handles::request::to_foreign(handle.0),
            // More than four million at a time: a number that is no request, so that its use is
            // an error.
            other => shorten(other.0).map_or(-1, |short| short as c_int),
        }
    }

    fn request_toint(handle: Request) -> c_int {
        handle
    }

    fn request_fromint(number: c_int) -> Request {
        number
    }

    type Errhandler = Errhandler;

    fn errhandler_in(handle: Errhandler) -> standard::MPI_Errhandler {
        match handle {
            cxx::ERRORS_THROW => ERRORS_THROW,
            other => standard::MPI_Errhandler(handles::errhandler::to_standard(other)),
        }
    }

    fn errhandler_out(handle: standard::MPI_Errhandler) -> Errhandler {
        match handle {
            ERRORS_THROW => cxx::ERRORS_THROW,
            other => handles::errhandler::to_foreign(other.0),
        }
    }

    fn errhandler_toint(handle: Errhandler) -> c_int {
        handle
    }

    fn errhandler_fromint(number: c_int) -> Errhandler {
        number
    }

    type File = File;

    fn file_in(handle: File) -> standard::MPI_File {
        match handle.addr() {
            0 => standard::MPI_FILE_NULL,
            // Not to be taken for the standard's null handle.
            a if a == standard::MPI_FILE_NULL.0 => standard::MPI_File(0),
            other => standard::MPI_File(other),
        }
    }

    fn file_out(handle: standard::MPI_File) -> File {
        let address = if handle == standard::MPI_FILE_NULL { 0 } else { handle.0 };
        core::ptr::without_provenance_mut(address)
    }

    fn file_toint(handle: File) -> c_int {
        handle.addr() as c_int
    }

    fn file_fromint(number: c_int) -> File {
        core::ptr::without_provenance_mut(number as u32 as usize)
    }

    type Status = Status;

    const FAMILY: &str = "MPICH Version:      5.0.2\nMPICH's ABI, provided by ";

    #[inline(always)]
    fn load(status: &Status) -> Outcome {
        status.load()
    }

    #[inline(always)]
    unsafe fn store(status: *mut Status, outcome: &Outcome) {
        // SAFETY: the caller's promise.
        unsafe { Status::store(status, outcome) };
    }

    #[inline(always)]
    unsafe fn store_error(status: *mut Status, error: c_int) {
        // SAFETY: the caller's promise.
        unsafe { (&raw mut (*status).error).write(error) };
    }

    fn weights_in(weights: *const c_int) -> *const c_int {
        data::weights_in(weights)
    }
}
