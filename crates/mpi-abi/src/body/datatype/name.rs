//! Names of datatypes (section 7.8).

use crate::body::check::out;
use crate::generated::constants::*;
use crate::raise::on_world;
use core::ffi::{CStr, c_char, c_int};

/// Longest name that is kept, in bytes; longer ones are cut.
const LONGEST: usize = MPI_MAX_OBJECT_NAME as usize - 1;

pub unsafe fn type_set_name(datatype: MPI_Datatype, type_name: *const c_char) -> c_int {
    on_world("MPI_Type_set_name", |w| {
        let object = w.objects.type_object(datatype)?;
        out("type_name", type_name.cast_mut())?;
        // SAFETY: not null, and the caller passes a string.
        let mut name = unsafe { CStr::from_ptr(type_name) }.to_string_lossy().into_owned();
        let end = (0..=LONGEST.min(name.len())).rfind(|end| name.is_char_boundary(*end));
        name.truncate(end.unwrap_or(0));
        object.extras().name = name;
        Ok(())
    })
}

pub unsafe fn type_get_name(
    datatype: MPI_Datatype,
    type_name: *mut c_char,
    resultlen: *mut c_int,
) -> c_int {
    on_world("MPI_Type_get_name", |w| {
        let object = w.objects.type_object(datatype)?;
        out("type_name", type_name)?;
        out("resultlen", resultlen)?;
        let extras = object.extras();
        let bytes = extras.name.as_bytes();
        let bytes = &bytes[..bytes.len().min(LONGEST)];
        // SAFETY: both places were checked; the caller's has room for MPI_MAX_OBJECT_NAME bytes.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), type_name.cast(), bytes.len());
            *type_name.add(bytes.len()) = 0;
            *resultlen = bytes.len() as c_int;
        }
        Ok(())
    })
}
