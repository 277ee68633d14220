//! Committing, duplicating and freeing datatypes (sections 5.1.9 and 5.1.10), and what happens to
//! their attributes then (section 7.7.4).

use super::{any_type, place};
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::attributes::{Attribute, OnCopy};
use crate::object::datatype::TypeObject;
use crate::raise::on_world;
use crate::runtime::Entered;
use core::ffi::{c_int, c_void};
use core::ptr;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::sync::Arc;

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
        // SAFETY: the functions came from the program with the right signature.
        unsafe { delete_attributes(w, handle, &object)? };
        w.objects.remove_type(handle)?;
        // SAFETY: as above.
        unsafe { *datatype = MPI_DATATYPE_NULL };
        Ok(())
    })
}

pub unsafe fn type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) -> c_int {
    on_world("MPI_Type_dup", |w| {
        place(newtype)?;
        let old = w.objects.type_object(oldtype)?.clone();
        let object = TypeObject::new(Datatype::dup(&old.ty)?, "");
        let handle = w.objects.add_type(object.clone())?;
        // SAFETY: the functions came from the program with the right signature.
        if let Err(error) = unsafe { copy_attributes(w, oldtype, &old, &object) } {
            // Nothing is left of a type that could not be duplicated, its attributes included.
            // SAFETY: as above.
            let _ = unsafe { delete_attributes(w, handle, &object) };
            w.objects.remove_type(handle)?;
            return Err(error);
        }
        // SAFETY: checked above.
        unsafe { *newtype = handle };
        Ok(())
    })
}

/// Empties the list of attributes, the last one first. When a function of the program refuses, its
/// attribute and those before it stay.
///
/// # Safety
/// The attributes' functions may be called.
unsafe fn delete_attributes(
    w: &mut Entered,
    handle: MPI_Datatype,
    object: &Arc<TypeObject>,
) -> Result<()> {
    loop {
        let Some(attribute) = object.extras().attributes.pop() else { return Ok(()) };
        let Some(delete) = attribute.key.on_delete else { continue };
        let (keyval, value) = (attribute.keyval, address(attribute.value));
        let extra = address(attribute.key.extra);
        // SAFETY: the caller's promise; no guard is held while it runs.
        let code = w.outside(|| unsafe { delete(handle.0, keyval, value, extra) });
        if code != MPI_SUCCESS {
            object.extras().attributes.set(attribute);
            return Err(refused("delete", keyval, code));
        }
    }
}

/// Gives `new` the attributes of `old` that their functions want copied.
///
/// # Safety
/// The attributes' functions may be called.
unsafe fn copy_attributes(
    w: &mut Entered,
    oldtype: MPI_Datatype,
    old: &Arc<TypeObject>,
    new: &Arc<TypeObject>,
) -> Result<()> {
    let attributes = old.extras().attributes.snapshot();
    for Attribute { keyval, key, value } in attributes {
        let value = match key.on_copy {
            OnCopy::Drop => continue,
            OnCopy::Duplicate => value,
            OnCopy::Call(copy) => {
                let (mut result, mut flag) = (ptr::null_mut::<c_void>(), 0);
                let (extra, value) = (address(key.extra), address(value));
                let place = (&raw mut result).cast();
                let flag_place = &raw mut flag;
                // SAFETY: the caller's promise; no guard is held while it runs.
                let code = w.outside(|| unsafe {
                    copy(oldtype.0, keyval, extra, value, place, flag_place)
                });
                if code != MPI_SUCCESS {
                    return Err(refused("copy", keyval, code));
                }
                if flag == 0 {
                    continue;
                }
                result.expose_provenance()
            }
        };
        new.extras().attributes.set(Attribute { keyval, key, value });
    }
    Ok(())
}

fn address(value: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(value)
}

fn refused(what: &str, keyval: c_int, code: c_int) -> Error {
    let class = Class::from_code(code).unwrap_or(Class::Other);
    wrong(class, format!("the {what} function of key {keyval} returned {code}"))
}
