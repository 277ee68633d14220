//! Error handlers, classes, codes and strings (chapter 9).

use crate::object::errhandler::Handler;

/// The handler in force before `MPI_Init` and after `MPI_Finalize`.
pub fn initial_handler() -> Handler {
    Handler::Fatal
}
