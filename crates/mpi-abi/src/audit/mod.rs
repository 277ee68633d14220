//! `HPVM_CHECK=1`: mistakes that cost time to find. What is left at `MPI_Finalize` is reported
//! ([`report`]), and blocking collectives are compared before they run ([`coll`]).

mod collective;
mod left;

pub use collective::{Notes, compare};
pub use left::report;

use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};

/// The variable that asks for it.
const VARIABLE: &str = "HPVM_CHECK";

/// Whether the environment asks for it.
pub fn wanted() -> Result<bool> {
    let Some(value) = std::env::var_os(VARIABLE) else { return Ok(false) };
    match value.to_str() {
        Some("" | "0") => Ok(false),
        Some("1") => Ok(true),
        _ => {
            let text = format!("{VARIABLE} is {value:?}; expected 0 or 1");
            Err(Error::new(Class::Arg, text))
        }
    }
}
