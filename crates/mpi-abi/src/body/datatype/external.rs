//! Packing in the portable representation `external32` (section 5.3).

use super::pack::{fitting, rest};
use super::query::store;
use crate::args::CountOut;
use crate::body::check::{self, wrong};
use crate::generated::constants::*;
use crate::raise::on_world;
use core::ffi::{CStr, c_char, c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;

pub unsafe fn pack_external(
    datarep: *const c_char,
    inbuf: *const c_void,
    incount: MPI_Count,
    datatype: MPI_Datatype,
    outbuf: *mut c_void,
    outsize: MPI_Count,
    position: CountOut,
) -> c_int {
    on_world("MPI_Pack_external", |w| {
        // SAFETY: the caller's promise.
        unsafe { check_representation(datarep)? };
        let m = check::outgoing(&w.objects, inbuf, incount, datatype)?;
        // SAFETY: the caller's promise.
        let (start, room) = unsafe { rest("outbuf", outbuf, outsize, position)? };
        let bytes = fitting(bytes_of(m.ty, m.count)?, room)?;
        if bytes > 0 {
            // SAFETY: the buffer has that many bytes from `start` on, which do not overlap the
            // input; the caller vouches for both.
            unsafe {
                let into = outbuf.cast::<u8>().add(start as usize);
                let into = core::slice::from_raw_parts_mut(into, bytes);
                m.ty.pack_external32(m.buf, m.count, into)?;
            }
        }
        // SAFETY: checked above.
        unsafe { position.set(start + bytes as i64) };
        Ok(())
    })
}

pub unsafe fn unpack_external(
    datarep: *const c_char,
    inbuf: *const c_void,
    insize: MPI_Count,
    position: CountOut,
    outbuf: *mut c_void,
    outcount: MPI_Count,
    datatype: MPI_Datatype,
) -> c_int {
    on_world("MPI_Unpack_external", |w| {
        // SAFETY: the caller's promise.
        unsafe { check_representation(datarep)? };
        let m = check::incoming(&w.objects, outbuf, outcount, datatype)?;
        // SAFETY: the caller's promise.
        let (start, room) = unsafe { rest("inbuf", inbuf, insize, position)? };
        let bytes = fitting(bytes_of(m.ty, m.count)?, room)?;
        if bytes > 0 {
            // SAFETY: as in `pack_external`, the other way round.
            unsafe {
                let from = inbuf.cast::<u8>().add(start as usize);
                let from = core::slice::from_raw_parts(from, bytes);
                m.ty.unpack_external32(m.buf, m.count, from)?;
            }
        }
        // SAFETY: checked above.
        unsafe { position.set(start + bytes as i64) };
        Ok(())
    })
}

pub unsafe fn pack_external_size(
    datarep: *const c_char,
    incount: MPI_Count,
    datatype: MPI_Datatype,
    size: CountOut,
) -> c_int {
    on_world("MPI_Pack_external_size", |w| {
        // SAFETY: the caller's promise.
        unsafe { check_representation(datarep)? };
        let bytes = bytes_of(&w.objects.type_object(datatype)?.ty, incount)?;
        // SAFETY: the caller's promise.
        unsafe { store("size", size, bytes) }
    })
}

fn bytes_of(ty: &Datatype, count: i64) -> Result<i64> {
    ty.external_size(count).ok_or_else(|| {
        let text = format!("count is {count}; expected 0 or more, and a size within 63 bits");
        wrong(Class::Count, text)
    })
}

/// # Safety
/// `datarep` is null or a string.
unsafe fn check_representation(datarep: *const c_char) -> Result<()> {
    check::out("datarep", datarep.cast_mut())?;
    // SAFETY: not null; the caller vouches for the string.
    match unsafe { CStr::from_ptr(datarep) }.to_bytes() {
        b"external32" => Ok(()),
        other => {
            let found = String::from_utf8_lossy(other);
            Err(wrong(Class::Arg, format!("datarep is \"{found}\"; expected \"external32\"")))
        }
    }
}
