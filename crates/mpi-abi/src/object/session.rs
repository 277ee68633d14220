//! What a session handle refers to (MPI 5.0, section 11.3).

use super::errhandler::Handler;
use super::info::Info;
use super::{Objects, bad_handle, too_many};
use crate::body::buffer::Attached;
use crate::generated::constants::{MPI_SESSION_NULL, MPI_Session};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;

/// A session: a use of the engine with an error handler of its own.
#[derive(Debug, Default)]
pub struct SessionObject {
    pub handler: Handler,
    /// What `MPI_Session_get_info` shows.
    pub info: Info,
    /// Buffer of `MPI_Session_attach_buffer`.
    pub buffer: Attached,
}

impl Objects {
    /// The session of a handle.
    pub fn session(&self, handle: MPI_Session) -> Result<&SessionObject> {
        let found = self.sessions.get(handle.0);
        found.ok_or_else(|| {
            bad_handle(Class::Session, "session", handle == MPI_SESSION_NULL, handle.0)
        })
    }

    /// The session of a handle, to be changed.
    pub fn session_mut(&mut self, handle: MPI_Session) -> Result<&mut SessionObject> {
        let found = self.sessions.get_mut(handle.0);
        found.ok_or_else(|| {
            bad_handle(Class::Session, "session", handle == MPI_SESSION_NULL, handle.0)
        })
    }

    /// Keeps a session and returns its handle.
    pub fn add_session(&mut self, session: SessionObject) -> Result<MPI_Session> {
        self.sessions.insert(session).map(MPI_Session).ok_or_else(|| too_many("sessions"))
    }
}
