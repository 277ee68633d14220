//! Calls of other MPI ABIs, translated into calls of the standard ABI.
//!
//! An ABI is a type that implements [`Abi`]: its handles, its status, its sentinels, and
//! [`Numbers`], which is generated from `spec/abi/NAME.toml`. `generated` holds one function for
//! each function of MPI, generic over the ABI: it translates the arguments according to the kinds
//! and directions in spec/, calls the function of the same name in `libmpi_abi.so.1` through the
//! table [`entries`], and translates the results. What cannot be derived from kinds is in
//! [`by_hand`]; what functions of the program need in any language is in [`program`]; functions that
//! the standard no longer has are in [`removed`].
//!
//! # To add an ABI
//!
//! 1. `spec/abi/NAME.toml`: values of the constants, functions beyond the standard (see
//!    spec/README.md).
//! 2. A crate like `abi-mpich`: `impl Abi for Name`, `build = "../foreign/link.rs"`, the soname in
//!    its Cargo.toml, `mod generated`, and by hand what only this ABI has (data symbols, `_c2f`).
//! 3. The folder in `RUST` of xtask/src/codegen.rs, the crate in layers.rs; `cargo xtask codegen`.
//!
//! Fortran entry points can call the generic functions as well: `generated::CHAPTER::NAME::<A>` takes
//! C arguments of the ABI, and `A::x_fromint` and `A::x_toint` convert handles.
//!
//! Everything is instantiated in the library that uses it, so there is no call between the entry
//! point and the one through the table.

pub mod abi;
pub mod bindings;
pub mod by_hand;
pub mod contents;
pub mod generated;
pub mod lengths;
pub mod numbers;
pub mod out_param;
pub mod program;
pub mod removed;
pub mod several;
pub mod status;
pub mod text;

pub use abi::{Abi, Outcome};
pub use generated::numbers::Numbers;

use core::ffi::{CStr, c_int};
use hpvm_abi::Entries;

unsafe extern "C" {
    static hpvm_entries_1: Entries;
}

/// The functions of `libmpi_abi.so.1`.
#[inline(always)]
pub fn entries() -> &'static Entries {
    // SAFETY: the library is linked, and never changes the table. The number in the symbol's name
    // stands for the layout.
    unsafe { &hpvm_entries_1 }
}

/// A function of the ABI that this version does not have: an error that names it.
pub fn unavailable<A: Abi>(name: &CStr) -> c_int {
    // SAFETY: the name is a C string.
    numbers::error_out::<A>(unsafe { (entries().extra.unsupported)(name.as_ptr()) })
}
