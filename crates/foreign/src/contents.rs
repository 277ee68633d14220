//! `MPI_Type_get_contents`: its integers mean what the combiner says, some of them constants.

use crate::numbers::{error_out, to_foreign};
use crate::several::{Several, length};
use crate::{Abi, entries};
use core::ffi::c_int;
use hpvm_abi::constants::*;

/// Numbers of things in a datatype, and how it was made.
#[derive(Default)]
struct Envelope {
    integers: MPI_Count,
    large_counts: MPI_Count,
    datatypes: MPI_Count,
    combiner: c_int,
}

unsafe fn envelope(datatype: MPI_Datatype) -> Envelope {
    let (mut found, mut addresses) = (Envelope::default(), 0);
    let ask = entries().standard.MPI_Type_get_envelope_c;
    // SAFETY: the places are local variables.
    let code = unsafe {
        ask(
            datatype,
            &mut found.integers,
            &mut addresses,
            &mut found.large_counts,
            &mut found.datatypes,
            &mut found.combiner,
        )
    };
    if code == MPI_SUCCESS { found } else { Envelope::default() }
}

/// Translates what is a constant among the integers.
fn integers_out<A: Abi>(envelope: &Envelope, integers: &mut [c_int]) {
    let order = |v: &mut c_int| *v = to_foreign(A::ORDER, *v);
    match envelope.combiner {
        MPI_COMBINER_SUBARRAY => integers.last_mut().into_iter().for_each(order),
        MPI_COMBINER_DARRAY => {
            let Some(dims) = integers.get(2).map(|n| length(*n)) else { return };
            // With large counts the sizes are not among the integers.
            let first = 3 + if envelope.large_counts > 0 { 0 } else { dims };
            let distributions = integers.iter_mut().skip(first);
            distributions.take(2 * dims).enumerate().for_each(|(i, v)| {
                *v = match *v {
                    value if i < dims => to_foreign(A::DISTRIBUTION, value),
                    MPI_DISTRIBUTE_DFLT_DARG => A::MPI_DISTRIBUTE_DFLT_DARG,
                    value => value,
                };
            });
            integers.last_mut().into_iter().for_each(order);
        }
        _ => {}
    }
}

/// Runs a call that fills the arrays, and translates them.
unsafe fn translate<A: Abi>(
    datatype: MPI_Datatype,
    integers: *mut c_int,
    datatypes: *mut A::Datatype,
    call: impl FnOnce(*mut MPI_Datatype) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise: a datatype, or something that the engine refuses.
    let envelope = unsafe { envelope(datatype) };
    let mut own = Several::new(datatypes, length(envelope.datatypes));
    own.fill(MPI_DATATYPE_NULL);
    let code = call(own.pointer());
    if code == MPI_SUCCESS {
        // SAFETY: the engine has found the arrays long enough.
        unsafe {
            own.give(A::datatype_out);
            if !integers.is_null() && envelope.integers > 0 {
                let integers = core::slice::from_raw_parts_mut(integers, length(envelope.integers));
                integers_out::<A>(&envelope, integers);
            }
        }
    }
    error_out::<A>(code)
}

/// `MPI_Type_get_contents`.
///
/// # Safety
/// The caller keeps the promises of the MPI standard about its arguments.
pub unsafe fn type_get_contents<A: Abi>(
    datatype: A::Datatype,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    integers: *mut c_int,
    addresses: *mut MPI_Aint,
    datatypes: *mut A::Datatype,
) -> c_int {
    let own = A::datatype_in(datatype);
    let get = entries().standard.MPI_Type_get_contents;
    // SAFETY: the caller's promises.
    unsafe {
        translate::<A>(own, integers, datatypes, |types| {
            get(own, max_integers, max_addresses, max_datatypes, integers, addresses, types)
        })
    }
}

/// `MPI_Type_get_contents_c`.
///
/// # Safety
/// The caller keeps the promises of the MPI standard about its arguments.
#[allow(clippy::too_many_arguments)] // they are those of the C function
pub unsafe fn type_get_contents_c<A: Abi>(
    datatype: A::Datatype,
    max_integers: MPI_Count,
    max_addresses: MPI_Count,
    max_large_counts: MPI_Count,
    max_datatypes: MPI_Count,
    integers: *mut c_int,
    addresses: *mut MPI_Aint,
    large_counts: *mut MPI_Count,
    datatypes: *mut A::Datatype,
) -> c_int {
    let own = A::datatype_in(datatype);
    let get = entries().standard.MPI_Type_get_contents_c;
    let maxima = (max_integers, max_addresses, max_large_counts, max_datatypes);
    // SAFETY: the caller's promises.
    unsafe {
        translate::<A>(own, integers, datatypes, |types| {
            let (i, a, l, d) = maxima;
            get(own, i, a, l, d, integers, addresses, large_counts, types)
        })
    }
}
