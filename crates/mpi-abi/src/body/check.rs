//! Argument checks that many functions share. Each error names the argument, what was expected
//! and what was found.

use crate::generated::constants::*;
use crate::object::Objects;
use core::ffi::{CStr, c_char, c_void};
use hpvm_fm::Rank;
use hpvm_mpi::engine::matching::{ANY_PROCESS, Pattern};
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Incoming, Outgoing};
use hpvm_mpi::{Class, Comm, Error, datatype::Datatype};
use std::sync::Arc;

/// `MPI_TAG_UB`.
pub const TAG_UB: i32 = i32::MAX;

#[cold]
pub fn wrong(class: Class, what: impl Into<String>) -> Error {
    Error::new(class, what.into())
}

/// A buffer of `count` elements of `ty`.
#[inline(always)]
fn buffer(buf: *const c_void, count: i64, ty: &Datatype) -> Result<()> {
    // `packed_size` refuses negative counts.
    if !buf.is_null() && ty.packed_size(count).is_some() {
        return Ok(());
    }
    odd_buffer(buf, count, ty)
}

/// A buffer that is null or wrong.
#[cold]
fn odd_buffer(buf: *const c_void, count: i64, ty: &Datatype) -> Result<()> {
    if count < 0 {
        return Err(wrong(Class::Count, format!("count is {count}; expected 0 or more")));
    }
    if ty.packed_size(count).is_none() {
        let text = format!("{count} elements of {} bytes are more than 63 bits hold", ty.size());
        return Err(wrong(Class::Count, text));
    }
    // A null address is MPI_BOTTOM, which only types with absolute addresses can use.
    if buf.is_null() && count > 0 && ty.size() > 0 && ty.is_named() {
        return Err(wrong(Class::Buffer, format!("the buffer of {count} elements is null")));
    }
    Ok(())
}

/// The type of `count` elements for `peer`.
#[inline(always)]
fn element_type(
    objects: &Objects,
    count: i64,
    datatype: MPI_Datatype,
    peer: i32,
) -> Result<&Arc<Datatype>> {
    objects.datatype(datatype).or_else(|error| no_type(error, count, datatype, peer))
}

/// Where no element moves other MPIs take `MPI_DATATYPE_NULL`, and programs write it.
#[cold]
fn no_type(
    error: Error,
    count: i64,
    datatype: MPI_Datatype,
    peer: i32,
) -> Result<&'static Arc<Datatype>> {
    match datatype == MPI_DATATYPE_NULL && (count == 0 || peer == MPI_PROC_NULL) {
        true => Ok(Datatype::byte()),
        false => Err(error),
    }
}

/// A send buffer.
#[inline(always)]
pub fn outgoing(
    objects: &Objects,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Outgoing<'_>> {
    outgoing_to(objects, (buf, count, datatype), 0)
}

/// The buffer of a send to rank `dest` or `MPI_PROC_NULL`.
#[inline(always)]
pub fn outgoing_to(
    objects: &Objects,
    (buf, count, datatype): (*const c_void, i64, MPI_Datatype),
    dest: i32,
) -> Result<Outgoing<'_>> {
    let ty = element_type(objects, count, datatype, dest)?;
    buffer(buf, count, ty)?;
    Ok(Outgoing { buf: buf.cast(), count, ty })
}

/// A receive buffer.
#[inline(always)]
pub fn incoming(
    objects: &Objects,
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Incoming<'_>> {
    incoming_from(objects, (buf, count, datatype), 0)
}

/// The buffer of a receive from rank `source`, `MPI_ANY_SOURCE` or `MPI_PROC_NULL`.
#[inline(always)]
pub fn incoming_from(
    objects: &Objects,
    (buf, count, datatype): (*mut c_void, i64, MPI_Datatype),
    source: i32,
) -> Result<Incoming<'_>> {
    let ty = element_type(objects, count, datatype, source)?;
    buffer(buf, count, ty)?;
    Ok(Incoming { buf: buf.cast(), count, ty })
}

/// The datatype of a buffer whose count and address were checked.
pub fn typed(
    objects: &Objects,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Arc<Datatype>> {
    typed_for(objects, (buf, count, datatype), 0)
}

/// The same of a message to or from `peer`, which may be `MPI_PROC_NULL`.
pub fn typed_for(
    objects: &Objects,
    message: (*const c_void, i64, MPI_Datatype),
    peer: i32,
) -> Result<Arc<Datatype>> {
    Ok(outgoing_to(objects, message, peer)?.ty.clone())
}

/// The process that a destination means; `None` for `MPI_PROC_NULL`.
#[inline(always)]
pub fn destination(comm: &Comm, rank: i32) -> Result<Option<Rank>> {
    peer("destination", comm, rank)
}

/// The process that a source means where a wildcard is none; `None` for `MPI_PROC_NULL`.
pub fn one_source(comm: &Comm, rank: i32) -> Result<Option<Rank>> {
    peer("source", comm, rank)
}

#[inline(always)]
fn peer(what: &str, comm: &Comm, rank: i32) -> Result<Option<Rank>> {
    match comm.peer(rank) {
        Some(process) if rank >= 0 => Ok(Some(process)),
        _ if rank == MPI_PROC_NULL => Ok(None),
        _ => Err(bad_rank(what, comm, rank)),
    }
}

#[cold]
fn bad_rank(what: &str, comm: &Comm, rank: i32) -> Error {
    let last = comm.peers().size().wrapping_sub(1) as i32;
    wrong(Class::Rank, format!("{what} {rank}; expected 0 to {last} or MPI_PROC_NULL"))
}

/// The tag of a send.
#[inline]
pub fn send_tag(tag: i32) -> Result<()> {
    match tag {
        0.. => Ok(()),
        _ => Err(wrong(Class::Tag, format!("tag {tag}; expected 0 to {TAG_UB}"))),
    }
}

/// What a receive or probe accepts; `None` for `MPI_PROC_NULL`.
#[inline(always)]
pub fn pattern(comm: &Comm, source: i32, tag: i32) -> Result<Option<Pattern>> {
    if tag < 0 && tag != MPI_ANY_TAG {
        let text = format!("tag {tag}; expected 0 to {TAG_UB} or MPI_ANY_TAG");
        return Err(wrong(Class::Tag, text));
    }
    let src = match comm.peer(source) {
        Some(process) if source >= 0 => process,
        _ if source == MPI_ANY_SOURCE => ANY_PROCESS,
        _ if source == MPI_PROC_NULL => return Ok(None),
        _ => return Err(bad_rank("source", comm, source)),
    };
    Ok(Some(Pattern { src, tag }))
}

/// An output argument that must not be null.
#[inline]
pub fn out<T>(what: &str, place: *mut T) -> Result<()> {
    match place.is_null() {
        false => Ok(()),
        true => Err(wrong(Class::Arg, format!("{what} is null; expected an address"))),
    }
}

/// A string argument. Bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `string` is null or the address of a string with a final zero byte.
pub unsafe fn text(what: &str, string: *const c_char) -> Result<String> {
    if string.is_null() {
        return Err(wrong(Class::Arg, format!("{what} is null; expected a string")));
    }
    // SAFETY: not null; the caller's promise.
    Ok(unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned())
}
