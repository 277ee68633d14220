//! Put and get (section 9.6).

use crate::far;
use crate::state::{bytes, state};
use crate::types::{Ctx, Name};
use core::ffi::c_int;
use core::mem::MaybeUninit;
use hpvm_model::copy;

/// # Safety
/// `source` is readable for `len` bytes; without `wait` until they are complete.
#[inline]
unsafe fn put_bytes(
    name: Name,
    ctx: Ctx,
    (dest, source): (usize, *const u8),
    len: usize,
    pe: c_int,
    wait: bool,
) {
    let s = state(name);
    let pe = s.pe(name, ctx, pe);
    // SAFETY: mapped for `len` bytes; the caller's promise.
    unsafe {
        match s.mapped(dest, len, pe) {
            Some(to) => copy(source, to, len),
            None => far::put(s, name, dest, source, len, pe, wait),
        }
    }
}

/// # Safety
/// `dest` is writable for `len` bytes; without `wait` until they are complete.
#[inline]
unsafe fn get_bytes(
    name: Name,
    ctx: Ctx,
    (dest, source): (*mut u8, usize),
    len: usize,
    pe: c_int,
    wait: bool,
) {
    let s = state(name);
    let pe = s.pe(name, ctx, pe);
    // SAFETY: mapped for `len` bytes; the caller's promise.
    unsafe {
        match s.mapped(source, len, pe) {
            Some(from) => copy(from, dest, len),
            None => far::get(s, name, dest, source, len, pe, wait),
        }
    }
}

pub unsafe fn put<T>(name: Name, ctx: Ctx, dest: *mut T, source: *const T, n: usize, pe: c_int) {
    // SAFETY: the program's promise.
    unsafe { put_bytes(name, ctx, (dest.addr(), source.cast()), bytes::<T>(n), pe, true) }
}

pub unsafe fn get<T>(name: Name, ctx: Ctx, dest: *mut T, source: *const T, n: usize, pe: c_int) {
    // SAFETY: the program's promise.
    unsafe { get_bytes(name, ctx, (dest.cast(), source.addr()), bytes::<T>(n), pe, true) }
}

pub unsafe fn put_nbi<T>(
    name: Name,
    ctx: Ctx,
    dest: *mut T,
    source: *const T,
    n: usize,
    pe: c_int,
) {
    // SAFETY: the program's promise.
    unsafe { put_bytes(name, ctx, (dest.addr(), source.cast()), bytes::<T>(n), pe, false) }
}

pub unsafe fn get_nbi<T>(
    name: Name,
    ctx: Ctx,
    dest: *mut T,
    source: *const T,
    n: usize,
    pe: c_int,
) {
    // SAFETY: the program's promise.
    unsafe { get_bytes(name, ctx, (dest.cast(), source.addr()), bytes::<T>(n), pe, false) }
}

#[inline(always)]
pub unsafe fn p<T>(name: Name, ctx: Ctx, dest: *mut T, value: T, pe: c_int) {
    // SAFETY: a value of our own.
    unsafe {
        put_bytes(name, ctx, (dest.addr(), (&raw const value).cast()), size_of::<T>(), pe, true)
    }
}

#[inline(always)]
pub unsafe fn g<T>(name: Name, ctx: Ctx, source: *const T, pe: c_int) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let dest = value.as_mut_ptr().cast();
    // SAFETY: a place of our own, which is written as a whole; all bits are values of the types of OpenSHMEM.
    unsafe {
        get_bytes(name, ctx, (dest, source.addr()), size_of::<T>(), pe, true);
        value.assume_init()
    }
}
