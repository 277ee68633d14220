//! Names of datatypes (section 7.8).

use crate::body::check::out;
use crate::body::comm::object_name;
use crate::body::env::put_string;
use crate::generated::constants::*;
use crate::raise::on_world;
use core::ffi::{c_char, c_int};

pub unsafe fn type_set_name(datatype: MPI_Datatype, type_name: *const c_char) -> c_int {
    on_world("MPI_Type_set_name", |w| {
        let object = w.objects.type_object(datatype)?;
        // SAFETY: the caller passes a string.
        object.extras().name = unsafe { object_name("type_name", type_name)? };
        Ok(())
    })
}

pub unsafe fn type_get_name(
    datatype: MPI_Datatype,
    type_name: *mut c_char,
    resultlen: *mut c_int,
) -> c_int {
    on_world("MPI_Type_get_name", |w| {
        let name = match datatype {
            // The null handle has a name, too.
            MPI_DATATYPE_NULL => "MPI_DATATYPE_NULL".to_owned(),
            other => w.objects.type_object(other)?.extras().name.clone(),
        };
        out("type_name", type_name)?;
        out("resultlen", resultlen)?;
        // SAFETY: checked above; the standard makes the place this long.
        unsafe { put_string(&name, type_name, MPI_MAX_OBJECT_NAME as usize, resultlen) };
        Ok(())
    })
}
