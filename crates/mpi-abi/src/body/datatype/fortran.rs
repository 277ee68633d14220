//! Types by precision, range and size (section 19.1.9), and pairs of value and index (5.1.1).

use super::{any_type, place};
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::datatype::fortran_type;
use crate::raise::on_world;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::datatype::{Combiner, Datatype};
use hpvm_mpi::error::Result;
use std::sync::Arc;

unsafe fn select(
    function: &'static str,
    key: (Combiner, c_int, c_int),
    newtype: *mut MPI_Datatype,
    make: impl FnOnce() -> Result<Arc<Datatype>>,
) -> c_int {
    on_world(function, |w| {
        place(newtype)?;
        let ty = fortran_type(key, make)?;
        // SAFETY: checked above.
        unsafe { *newtype = w.objects.hand_out_type(&ty)? };
        Ok(())
    })
}

pub unsafe fn type_create_f90_real(p: c_int, r: c_int, newtype: *mut MPI_Datatype) -> c_int {
    let (key, make) = ((Combiner::F90Real, p, r), || Datatype::f90_real(p, r));
    // SAFETY: the caller's promise.
    unsafe { select("MPI_Type_create_f90_real", key, newtype, make) }
}

pub unsafe fn type_create_f90_complex(p: c_int, r: c_int, newtype: *mut MPI_Datatype) -> c_int {
    let (key, make) = ((Combiner::F90Complex, p, r), || Datatype::f90_complex(p, r));
    // SAFETY: the caller's promise.
    unsafe { select("MPI_Type_create_f90_complex", key, newtype, make) }
}

pub unsafe fn type_create_f90_integer(r: c_int, newtype: *mut MPI_Datatype) -> c_int {
    let (key, make) = ((Combiner::F90Integer, r, 0), || Datatype::f90_integer(r));
    // SAFETY: the caller's promise.
    unsafe { select("MPI_Type_create_f90_integer", key, newtype, make) }
}

pub unsafe fn type_match_size(typeclass: c_int, size: c_int, datatype: *mut MPI_Datatype) -> c_int {
    on_world("MPI_Type_match_size", |_| {
        out("datatype", datatype)?;
        let found = match (typeclass, size) {
            (MPI_TYPECLASS_INTEGER, 1) => MPI_INTEGER1,
            (MPI_TYPECLASS_INTEGER, 2) => MPI_INTEGER2,
            (MPI_TYPECLASS_INTEGER, 4) => MPI_INTEGER4,
            (MPI_TYPECLASS_INTEGER, 8) => MPI_INTEGER8,
            (MPI_TYPECLASS_INTEGER, 16) => MPI_INTEGER16,
            (MPI_TYPECLASS_REAL, 2) => MPI_REAL2,
            (MPI_TYPECLASS_REAL, 4) => MPI_REAL4,
            (MPI_TYPECLASS_REAL, 8) => MPI_REAL8,
            (MPI_TYPECLASS_REAL, 16) => MPI_REAL16,
            (MPI_TYPECLASS_COMPLEX, 4) => MPI_COMPLEX4,
            (MPI_TYPECLASS_COMPLEX, 8) => MPI_COMPLEX8,
            (MPI_TYPECLASS_COMPLEX, 16) => MPI_COMPLEX16,
            (MPI_TYPECLASS_COMPLEX, 32) => MPI_COMPLEX32,
            (MPI_TYPECLASS_INTEGER | MPI_TYPECLASS_REAL | MPI_TYPECLASS_COMPLEX, _) => {
                let text = format!("there is no Fortran type of {size} bytes in this class");
                return Err(wrong(Class::Arg, text));
            }
            _ => {
                let text = format!("typeclass is {typeclass}; expected an MPI_TYPECLASS constant");
                return Err(wrong(Class::Arg, text));
            }
        };
        // SAFETY: checked above.
        unsafe { *datatype = found };
        Ok(())
    })
}

pub unsafe fn type_get_value_index(
    value_type: MPI_Datatype,
    index_type: MPI_Datatype,
    pair_type: *mut MPI_Datatype,
) -> c_int {
    on_world("MPI_Type_get_value_index", |w| {
        out("pair_type", pair_type)?;
        let (value, index) = (any_type(w, value_type)?, any_type(w, index_type)?);
        let found = match Datatype::value_index(&value, &index) {
            // As in MPICH and Open MPI, pairs without a name stay inside: programs take a datatype
            // that is not named for one of their own.
            Some(pair) if pair.is_named() => w.objects.hand_out_type(pair)?,
            _ => MPI_DATATYPE_NULL,
        };
        // SAFETY: checked above.
        unsafe { *pair_type = found };
        Ok(())
    })
}
