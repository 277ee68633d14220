//! Handles to and from integers (chapter 20).
//!
//! Predefined handles are small numbers, and handles made at run time fit 30 bits, so both are
//! their own integers. Only requests of the engine do not fit; they have a short form.

use crate::generated::constants::*;
use crate::object::request::handle;
use crate::runtime::enter;
use core::ffi::c_int;
use hpvm_abi::request::shorten;

macro_rules! identical {
    ($(fn $to:ident, fn $from:ident, $handle:ident;)*) => {$(
        pub unsafe fn $to(object: $handle) -> c_int {
            // At most 30 bits, unless the program made the handle up.
            object.0 as c_int
        }

        pub unsafe fn $from(number: c_int) -> $handle {
            $handle(number as usize)
        }
    )*};
}

identical! {
    fn comm_toint, fn comm_fromint, MPI_Comm;
    fn errhandler_toint, fn errhandler_fromint, MPI_Errhandler;
    fn file_toint, fn file_fromint, MPI_File;
    fn group_toint, fn group_fromint, MPI_Group;
    fn info_toint, fn info_fromint, MPI_Info;
    fn message_toint, fn message_fromint, MPI_Message;
    fn op_toint, fn op_fromint, MPI_Op;
    fn session_toint, fn session_fromint, MPI_Session;
    fn type_toint, fn type_fromint, MPI_Datatype;
    fn win_toint, fn win_fromint, MPI_Win;
}

/// `MPI_UNDEFINED` when the request's index in the engine's table has too high a number.
pub unsafe fn request_toint(request: MPI_Request) -> c_int {
    shorten(request.0).map_or(MPI_UNDEFINED, |short| short as c_int)
}

/// A number that means no request becomes a handle that means none.
pub unsafe fn request_fromint(number: c_int) -> MPI_Request {
    let short = MPI_Request(number as u32 as usize);
    // The engine knows short forms, but programs compare handles.
    let live = enter().ok().and_then(|w| w.engine_request(short));
    live.map_or(short, handle)
}
