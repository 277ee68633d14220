//! Error handlers (MPI 5.0, section 9.3). They may be made before `MPI_Init`.

use super::table::{Kind, Table};
use super::{bad_handle, too_many};
use crate::generated::constants::*;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::sync::{Mutex, PoisonError};

/// What happens when a call on an object fails.
#[derive(Clone, Copy, Debug, Default)]
pub enum Handler {
    /// `MPI_ERRORS_ARE_FATAL`: ends the job.
    #[default]
    Fatal,
    /// `MPI_ERRORS_ABORT`: ends the processes of the communicator; here, the job.
    Abort,
    /// `MPI_ERRORS_RETURN`: the call returns the error code.
    Return,
    Comm(MPI_Comm_errhandler_function),
    Session(MPI_Session_errhandler_function),
    Window(MPI_Win_errhandler_function),
    File(MPI_File_errhandler_function),
}

static HANDLERS: Mutex<Table<Handler>> = Mutex::new(Table::new(Kind::Errhandler));

/// The handler of a handle.
pub fn find(handle: MPI_Errhandler) -> Result<Handler> {
    match handle {
        MPI_ERRORS_ARE_FATAL => Ok(Handler::Fatal),
        MPI_ERRORS_ABORT => Ok(Handler::Abort),
        MPI_ERRORS_RETURN => Ok(Handler::Return),
        other => {
            let handlers = HANDLERS.lock().unwrap_or_else(PoisonError::into_inner);
            handlers.get(other.0).copied().ok_or_else(|| {
                bad_handle(Class::Errhandler, "errhandler", handle == MPI_ERRHANDLER_NULL, handle.0)
            })
        }
    }
}

/// A handle for `handler`: `MPI_Comm_get_errhandler` and its kin return a new reference, which the
/// program frees.
pub fn add(handler: Handler) -> Result<MPI_Errhandler> {
    match handler {
        Handler::Fatal => Ok(MPI_ERRORS_ARE_FATAL),
        Handler::Abort => Ok(MPI_ERRORS_ABORT),
        Handler::Return => Ok(MPI_ERRORS_RETURN),
        other => {
            let mut handlers = HANDLERS.lock().unwrap_or_else(PoisonError::into_inner);
            let handle = handlers.insert(other).ok_or_else(|| too_many("error handlers"))?;
            Ok(MPI_Errhandler(handle))
        }
    }
}

/// Frees a handle; the predefined ones stay.
pub fn remove(handle: MPI_Errhandler) -> Result<()> {
    match handle {
        MPI_ERRORS_ARE_FATAL | MPI_ERRORS_ABORT | MPI_ERRORS_RETURN => Ok(()),
        other => {
            let mut handlers = HANDLERS.lock().unwrap_or_else(PoisonError::into_inner);
            handlers.remove(other.0).map(drop).ok_or_else(|| {
                Error::new(Class::Errhandler, "expected a live error handler handle")
            })
        }
    }
}
