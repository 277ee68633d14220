//! Statuses (sections 3.2.5 and 5.1.11): how the engine's status lies in `MPI_Status`.

use crate::args::CountOut;
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::raise::{anywhere, on_world};
use core::ffi::c_int;
use hpvm_mpi::{Class, Status};

/// Stores a status, all but its error; nothing for `MPI_STATUS_IGNORE`.
///
/// # Safety
/// `place` is null or may be written.
#[inline(always)]
pub unsafe fn store(place: *mut MPI_Status, status: &Status) {
    if place.is_null() {
        return;
    }
    // SAFETY: not null, and the caller vouches for it.
    unsafe {
        (*place).MPI_SOURCE = status.source;
        (*place).MPI_TAG = status.tag;
        (*place).set_outcome(status.bytes, status.cancelled);
    }
}

/// The status that `store` stored.
pub fn load(status: &MPI_Status) -> Status {
    Status {
        source: status.MPI_SOURCE,
        tag: status.MPI_TAG,
        bytes: status.bytes(),
        cancelled: status.cancelled(),
    }
}

fn count_or_undefined(count: Option<u64>) -> i64 {
    count.and_then(|c| i64::try_from(c).ok()).unwrap_or(i64::from(MPI_UNDEFINED))
}

pub unsafe fn get_count(
    status: *const MPI_Status,
    datatype: MPI_Datatype,
    count: CountOut,
) -> c_int {
    on_world("MPI_Get_count", |w| {
        out("status", status.cast_mut())?;
        let ty = w.objects.datatype(datatype)?;
        // SAFETY: the caller's promises.
        unsafe { count.set(count_or_undefined(ty.get_count(load(&*status).bytes))) };
        Ok(())
    })
}

pub unsafe fn get_elements(
    status: *const MPI_Status,
    datatype: MPI_Datatype,
    count: CountOut,
) -> c_int {
    on_world("MPI_Get_elements", |w| {
        out("status", status.cast_mut())?;
        let ty = w.objects.datatype(datatype)?;
        // SAFETY: the caller's promises.
        unsafe { count.set(count_or_undefined(ty.get_elements(load(&*status).bytes))) };
        Ok(())
    })
}

pub unsafe fn status_set_elements(
    status: *mut MPI_Status,
    datatype: MPI_Datatype,
    count: MPI_Count,
) -> c_int {
    on_world("MPI_Status_set_elements", |w| {
        out("status", status)?;
        let object = w.objects.type_object(datatype)?;
        // Elements are basic ones: whole copies, then those of a part of a copy.
        let bytes = bytes_of_elements(&object.ty, count)
            .ok_or_else(|| wrong(Class::Count, format!("count is {count}; expected 0 or more")))?;
        // SAFETY: checked above.
        unsafe {
            let old = load(&*status);
            store(status, &Status { bytes, ..old });
        }
        Ok(())
    })
}

/// The bytes after which `get_elements` says `count`: found by halving, because the number of
/// elements grows with the number of bytes.
fn bytes_of_elements(ty: &hpvm_mpi::datatype::Datatype, count: i64) -> Option<u64> {
    let count = u64::try_from(count).ok()?;
    let size = ty.size() as u64;
    if size == 0 || count == 0 {
        return Some(0);
    }
    let per_copy = ty.get_elements(size)?;
    let whole = count / per_copy;
    let rest = count % per_copy;
    let bytes = whole.checked_mul(size)?;
    if rest == 0 {
        return Some(bytes);
    }
    (1..size).find(|b| ty.get_elements(*b) == Some(rest)).map(|b| bytes + b)
}

pub unsafe fn status_set_cancelled(status: *mut MPI_Status, flag: c_int) -> c_int {
    anywhere("MPI_Status_set_cancelled", || {
        out("status", status)?;
        // SAFETY: checked above.
        unsafe { (*status).MPI_internal[2] = c_int::from(flag != 0) };
        Ok(())
    })
}

pub unsafe fn test_cancelled(status: *const MPI_Status, flag: *mut c_int) -> c_int {
    anywhere("MPI_Test_cancelled", || {
        out("status", status.cast_mut())?;
        out("flag", flag)?;
        // SAFETY: checked above.
        unsafe { *flag = c_int::from(load(&*status).cancelled) };
        Ok(())
    })
}

macro_rules! fields {
    ($(fn $get:ident, fn $set:ident, $getter:literal, $setter:literal, $field:ident;)*) => {$(
        pub unsafe fn $get(status: *const MPI_Status, value: *mut c_int) -> c_int {
            anywhere($getter, || {
                out("status", status.cast_mut())?;
                out("value", value)?;
                // SAFETY: checked above.
                unsafe { *value = (*status).$field };
                Ok(())
            })
        }

        pub unsafe fn $set(status: *mut MPI_Status, value: c_int) -> c_int {
            anywhere($setter, || {
                out("status", status)?;
                // SAFETY: checked above.
                unsafe { (*status).$field = value };
                Ok(())
            })
        }
    )*};
}

fields! {
    fn status_get_source, fn status_set_source, "MPI_Status_get_source", "MPI_Status_set_source",
        MPI_SOURCE;
    fn status_get_tag, fn status_set_tag, "MPI_Status_get_tag", "MPI_Status_set_tag", MPI_TAG;
    fn status_get_error, fn status_set_error, "MPI_Status_get_error", "MPI_Status_set_error", MPI_ERROR;
}
