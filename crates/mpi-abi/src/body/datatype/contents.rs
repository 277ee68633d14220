//! How a datatype was made (section 5.1.13).

use super::any_type;
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::raise::on_world;
use crate::runtime::Entered;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::datatype::{Combiner, Contents};
use hpvm_mpi::error::Result;

pub unsafe fn type_get_envelope(
    datatype: MPI_Datatype,
    num_integers: *mut c_int,
    num_addresses: *mut c_int,
    num_datatypes: *mut c_int,
    combiner: *mut c_int,
) -> c_int {
    on_world("MPI_Type_get_envelope", |w| {
        let contents = small_contents(w, datatype)?;
        let lengths = [contents.integers.len(), contents.addresses.len(), contents.types.len()];
        let places = [num_integers, num_addresses, num_datatypes];
        for (place, length) in places.into_iter().zip(lengths) {
            out("a count", place)?;
            // SAFETY: checked above. Arrays of a type of the small form have `int` lengths.
            unsafe { *place = c_int::try_from(length).unwrap_or(MPI_UNDEFINED) };
        }
        out("combiner", combiner)?;
        // SAFETY: checked above.
        unsafe { *combiner = contents.combiner as c_int };
        Ok(())
    })
}

pub unsafe fn type_get_envelope_c(
    datatype: MPI_Datatype,
    num_integers: *mut MPI_Count,
    num_addresses: *mut MPI_Count,
    num_large_counts: *mut MPI_Count,
    num_datatypes: *mut MPI_Count,
    combiner: *mut c_int,
) -> c_int {
    on_world("MPI_Type_get_envelope_c", |w| {
        let contents = any_type(w, datatype)?.contents();
        let Contents { integers, addresses, large_counts, types, .. } = &contents;
        let lengths = [integers.len(), addresses.len(), large_counts.len(), types.len()];
        let places = [num_integers, num_addresses, num_large_counts, num_datatypes];
        for (place, length) in places.into_iter().zip(lengths) {
            out("a count", place)?;
            // SAFETY: checked above.
            unsafe { *place = length as MPI_Count };
        }
        out("combiner", combiner)?;
        // SAFETY: checked above.
        unsafe { *combiner = contents.combiner as c_int };
        Ok(())
    })
}

pub unsafe fn type_get_contents(
    datatype: MPI_Datatype,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut MPI_Aint,
    array_of_datatypes: *mut MPI_Datatype,
) -> c_int {
    on_world("MPI_Type_get_contents", |w| {
        let contents = small_contents(w, datatype)?;
        refuse_named(&contents)?;
        let integers = (array_of_integers, i64::from(max_integers));
        let addresses = (array_of_addresses, i64::from(max_addresses));
        let types = (array_of_datatypes, i64::from(max_datatypes));
        // SAFETY: the caller's promise: the arrays have the lengths given.
        unsafe { store(w, &contents, integers, addresses, types) }
    })
}

pub unsafe fn type_get_contents_c(
    datatype: MPI_Datatype,
    max_integers: MPI_Count,
    max_addresses: MPI_Count,
    max_large_counts: MPI_Count,
    max_datatypes: MPI_Count,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut MPI_Aint,
    array_of_large_counts: *mut MPI_Count,
    array_of_datatypes: *mut MPI_Datatype,
) -> c_int {
    on_world("MPI_Type_get_contents_c", |w| {
        let contents = any_type(w, datatype)?.contents();
        refuse_named(&contents)?;
        let large = (array_of_large_counts, max_large_counts);
        let integers = (array_of_integers, max_integers);
        let addresses = (array_of_addresses, max_addresses);
        let types = (array_of_datatypes, max_datatypes);
        room("large counts", large, contents.large_counts.len())?;
        // SAFETY: the caller's promise: the arrays have the lengths given.
        unsafe {
            store(w, &contents, integers, addresses, types)?;
            fill(array_of_large_counts, contents.large_counts.iter().copied());
        }
        Ok(())
    })
}

/// What the `int` form may show: not the large counts of a type that a `_c` call made.
fn small_contents(w: &Entered, datatype: MPI_Datatype) -> Result<Contents> {
    let contents = any_type(w, datatype)?.contents();
    match contents.large_counts.is_empty() {
        true => Ok(contents),
        false => Err(wrong(
            Class::Type,
            "a large-count call made this datatype, so its arguments are MPI_Counts: use \
             MPI_Type_get_envelope_c and MPI_Type_get_contents_c",
        )),
    }
}

fn refuse_named(contents: &Contents) -> Result<()> {
    match contents.combiner {
        Combiner::Named => Err(wrong(Class::Type, "a predefined datatype has no contents")),
        _ => Ok(()),
    }
}

/// Checks an array of the caller, given with its length.
fn room<T>(what: &str, (array, max): (*mut T, i64), needed: usize) -> Result<()> {
    if max < needed as i64 {
        let text = format!("there is room for {max} {what}; the datatype has {needed}");
        return Err(wrong(Class::Arg, text));
    }
    match array.is_null() && needed > 0 {
        true => Err(wrong(Class::Arg, format!("the array of {what} is null"))),
        false => Ok(()),
    }
}

/// Stores integers, addresses, and handles of the types.
///
/// # Safety
/// Each array may be written up to its length.
unsafe fn store(
    w: &mut Entered,
    contents: &Contents,
    integers: (*mut c_int, i64),
    addresses: (*mut MPI_Aint, i64),
    types: (*mut MPI_Datatype, i64),
) -> Result<()> {
    room("integers", integers, contents.integers.len())?;
    room("addresses", addresses, contents.addresses.len())?;
    room("datatypes", types, contents.types.len())?;
    let handles: Result<Vec<_>> =
        contents.types.iter().map(|ty| w.objects.hand_out_type(ty)).collect();
    // SAFETY: the arrays are long enough, and the caller vouches for them.
    unsafe {
        fill(integers.0, contents.integers.iter().map(|v| *v as c_int));
        fill(addresses.0, contents.addresses.iter().map(|v| *v as MPI_Aint));
        fill(types.0, handles?);
    }
    Ok(())
}

/// # Safety
/// `array` may be written as far as there are values.
unsafe fn fill<T>(array: *mut T, values: impl IntoIterator<Item = T>) {
    for (i, value) in values.into_iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { array.add(i).write(value) };
    }
}
