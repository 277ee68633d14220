//! Constructors of derived datatypes (section 5.1.2).

use super::{any_type, counts, displacements, keep, length, place, slice};
use crate::args::{Counts, Displs};
use crate::generated::constants::*;
use crate::raise::on_world;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use std::sync::Arc;

/// A constructor on one old type. `large`: the caller used the `_c` form.
///
/// # Safety
/// `newtype` is null or may be written.
unsafe fn construct(
    function: &'static str,
    (oldtype, newtype): (MPI_Datatype, *mut MPI_Datatype),
    large: bool,
    make: impl FnOnce(&Arc<Datatype>) -> Result<Arc<Datatype>>,
) -> c_int {
    on_world(function, |w| {
        place(newtype)?;
        let ty = make(&any_type(w, oldtype)?)?;
        // SAFETY: checked above; the caller vouches for the place.
        unsafe { keep(w, ty, large, newtype) }
    })
}

/// Constructors whose numbers differ in width between the forms.
macro_rules! two_forms {
    ($(fn $small:ident fn $large:ident $name:literal
        ($($arg:ident: $int:ty | $count:ty),*) $make:expr;)*) => {$(
        pub unsafe fn $small($($arg: $int,)* oldtype: MPI_Datatype, newtype: *mut MPI_Datatype)
            -> c_int {
            let make = |old: &_| $make($($arg as i64,)* old);
            // SAFETY: the caller's promises.
            unsafe { construct($name, (oldtype, newtype), false, make) }
        }

        pub unsafe fn $large($($arg: $count,)* oldtype: MPI_Datatype, newtype: *mut MPI_Datatype)
            -> c_int {
            let make = |old: &_| $make($($arg,)* old);
            // SAFETY: the caller's promises.
            unsafe { construct(concat!($name, "_c"), (oldtype, newtype), true, make) }
        }
    )*};
}

two_forms! {
    fn type_contiguous fn type_contiguous_c "MPI_Type_contiguous"
        (count: c_int | MPI_Count) Datatype::contiguous;
    fn type_vector fn type_vector_c "MPI_Type_vector"
        (count: c_int | MPI_Count, blocklength: c_int | MPI_Count, stride: c_int | MPI_Count)
        Datatype::vector;
    fn type_create_hvector fn type_create_hvector_c "MPI_Type_create_hvector"
        (count: c_int | MPI_Count, blocklength: c_int | MPI_Count, stride: MPI_Aint | MPI_Count)
        Datatype::hvector;
}

pub unsafe fn type_create_resized(
    oldtype: MPI_Datatype,
    lb: MPI_Aint,
    extent: MPI_Aint,
    newtype: *mut MPI_Datatype,
) -> c_int {
    let make = |old: &_| Datatype::resized(lb as i64, extent as i64, old);
    // SAFETY: the caller's promises.
    unsafe { construct("MPI_Type_create_resized", (oldtype, newtype), false, make) }
}

pub unsafe fn type_create_resized_c(
    oldtype: MPI_Datatype,
    lb: MPI_Count,
    extent: MPI_Count,
    newtype: *mut MPI_Datatype,
) -> c_int {
    let make = |old: &_| Datatype::resized(lb, extent, old);
    // SAFETY: the caller's promises.
    unsafe { construct("MPI_Type_create_resized_c", (oldtype, newtype), true, make) }
}

/// Constructors from block lengths and displacements.
macro_rules! lists {
    ($(fn $function:ident $name:literal $make:expr;)*) => {$(
        pub unsafe fn $function(count: MPI_Count, array_of_blocklengths: Counts,
            array_of_displacements: Displs, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype)
            -> c_int {
            let make = |old: &_| {
                let n = length("count", count, Class::Count)?;
                // SAFETY: the caller's promise: both arrays have `count` elements.
                let (lengths, displs) = unsafe {
                    (counts("array_of_blocklengths", array_of_blocklengths, n)?,
                        displacements(array_of_displacements, n)?)
                };
                $make(&lengths, &displs, old)
            };
            let large = array_of_blocklengths.is_wide();
            // SAFETY: the caller's promises.
            unsafe { construct($name, (oldtype, newtype), large, make) }
        }
    )*};
}

lists! {
    fn type_indexed "MPI_Type_indexed" Datatype::indexed;
    fn type_create_hindexed "MPI_Type_create_hindexed" Datatype::hindexed;
}

/// Constructors from displacements of equal blocks.
macro_rules! equal_lists {
    ($(fn $function:ident $name:literal $make:expr;)*) => {$(
        pub unsafe fn $function(count: MPI_Count, blocklength: MPI_Count,
            array_of_displacements: Displs, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype)
            -> c_int {
            let make = |old: &_| {
                let n = length("count", count, Class::Count)?;
                // SAFETY: the caller's promise: the array has `count` elements.
                let displs = unsafe { displacements(array_of_displacements, n)? };
                $make(blocklength, &displs, old)
            };
            let large = array_of_displacements.is_count();
            // SAFETY: the caller's promises.
            unsafe { construct($name, (oldtype, newtype), large, make) }
        }
    )*};
}

equal_lists! {
    fn type_create_indexed_block "MPI_Type_create_indexed_block" Datatype::indexed_block;
    fn type_create_hindexed_block "MPI_Type_create_hindexed_block" Datatype::hindexed_block;
}

pub unsafe fn type_create_struct(
    count: MPI_Count,
    array_of_blocklengths: Counts,
    array_of_displacements: Displs,
    array_of_types: *const MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    on_world("MPI_Type_create_struct", |w| {
        place(newtype)?;
        let n = length("count", count, Class::Count)?;
        // SAFETY: the caller's promise: all three arrays have `count` elements.
        let (lengths, displs, handles) = unsafe {
            (
                counts("array_of_blocklengths", array_of_blocklengths, n)?,
                displacements(array_of_displacements, n)?,
                slice("array_of_types", array_of_types, n)?,
            )
        };
        let types: Result<Vec<_>> = handles.iter().map(|handle| any_type(w, *handle)).collect();
        let ty = Datatype::structure(&lengths, &displs, &types?)?;
        // SAFETY: checked above; the caller vouches for the place.
        unsafe { keep(w, ty, array_of_blocklengths.is_wide(), newtype) }
    })
}
