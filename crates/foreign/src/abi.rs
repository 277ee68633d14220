//! What an ABI has to say about itself.

use crate::Numbers;
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::*;

/// What a status holds, in numbers of the ABI it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
    pub bytes: u64,
    pub cancelled: bool,
}

/// An ABI of MPI other than the standard one.
///
/// For each handle type `X` there are `x_in` (to the standard handle) and `x_out` (back), and
/// `x_toint`/`x_fromint` (the handle's Fortran integer). A handle that `x_in` does not know becomes
/// one that the engine refuses, not another one; dynamic handles of the engine are below 2^30 with
/// a low nibble that is not 0, requests may also use all 64 bits. `x_out` gets handles of the
/// engine only.
pub trait Abi: Numbers + Sized + 'static {
    type Comm: Copy;
    type Group: Copy;
    type Datatype: Copy;
    type Op: Copy;
    type Request: Copy;
    type Message: Copy;
    type Errhandler: Copy;
    type Info: Copy;
    type Win: Copy;
    type File: Copy;
    type Session: Copy;
    /// `MPI_Status`.
    type Status: Copy;

    /// How the text of `MPI_Get_library_version` begins: programs (mpi4py, Netgen, MPI.jl) tell by it
    /// which ABI they have before them. Its version is that of the latest library whose symbols are
    /// all there.
    const FAMILY: &str;

    fn comm_in(handle: Self::Comm) -> MPI_Comm;
    fn comm_out(handle: MPI_Comm) -> Self::Comm;
    fn comm_toint(handle: Self::Comm) -> c_int;
    fn comm_fromint(number: c_int) -> Self::Comm;

    fn group_in(handle: Self::Group) -> MPI_Group;
    fn group_out(handle: MPI_Group) -> Self::Group;
    fn group_toint(handle: Self::Group) -> c_int;
    fn group_fromint(number: c_int) -> Self::Group;

    fn datatype_in(handle: Self::Datatype) -> MPI_Datatype;
    fn datatype_out(handle: MPI_Datatype) -> Self::Datatype;
    fn datatype_toint(handle: Self::Datatype) -> c_int;
    fn datatype_fromint(number: c_int) -> Self::Datatype;

    fn op_in(handle: Self::Op) -> MPI_Op;
    fn op_out(handle: MPI_Op) -> Self::Op;
    fn op_toint(handle: Self::Op) -> c_int;
    fn op_fromint(number: c_int) -> Self::Op;

    fn request_in(handle: Self::Request) -> MPI_Request;
    fn request_out(handle: MPI_Request) -> Self::Request;
    fn request_toint(handle: Self::Request) -> c_int;
    fn request_fromint(number: c_int) -> Self::Request;

    fn message_in(handle: Self::Message) -> MPI_Message;
    fn message_out(handle: MPI_Message) -> Self::Message;
    fn message_toint(handle: Self::Message) -> c_int;
    fn message_fromint(number: c_int) -> Self::Message;

    fn errhandler_in(handle: Self::Errhandler) -> MPI_Errhandler;
    fn errhandler_out(handle: MPI_Errhandler) -> Self::Errhandler;
    fn errhandler_toint(handle: Self::Errhandler) -> c_int;
    fn errhandler_fromint(number: c_int) -> Self::Errhandler;

    fn info_in(handle: Self::Info) -> MPI_Info;
    fn info_out(handle: MPI_Info) -> Self::Info;
    fn info_toint(handle: Self::Info) -> c_int;
    fn info_fromint(number: c_int) -> Self::Info;

    fn win_in(handle: Self::Win) -> MPI_Win;
    fn win_out(handle: MPI_Win) -> Self::Win;
    fn win_toint(handle: Self::Win) -> c_int;
    fn win_fromint(number: c_int) -> Self::Win;

    fn file_in(handle: Self::File) -> MPI_File;
    fn file_out(handle: MPI_File) -> Self::File;
    fn file_toint(handle: Self::File) -> c_int;
    fn file_fromint(number: c_int) -> Self::File;

    fn session_in(handle: Self::Session) -> MPI_Session;
    fn session_out(handle: MPI_Session) -> Self::Session;
    fn session_toint(handle: Self::Session) -> c_int;
    fn session_fromint(number: c_int) -> Self::Session;

    /// What a status of the program holds.
    fn load(status: &Self::Status) -> Outcome;

    /// Writes a status of the program, all but its error.
    ///
    /// # Safety
    /// `status` may be written; it need not be initialised.
    unsafe fn store(status: *mut Self::Status, outcome: &Outcome);

    /// Writes the error of a status of the program.
    ///
    /// # Safety
    /// As `store`.
    unsafe fn store_error(status: *mut Self::Status, error: c_int);

    /// `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY`, other pointers unchanged.
    fn weights_in(weights: *const c_int) -> *const c_int;

    /// What a copy function of a program is: the predefined ones become those of the standard ABI
    /// (null: the null function, 1: the one that duplicates).
    fn copy_function(function: *const c_void) -> *const c_void {
        function
    }

    /// The same for delete functions; the predefined null function becomes null.
    fn delete_function(function: *const c_void) -> *const c_void {
        function
    }
}
