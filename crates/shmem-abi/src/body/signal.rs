//! Signals (section 9.8, and 9.10 for the wait).

use super::{amo, rma, wait};
use crate::state::{bytes, state};
use crate::types::{Ctx, DEFAULT, Name};
use core::ffi::c_int;
use hpvm_abi::onesided::Op;
use hpvm_model::fail;
use std::sync::atomic::{AtomicU64, Ordering};

/// `SHMEM_SIGNAL_SET`, `SHMEM_SIGNAL_ADD`
const SET: c_int = 0;
const ADD: c_int = 1;

fn update(name: Name, ctx: Ctx, sig_addr: *mut u64, signal: u64, op: c_int, pe: c_int) {
    let op = match op {
        SET => Op::Replace,
        ADD => Op::Sum,
        _ => fail(name, &format!("sig_op is {op}; expected SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD")),
    };
    let s = state(name);
    let before = s.issued();
    amo::change(name, ctx, sig_addr, op, signal, pe);
    if s.issued() != before {
        s.hasten(name);
    }
}

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn put_signal<T>(
    name: Name,
    ctx: Ctx,
    dest: *mut T,
    source: *const T,
    n: usize,
    sig_addr: *mut u64,
    signal: u64,
    op: c_int,
    pe: c_int,
) {
    let s = state(name);
    let there = s.pe(name, ctx, pe);
    // SAFETY: the program's promise.
    unsafe { rma::put(name, ctx, dest, source, n, pe) }
    // In packets both stay in order, and stores come before a later operation of the processor. Data that did not go by
    // stores must have arrived before a signal that does.
    let data = s.mapped(dest.addr(), bytes::<T>(n), there).is_some();
    if !data && s.mapped(sig_addr.addr(), size_of::<u64>(), there).is_some() {
        s.flush_pe(name, there);
    }
    update(name, ctx, sig_addr, signal, op, pe);
}

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn put_signal_nbi<T>(
    name: Name,
    ctx: Ctx,
    dest: *mut T,
    source: *const T,
    n: usize,
    sig_addr: *mut u64,
    signal: u64,
    op: c_int,
    pe: c_int,
) {
    // SAFETY: the program's promise.
    unsafe { put_signal(name, ctx, dest, source, n, sig_addr, signal, op, pe) }
}

pub unsafe fn signal_set(name: Name, ctx: Ctx, sig_addr: *mut u64, signal: u64, pe: c_int) {
    update(name, ctx, sig_addr, signal, SET, pe);
}

pub unsafe fn signal_add(name: Name, ctx: Ctx, sig_addr: *mut u64, signal: u64, pe: c_int) {
    update(name, ctx, sig_addr, signal, ADD, pe);
}

pub unsafe fn signal_fetch(name: Name, sig_addr: *const u64) -> u64 {
    let s = state(name);
    // SAFETY: none is asked: the address is checked.
    unsafe { amo::fetch(name, DEFAULT, sig_addr, s.me as c_int) }
}

pub unsafe fn signal_wait_until(name: Name, sig_addr: *mut u64, cmp: c_int, value: u64) -> u64 {
    // SAFETY: the program's promise.
    unsafe {
        wait::until(name, sig_addr, cmp, value);
        // Acquire: what came before the signal is seen from here on.
        (*sig_addr.cast::<AtomicU64>()).load(Ordering::Acquire)
    }
}
