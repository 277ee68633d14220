//! Packing in the native representation (section 5.2).

use super::query::store;
use crate::args::CountOut;
use crate::body::check::{self, wrong};
use crate::generated::constants::*;
use crate::raise::on_comm;
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;

pub unsafe fn pack(
    inbuf: *const c_void,
    incount: MPI_Count,
    datatype: MPI_Datatype,
    outbuf: *mut c_void,
    outsize: MPI_Count,
    position: CountOut,
    comm: MPI_Comm,
) -> c_int {
    on_comm("MPI_Pack", comm, |w| {
        w.objects.comm(comm)?;
        let m = check::outgoing(&w.objects, inbuf, incount, datatype)?;
        // SAFETY: the caller's promise.
        let (start, room) = unsafe { rest("outbuf", outbuf, outsize, position)? };
        let bytes = fitting(bytes_of(m.ty, m.count)?, room)?;
        if bytes > 0 {
            // SAFETY: the buffer has that many bytes from `start` on, which do not overlap the
            // input; the caller vouches for both.
            unsafe {
                let into = outbuf.cast::<u8>().add(start as usize);
                m.ty.pack(m.buf, m.count, 0, core::slice::from_raw_parts_mut(into, bytes));
            }
        }
        // SAFETY: checked above.
        unsafe { position.set(start + bytes as i64) };
        Ok(())
    })
}

pub unsafe fn unpack(
    inbuf: *const c_void,
    insize: MPI_Count,
    position: CountOut,
    outbuf: *mut c_void,
    outcount: MPI_Count,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    on_comm("MPI_Unpack", comm, |w| {
        w.objects.comm(comm)?;
        let m = check::incoming(&w.objects, outbuf, outcount, datatype)?;
        // SAFETY: the caller's promise.
        let (start, room) = unsafe { rest("inbuf", inbuf, insize, position)? };
        let bytes = fitting(bytes_of(m.ty, m.count)?, room)?;
        if bytes > 0 {
            // SAFETY: as in `pack`, the other way round.
            unsafe {
                let from = inbuf.cast::<u8>().add(start as usize);
                m.ty.unpack(m.buf, m.count, 0, core::slice::from_raw_parts(from, bytes));
            }
        }
        // SAFETY: checked above.
        unsafe { position.set(start + bytes as i64) };
        Ok(())
    })
}

pub unsafe fn pack_size(
    incount: MPI_Count,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
    size: CountOut,
) -> c_int {
    on_comm("MPI_Pack_size", comm, |w| {
        w.objects.comm(comm)?;
        let bytes = bytes_of(&w.objects.type_object(datatype)?.ty, incount)?;
        // SAFETY: the caller's promise.
        unsafe { store("size", size, bytes) }
    })
}

/// Packed size of `count` copies.
fn bytes_of(ty: &Datatype, count: i64) -> Result<i64> {
    if count < 0 {
        return Err(wrong(Class::Count, format!("count is {count}; expected 0 or more")));
    }
    ty.packed_size(count).ok_or_else(|| {
        let text = format!("{count} elements of {} bytes are more than 63 bits hold", ty.size());
        wrong(Class::Count, text)
    })
}

/// Where a packing buffer goes on, and how many bytes there are from there.
///
/// # Safety
/// `position` is null or holds a value.
pub(super) unsafe fn rest(
    what: &str,
    buffer: *const c_void,
    size: i64,
    position: CountOut,
) -> Result<(i64, i64)> {
    if position.is_null() {
        return Err(wrong(Class::Arg, "position is null; expected an address"));
    }
    // SAFETY: not null; the caller vouches for the value.
    let start = unsafe { position.get() };
    if size < 0 || !(0..=size).contains(&start) {
        let text = format!("position {start} in {what} of {size} bytes; expected 0 to the size");
        return Err(wrong(Class::Arg, text));
    }
    if buffer.is_null() && size > 0 {
        return Err(wrong(Class::Buffer, format!("{what} of {size} bytes is null")));
    }
    Ok((start, size - start))
}

/// `bytes`, if there is room for them.
pub(super) fn fitting(bytes: i64, room: i64) -> Result<usize> {
    match usize::try_from(bytes) {
        Ok(n) if bytes <= room => Ok(n),
        _ => {
            let text = format!("{bytes} packed bytes, and {room} are left in the buffer");
            Err(wrong(Class::Arg, text))
        }
    }
}
