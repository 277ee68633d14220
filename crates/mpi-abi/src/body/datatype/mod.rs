//! Datatypes and packing (chapter 5).

mod array;
mod construct;
mod contents;
mod external;
mod fortran;
mod lifetime;
mod name;
mod pack;
mod query;

pub use array::*;
pub use construct::*;
pub use contents::*;
pub use external::*;
pub use fortran::*;
pub use lifetime::*;
pub use name::*;
pub use pack::*;
pub use query::*;

use crate::args::{Counts, Displs};
use crate::body::check::{out, wrong};
use crate::generated::constants::MPI_Datatype;
use crate::object::datatype::TypeObject;
use crate::runtime::Entered;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use std::sync::Arc;

/// A datatype argument that need not be committed.
fn any_type(w: &Entered, handle: MPI_Datatype) -> Result<Arc<Datatype>> {
    w.objects.any_type(handle).cloned()
}

/// Keeps a type that a constructor made. `large`: the `_c` form made it.
///
/// # Safety
/// `newtype` is null or may be written.
unsafe fn keep(
    w: &mut Entered,
    ty: Arc<Datatype>,
    large: bool,
    newtype: *mut MPI_Datatype,
) -> Result<()> {
    if large {
        ty.note_large_count_call();
    }
    let handle = w.objects.add_type(TypeObject::new(ty, ""))?;
    // SAFETY: callers checked that it is not null.
    unsafe { *newtype = handle };
    Ok(())
}

/// The number of elements of array arguments.
fn length(what: &str, n: i64, class: Class) -> Result<usize> {
    let text = || format!("{what} is {n}; expected 0 or more");
    usize::try_from(n).map_err(|_| wrong(class, text()))
}

/// An array of counts.
///
/// # Safety
/// The array is null or has at least `n` elements.
unsafe fn counts(what: &str, array: Counts, n: usize) -> Result<Vec<i64>> {
    not_null(what, array.is_null(), n)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { array.to_vec(n) })
}

/// An array of displacements.
///
/// # Safety
/// The array is null or has at least `n` elements.
unsafe fn displacements(array: Displs, n: usize) -> Result<Vec<i64>> {
    not_null("array_of_displacements", array.is_null(), n)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { array.to_vec(n) })
}

/// An array of the program.
///
/// # Safety
/// The array is null or has at least `n` elements, which stay unchanged during the call.
unsafe fn slice<'a, T>(what: &str, array: *const T, n: usize) -> Result<&'a [T]> {
    not_null(what, array.is_null(), n)?;
    match n {
        0 => Ok(&[]),
        // SAFETY: not null, and the caller vouches for the length.
        _ => Ok(unsafe { core::slice::from_raw_parts(array, n) }),
    }
}

/// As `slice`, widened.
///
/// # Safety
/// As for `slice`.
unsafe fn ints(what: &str, array: *const c_int, n: usize) -> Result<Vec<i64>> {
    // SAFETY: the caller's promise.
    let array = unsafe { slice(what, array, n)? };
    Ok(array.iter().map(|v| i64::from(*v)).collect())
}

fn not_null(what: &str, null: bool, n: usize) -> Result<()> {
    match null && n > 0 {
        true => Err(wrong(Class::Arg, format!("{what} is null; expected {n} elements"))),
        false => Ok(()),
    }
}

/// The place of a result of a constructor.
fn place(newtype: *mut MPI_Datatype) -> Result<()> {
    out("newtype", newtype)
}
