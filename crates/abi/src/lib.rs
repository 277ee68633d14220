//! Types and constants of the MPI 5.0 standard ABI, and the table through which libraries for other
//! ABIs call the functions of `libmpi_abi.so.1`.
//!
//! Those libraries export the same names (`MPI_Send`, `PMPI_Send`), so they may not call by name:
//! the dynamic linker could hand them their own function. They find one data symbol instead,
//! `hpvm_entries_1`; the number is the version of the layout. Libraries of other programming models find two more
//! beside it ([`onesided`], [`models`]).

pub mod extra;
mod generated;
pub mod models;
pub mod onesided;
pub mod request;
mod status;

pub use extra::Extra;
pub use generated::constants;
pub use generated::entries::Standard;

/// What `libmpi_abi.so.1` exports as `hpvm_entries_1`.
#[repr(C)]
pub struct Entries {
    /// Size of this structure where the library was built: a check against mixed installations.
    pub size: usize,
    /// The functions of the standard ABI, each under its C name.
    pub standard: Standard,
    /// What other ABIs need beyond the standard.
    pub extra: Extra,
}
