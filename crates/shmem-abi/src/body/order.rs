//! Ordering and completion (section 9.11). Where memory is mapped, both are a fence of the processor. What went in
//! packets to one PE stays in order by itself; a PE of this host that is reached both ways needs a flush between.

use super::context;
use crate::state::state;
use crate::types::{Ctx, DEFAULT, NO_CTX, Name};
use core::ffi::c_int;

#[inline]
pub unsafe fn quiet(name: Name, ctx: Ctx) {
    let s = state(name);
    if ctx != DEFAULT && ctx != NO_CTX {
        context::checked(s, name, ctx);
    }
    s.quiet(name);
}

/// A fence that also completes is one that orders.
#[inline]
pub unsafe fn fence(name: Name, ctx: Ctx) {
    // SAFETY: nothing is asked.
    unsafe { quiet(name, ctx) }
}

pub unsafe fn pe_quiet(name: Name, ctx: Ctx, pes: *const c_int, count: usize) {
    let s = state(name);
    for i in 0..count {
        // SAFETY: the program names an array of `count`.
        s.pe(name, ctx, unsafe { *pes.add(i) });
    }
    s.quiet(name);
}
