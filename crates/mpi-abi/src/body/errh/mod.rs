//! Error handlers, classes, codes and strings (chapter 9).

mod codes;
mod handlers;

pub use codes::*;
pub use handlers::*;

use crate::object::errhandler::Handler;
use std::sync::OnceLock;

/// Names the handler of the world before the program sets one, by the values of the info key
/// `mpi_initial_errhandler` (section 11.8.4): `mpirun -x HPVM_INITIAL_ERRHANDLER=mpi_errors_return`.
const VARIABLE: &str = "HPVM_INITIAL_ERRHANDLER";

/// The handler in force before `MPI_Init` and after `MPI_Finalize`, and that of the predefined
/// communicators until the program sets another.
pub fn initial_handler() -> Handler {
    static HANDLER: OnceLock<Handler> = OnceLock::new();
    *HANDLER.get_or_init(|| match std::env::var(VARIABLE) {
        Ok(name) => parse(&name),
        Err(_) => Handler::Fatal,
    })
}

fn parse(name: &str) -> Handler {
    match name {
        "" | "mpi_errors_are_fatal" => Handler::Fatal,
        "mpi_errors_abort" => Handler::Abort,
        "mpi_errors_return" => Handler::Return,
        other => {
            crate::say::say(&format!(
                "{VARIABLE} is {other:?}; expected mpi_errors_are_fatal, mpi_errors_abort \
                 or mpi_errors_return; errors are fatal"
            ));
            Handler::Fatal
        }
    }
}
