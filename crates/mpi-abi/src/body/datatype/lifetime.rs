//! Committing, duplicating and freeing datatypes (sections 5.1.9 and 5.1.10), and what happens to
//! their attributes then (section 7.7.4).

use super::{any_type, place};
use crate::body::attr::{copy_all, delete_all};
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::datatype::TypeObject;
use crate::raise::on_world;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::datatype::Datatype;

pub unsafe fn type_commit(datatype: *mut MPI_Datatype) -> c_int {
    on_world("MPI_Type_commit", |w| {
        out("datatype", datatype)?;
        // SAFETY: checked above.
        any_type(w, unsafe { *datatype })?.commit();
        Ok(())
    })
}

pub unsafe fn type_free(datatype: *mut MPI_Datatype) -> c_int {
    on_world("MPI_Type_free", |w| {
        out("datatype", datatype)?;
        // SAFETY: checked above.
        let handle = unsafe { *datatype };
        let object = w.objects.type_object(handle)?.clone();
        if object.ty.is_predefined() {
            return Err(wrong(Class::Type, "a predefined datatype can't be freed"));
        }
        let attributes = std::mem::take(&mut object.extras().attributes);
        if let Err((error, rest)) = delete_all(w, handle.0, attributes) {
            // A function of the program refused: the type stays.
            object.extras().attributes = rest;
            return Err(error);
        }
        w.objects.remove_type(handle)?;
        w.process.requests_mut().hold_nothing();
        // SAFETY: checked above.
        unsafe { *datatype = MPI_DATATYPE_NULL };
        Ok(())
    })
}

pub unsafe fn type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) -> c_int {
    on_world("MPI_Type_dup", |w| {
        place(newtype)?;
        let old = w.objects.type_object(oldtype)?.clone();
        let attributes = old.extras().attributes.snapshot();
        let attributes = copy_all(w, oldtype.0, attributes)?;
        let object = TypeObject::new(Datatype::dup(&old.ty)?, "");
        object.extras().attributes = attributes;
        let handle = w.objects.add_type(object)?;
        // SAFETY: checked above.
        unsafe { *newtype = handle };
        Ok(())
    })
}
