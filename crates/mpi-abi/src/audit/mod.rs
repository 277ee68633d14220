//! `HPVM_CHECK=1`: mistakes that cost time to find. What is left at `MPI_Finalize` is reported
//! ([`report`]), and collectives are compared between the members that call them ([`compare`]).

mod collective;
mod compare;
mod left;

pub use collective::Notes;
pub use compare::{Comparisons, compare, compare_all, compare_later, compare_soon, settle};
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
