//! Interleaved put and get (section 9.6): blocks of elements at a constant distance.

use crate::far;
use crate::state::{State, state};
use crate::types::{Ctx, Name};
use core::ffi::{c_int, c_void};
use hpvm_abi::onesided::Run;
use hpvm_model::{copy, fail, present};

/// Blocks in bytes: how many, how long, and how far apart at the other PE and here.
#[derive(Clone, Copy)]
struct Blocks {
    count: usize,
    len: usize,
    there: usize,
    here: usize,
}

/// Turns elements into bytes, and refuses strides that overlap blocks of what is written.
fn blocks<T>(name: Name, (there, here): (isize, isize), bsize: usize, count: usize) -> Blocks {
    let stride = |what: &str, stride: isize| match usize::try_from(stride) {
        Ok(stride) if stride > 0 => stride.saturating_mul(size_of::<T>()),
        _ => fail(name, &format!("the stride of the {what} is {stride}; expected 1 or more")),
    };
    Blocks {
        count,
        len: bsize.saturating_mul(size_of::<T>()),
        there: stride("symmetric array", there),
        here: stride("local array", here),
    }
}

/// # Safety
/// The local blocks are valid.
unsafe fn transfer(
    s: &State,
    name: Name,
    (far_side, near): (usize, *mut u8),
    b: Blocks,
    pe: usize,
    puts: bool,
) {
    if b.count == 0 || b.len == 0 {
        return;
    }
    let what = if puts { "source" } else { "destination" };
    present(name, what, near, b.len.saturating_mul(b.count));
    let span = b.there.saturating_mul(b.count - 1).saturating_add(b.len);
    let local = |i: usize| near.wrapping_add(i * b.here);
    let Some(base) = s.mapped(far_side, span, pe) else {
        let run = |i: usize| Run {
            local: local(i).cast::<c_void>(),
            offset: (far_side + i * b.there) as u64,
            len: b.len,
        };
        s.symmetric(name, far_side, span);
        let mut runs: Vec<Run> = (0..b.count).map(run).collect();
        // SAFETY: the caller's promise; all lie inside the span.
        return unsafe { far::runs(s, name, (far_side, span), &mut runs, pe, puts) };
    };
    for i in 0..b.count {
        let there = base.wrapping_add(i * b.there);
        // SAFETY: inside the span; the caller's promise.
        unsafe {
            match puts {
                true => copy(local(i), there, b.len),
                false => copy(there, local(i), b.len),
            }
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn ibput<T>(
    name: Name,
    ctx: Ctx,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    bsize: usize,
    nblocks: usize,
    pe: c_int,
) {
    let s = state(name);
    let pe = s.pe(name, ctx, pe);
    let blocks = blocks::<T>(name, (dst, sst), bsize, nblocks);
    // SAFETY: the program's promise; the source is only read.
    unsafe { transfer(s, name, (dest.addr(), source.cast_mut().cast()), blocks, pe, true) }
}

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn ibget<T>(
    name: Name,
    ctx: Ctx,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    bsize: usize,
    nblocks: usize,
    pe: c_int,
) {
    let s = state(name);
    let pe = s.pe(name, ctx, pe);
    let blocks = blocks::<T>(name, (sst, dst), bsize, nblocks);
    // SAFETY: the program's promise.
    unsafe { transfer(s, name, (source.addr(), dest.cast()), blocks, pe, false) }
}

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn iput<T>(
    name: Name,
    ctx: Ctx,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    n: usize,
    pe: c_int,
) {
    // SAFETY: the program's promise.
    unsafe { ibput(name, ctx, dest, source, dst, sst, 1, n, pe) }
}

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn iget<T>(
    name: Name,
    ctx: Ctx,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    n: usize,
    pe: c_int,
) {
    // SAFETY: the program's promise.
    unsafe { ibget(name, ctx, dest, source, dst, sst, 1, n, pe) }
}
