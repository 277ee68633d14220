//! The use of the engine that a model is.

use crate::engine::{Name, done, mpi};
use core::ffi::{CStr, c_int};
use hpvm_abi::constants::{
    MPI_COMM_NULL, MPI_Comm, MPI_ERRORS_RETURN, MPI_GROUP_NULL, MPI_INFO_NULL, MPI_SESSION_NULL,
    MPI_Session,
};

/// The thread levels 0 to 3 as a session wants them.
const LEVELS: [&CStr; 4] = [
    c"MPI_THREAD_SINGLE",
    c"MPI_THREAD_FUNNELED",
    c"MPI_THREAD_SERIALIZED",
    c"MPI_THREAD_MULTIPLE",
];

/// Starts a session with thread level `level`, and makes a communicator of all ranks, for which `tag` keeps models apart.
/// Collective.
pub fn session(name: Name, level: c_int, tag: &CStr) -> (MPI_Session, MPI_Comm) {
    let mpi = mpi();
    let (mut info, mut session) = (MPI_INFO_NULL, MPI_SESSION_NULL);
    let (mut group, mut comm) = (MPI_GROUP_NULL, MPI_COMM_NULL);
    let level = LEVELS[level as usize & 3].as_ptr();
    let set = c"mpi://WORLD".as_ptr();
    // SAFETY: C strings, objects of our own and places for others.
    unsafe {
        done(name, (mpi.MPI_Info_create)(&mut info));
        done(name, (mpi.MPI_Info_set)(info, c"thread_level".as_ptr(), level));
        done(name, (mpi.MPI_Session_init)(info, MPI_ERRORS_RETURN, &mut session));
        done(name, (mpi.MPI_Info_free)(&mut info));
        done(name, (mpi.MPI_Group_from_session_pset)(session, set, &mut group));
        let create = mpi.MPI_Comm_create_from_group;
        done(name, create(group, tag.as_ptr(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &mut comm));
        done(name, (mpi.MPI_Group_free)(&mut group));
    }
    (session, comm)
}
