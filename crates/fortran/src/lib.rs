//! The entry points that Fortran programs call with `mpif.h`, `use mpi` or `use mpi_f08` (section 19.1 of MPI 5.0),
//! for any ABI whose C side is translated by the crate hpvm-foreign.
//!
//! A Fortran procedure gets the addresses of all its arguments, handles are integers, texts have
//! their lengths in further arguments at the end, and the error code is the last argument proper.
//! `generated` holds one function for each procedure, generic over the ABI and made from spec/: it
//! fetches the arguments, turns integers into the ABI's C handles and calls the generic function
//! that the C entry point calls, too. [`entry_points!`] then defines the symbols, in the four
//! spellings of Fortran compilers and for `PMPI_`, in the library of one ABI. What the kinds of
//! arguments do not tell is written by hand: [`callback`], [`attribute`], [`special`], [`removed`].
//!
//! In `mpi_f08` the error code may be absent, handles are structures of one integer, and buffers may be
//! descriptors ([`section`]); all else is passed the same.
//!
//! Assumed of the compiler: what gfortran does on 64-bit Linux. INTEGER and LOGICAL have 32 bits,
//! `.TRUE.` is 1, lengths of texts are `size_t`.
//!
//! # Safety
//! Every unsafe function here trusts its caller, a Fortran program, with what the standard
//! demands of it: addresses of variables of the types that the procedure has.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

pub mod attribute;
pub mod callback;
pub mod datarep;
#[rustfmt::skip]
pub mod entry;
#[rustfmt::skip]
pub mod entry_ts;
#[rustfmt::skip]
pub mod generated;
pub mod handle;
pub mod operator;
pub mod removed;
pub mod section;
pub mod sizeof;
pub mod special;
pub mod status;
pub mod text;

use core::ffi::{c_char, c_int, c_void};
use core::ptr::without_provenance;

pub use hpvm_foreign::Abi;

/// The addresses of the variables that stand for something in Fortran.
#[derive(Clone, Copy, Debug)]
pub struct Sentinels {
    pub bottom: Variable,
    pub in_place: Variable,
    pub buffer_automatic: Variable,
    pub status_ignore: Variable,
    pub statuses_ignore: Variable,
    pub errcodes_ignore: Variable,
    pub argv_null: Variable,
    pub argvs_null: Variable,
    pub unweighted: Variable,
    pub weights_empty: Variable,
}

/// The address of a variable of `mpif.h` and the module `mpi`, and of the one of `mpi_f08`.
pub type Variable = [*const c_void; 2];

/// A variable that both have in common.
pub fn one(address: *const c_void) -> Variable {
    [address; 2]
}

/// What the Fortran side of an ABI adds to its C side. A status has the same words on both sides.
pub trait Fortran: Abi {
    /// As the program sees them: its own copies hide those of the library.
    fn sentinels() -> Sentinels;

    /// `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY` of C.
    fn c_weights() -> (*const c_int, *const c_int);

    /// Whether a function is `MPI_CONVERSION_FN_NULL` of `mpi_f08`, where that has a symbol of its own.
    fn is_conversion_null(_function: *const c_void) -> bool {
        false
    }

    /// The key in C of a predefined attribute, other keys unchanged.
    fn keyval_in(keyval: c_int) -> c_int {
        keyval
    }
}

/// A buffer, or the C address that stands for `MPI_BOTTOM` or `MPI_IN_PLACE`.
#[inline(always)]
pub fn buffer<F: Fortran>(address: *const c_void) -> *const c_void {
    let known = F::sentinels();
    match address {
        a if known.bottom.contains(&a) => without_provenance(F::MPI_BOTTOM),
        a if known.in_place.contains(&a) => without_provenance(F::MPI_IN_PLACE),
        a if known.buffer_automatic.contains(&a) => without_provenance(F::MPI_BUFFER_AUTOMATIC),
        a => a,
    }
}

/// [`buffer`] for one that is written.
#[inline(always)]
pub fn buffer_mut<F: Fortran>(address: *mut c_void) -> *mut c_void {
    buffer::<F>(address).cast_mut()
}

/// Weights, or what stands for `MPI_UNWEIGHTED` or `MPI_WEIGHTS_EMPTY` in C.
pub fn weights_in<F: Fortran>(address: *const c_int) -> *const c_int {
    let (known, (unweighted, empty)) = (F::sentinels(), F::c_weights());
    match address.cast() {
        a if known.unweighted.contains(&a) => unweighted,
        a if known.weights_empty.contains(&a) => empty,
        _ => address,
    }
}

/// The index that Fortran counts from 1.
#[inline(always)]
pub fn index_out<F: Fortran>(index: c_int) -> c_int {
    if index == F::MPI_UNDEFINED { index } else { index.wrapping_add(1) }
}

/// The address of an array of texts of one length, as Fortran passes it.
pub type Texts = *const c_char;

/// Defines one procedure under all its names; the code is there once.
#[doc(hidden)]
#[macro_export]
macro_rules! spell {
    ([$($name:ident)*] $arguments:tt $returns:tt $path:tt $code:tt) => {
        #[allow(non_snake_case)]
        const _: () = {
            $crate::spelling! { #[inline(never)] body $arguments $returns $path $code }
            $( $crate::spelling! { #[unsafe(no_mangle)] $name $arguments $returns (body) () } )*
        };
    };
}

/// One name of a procedure. In `mpi_f08` the error code may be absent, which is a null address.
#[doc(hidden)]
#[macro_export]
macro_rules! spelling {
    (#[$attribute:meta] $name:ident ($($argument:ident: $type:ty),*) ($($returns:ty)?)
     ($($path:tt)*) ($($code:ident)?)) => {
        #[$attribute]
        pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $returns)? {
            $(
                let mut unused = 0;
                let $code = if $code.is_null() { &raw mut unused } else { $code };
            )?
            // SAFETY: the program's promises are handed on unchanged.
            unsafe { $($path)*($($argument),*) }
        }
    };
}
