//! Datatypes that C's types have no name for in MPI.

use core::ffi::c_char;
use hpvm_abi::constants::{MPI_Datatype, MPI_INT8_T, MPI_UINT8_T, MPI_UINT64_T};

/// `char` as a number.
pub const CHAR: MPI_Datatype = if c_char::MIN == 0 { MPI_UINT8_T } else { MPI_INT8_T };
/// `size_t`
pub const SIZE: MPI_Datatype = MPI_UINT64_T;
