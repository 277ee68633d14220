//! Put and get (section 9.6).

use crate::far;
use crate::state::{bytes, near, state};
use crate::types::{Ctx, Name};
use core::ffi::c_int;
use core::mem::MaybeUninit;
use hpvm_model::{copy, present};

/// # Safety
/// `source` is readable for `len` bytes; without `WAIT` until they are complete.
#[inline(always)]
unsafe fn put_bytes<const WAIT: bool>(
    name: Name,
    ctx: Ctx,
    (dest, source): (usize, *const u8),
    len: usize,
    pe: c_int,
) {
    // SAFETY: mapped for `len` bytes; the caller's promise.
    unsafe {
        match near(ctx, dest, len, pe) {
            Some(to) if !source.is_null() => copy(source, to, len),
            _ => put_elsewhere::<WAIT>(name, ctx, (dest, source), len, pe),
        }
    }
}

/// What `put_bytes` does where `near` says nothing, or where the source is null.
///
/// # Safety
/// That of `put_bytes`.
#[inline(never)]
unsafe fn put_elsewhere<const WAIT: bool>(
    name: Name,
    ctx: Ctx,
    (dest, source): (usize, *const u8),
    len: usize,
    pe: c_int,
) {
    let s = state(name);
    let pe = s.pe(name, ctx, pe);
    present(name, "source", source, len);
    // SAFETY: mapped for `len` bytes; the caller's promise.
    unsafe {
        match s.mapped(dest, len, pe) {
            Some(to) => copy(source, to, len),
            None => far::put(s, name, dest, source, len, pe, WAIT),
        }
    }
}

/// # Safety
/// `dest` is writable for `len` bytes; without `WAIT` until they are complete.
#[inline(always)]
unsafe fn get_bytes<const WAIT: bool>(
    name: Name,
    ctx: Ctx,
    (dest, source): (*mut u8, usize),
    len: usize,
    pe: c_int,
) {
    // SAFETY: mapped for `len` bytes; the caller's promise.
    unsafe {
        match near(ctx, source, len, pe) {
            Some(from) if !dest.is_null() => copy(from, dest, len),
            _ => get_elsewhere::<WAIT>(name, ctx, (dest, source), len, pe),
        }
    }
}

/// What `get_bytes` does where `near` says nothing, or where the destination is null.
///
/// # Safety
/// That of `get_bytes`.
#[inline(never)]
unsafe fn get_elsewhere<const WAIT: bool>(
    name: Name,
    ctx: Ctx,
    (dest, source): (*mut u8, usize),
    len: usize,
    pe: c_int,
) {
    let s = state(name);
    let pe = s.pe(name, ctx, pe);
    present(name, "destination", dest, len);
    // SAFETY: mapped for `len` bytes; the caller's promise.
    unsafe {
        match s.mapped(source, len, pe) {
            Some(from) => copy(from, dest, len),
            None => far::get(s, name, dest, source, len, pe, WAIT),
        }
    }
}

pub unsafe fn put<T>(name: Name, ctx: Ctx, dest: *mut T, source: *const T, n: usize, pe: c_int) {
    // SAFETY: the program's promise.
    unsafe { put_bytes::<true>(name, ctx, (dest.addr(), source.cast()), bytes::<T>(n), pe) }
}

pub unsafe fn get<T>(name: Name, ctx: Ctx, dest: *mut T, source: *const T, n: usize, pe: c_int) {
    // SAFETY: the program's promise.
    unsafe { get_bytes::<true>(name, ctx, (dest.cast(), source.addr()), bytes::<T>(n), pe) }
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
    unsafe { put_bytes::<false>(name, ctx, (dest.addr(), source.cast()), bytes::<T>(n), pe) }
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
    unsafe { get_bytes::<false>(name, ctx, (dest.cast(), source.addr()), bytes::<T>(n), pe) }
}

#[inline(always)]
pub unsafe fn p<T>(name: Name, ctx: Ctx, dest: *mut T, value: T, pe: c_int) {
    // SAFETY: mapped for as many bytes.
    unsafe {
        match near(ctx, dest.addr(), size_of::<T>(), pe) {
            Some(to) => to.cast::<T>().write_unaligned(value),
            None => p_elsewhere(name, ctx, dest, value, pe),
        }
    }
}

/// A function of its own, because a value whose address is taken lies on the stack.
///
/// # Safety
/// That of `put_elsewhere`.
#[inline(never)]
unsafe fn p_elsewhere<T>(name: Name, ctx: Ctx, dest: *mut T, value: T, pe: c_int) {
    let source = (&raw const value).cast();
    // SAFETY: a value of our own.
    unsafe { put_elsewhere::<true>(name, ctx, (dest.addr(), source), size_of::<T>(), pe) }
}

#[inline(always)]
pub unsafe fn g<T>(name: Name, ctx: Ctx, source: *const T, pe: c_int) -> T {
    // SAFETY: mapped for as many bytes; all bits are values of the types of OpenSHMEM.
    unsafe {
        match near(ctx, source.addr(), size_of::<T>(), pe) {
            Some(from) => from.cast::<T>().read_unaligned(),
            None => g_elsewhere(name, ctx, source, pe),
        }
    }
}

/// As `p_elsewhere`.
///
/// # Safety
/// That of `get_elsewhere`.
#[inline(never)]
unsafe fn g_elsewhere<T>(name: Name, ctx: Ctx, source: *const T, pe: c_int) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let dest = value.as_mut_ptr().cast();
    // SAFETY: a place of our own, which is written as a whole; all bits are values of the types of OpenSHMEM.
    unsafe {
        get_elsewhere::<true>(name, ctx, (dest, source.addr()), size_of::<T>(), pe);
        value.assume_init()
    }
}
