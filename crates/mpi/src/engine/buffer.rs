//! The program's buffers: what is sent, where it is received, and the copies between them and packets.

use crate::datatype::Datatype;
use hpvm_copy::non_temporal;
use std::sync::Arc;

/// What to send.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    pub buf: *const u8,
    pub count: i64,
    pub ty: &'a Arc<Datatype>,
}

/// Where to receive.
#[derive(Clone, Copy)]
pub struct Incoming<'a> {
    pub buf: *mut u8,
    pub count: i64,
    pub ty: &'a Arc<Datatype>,
}

impl Outgoing<'_> {
    #[inline(always)]
    pub fn packed_size(&self) -> u64 {
        packed_size(self.ty, self.count)
    }
}

/// Packed bytes of `count` elements. Counts and overflow were checked by the caller of the start.
#[inline(always)]
pub fn packed_size(ty: &Datatype, count: i64) -> u64 {
    (ty.size() as u64).wrapping_mul(count as u64)
}

/// Writes the packed form of `m` to `out`, which has exactly its size.
///
/// # Safety
/// `m.buf` is valid for reads of `m.count` elements.
#[inline(always)]
pub(crate) unsafe fn pack_all(m: Outgoing<'_>, out: &mut [u8]) {
    match m.ty.as_run(m.count) {
        Some((first, _)) => {
            let from = m.buf.wrapping_offset(first as isize);
            // SAFETY: the elements form one run of `out.len()` bytes from `first` on.
            unsafe { hpvm_copy::any(from, out.as_mut_ptr(), out.len()) };
        }
        None => {
            // SAFETY: the caller's promise.
            unsafe { m.ty.pack(m.buf, m.count, 0, out) };
        }
    }
}

/// Writes bytes `at..` of the packed form of `m` to `out`, which they fill: a part of a message
/// that is streamed. `bypass`: with stores that bypass the cache.
///
/// # Safety
/// `m.buf` is valid for reads of `m.count` elements, of which `at + out.len()` bytes exist.
#[inline(always)]
pub(crate) unsafe fn pack_part(m: Outgoing<'_>, at: u64, out: &mut [u8], bypass: bool) {
    match m.ty.as_run(m.count) {
        Some((first, _)) => {
            let from = m.buf.wrapping_offset(first as isize).wrapping_add(at as usize);
            // SAFETY: the elements form one run from `first` on.
            unsafe {
                match bypass {
                    true => non_temporal::copy(from, out.as_mut_ptr(), out.len()),
                    false => hpvm_copy::any(from, out.as_mut_ptr(), out.len()),
                }
            }
        }
        None => {
            // SAFETY: the caller's promise.
            unsafe { m.ty.pack(m.buf, m.count, at, out) };
        }
    }
}

/// Writes packed `data` into `count` elements at `buf`.
///
/// # Safety
/// `buf` is valid for writes of `count` elements, and `data` is at most their packed size.
#[inline(always)]
pub(crate) unsafe fn unpack_all(buf: *mut u8, count: i64, ty: &Datatype, data: &[u8]) {
    match ty.as_run(count) {
        Some((first, _)) => {
            let to = buf.wrapping_offset(first as isize);
            // SAFETY: the elements form one run from `first` on, at least as long as `data`.
            unsafe { hpvm_copy::any(data.as_ptr(), to, data.len()) };
        }
        None => {
            // SAFETY: the caller's promise.
            unsafe { ty.unpack(buf, count, 0, data) };
        }
    }
}

/// Writes `data` as bytes `at..` of the packed form of `count` elements at `buf`.
///
/// # Safety
/// `buf` is valid for writes of `count` elements, and `at + data.len()` is at most their packed size.
#[inline(always)]
pub(crate) unsafe fn unpack_part(buf: *mut u8, count: i64, ty: &Datatype, at: u64, data: &[u8]) {
    match ty.as_run(count) {
        Some((first, _)) => {
            let to = buf.wrapping_offset(first as isize).wrapping_add(at as usize);
            // SAFETY: the elements form one run from `first` on, at least as long as `at + data.len()`.
            unsafe { hpvm_copy::wide(data.as_ptr(), to, data.len()) };
        }
        None => {
            // SAFETY: the caller's promise.
            unsafe { ty.unpack(buf, count, at, data) };
        }
    }
}
