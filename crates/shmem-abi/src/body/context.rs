//! Contexts (section 9.5). What is mapped needs none; what goes in packets is completed for all of them at once, which
//! is more than is asked.

use super::team::{self, TeamObject};
use crate::state::{State, state};
use crate::types::{Ctx, DEFAULT, NO_CTX, NO_TEAM, Name, SessionConfig, Team, WORLD};
use core::ffi::{c_int, c_long};
use hpvm_model::fail;
use std::sync::Arc;

/// A context that the program has made.
pub struct Context {
    pub team: Arc<TeamObject>,
    handle_of_team: Team,
}

/// `SHMEM_CTX_SERIALIZED`, `SHMEM_CTX_PRIVATE`, `SHMEM_CTX_NOSTORE`
const OPTIONS: c_long = 7;

/// What is wrong with a handle.
pub fn wrong(ctx: Ctx) -> String {
    match ctx {
        NO_CTX => "the context is SHMEM_CTX_INVALID".into(),
        Ctx(handle) => format!("{handle:#x} is no context, or one that has been destroyed"),
    }
}

/// The context of a handle other than the default.
pub fn checked(s: &'static State, name: Name, ctx: Ctx) -> &'static Context {
    match s.contexts.get(ctx.0) {
        Some(context) => context,
        None => fail(name, &wrong(ctx)),
    }
}

pub unsafe fn create(name: Name, options: c_long, ctx: *mut Ctx) -> c_int {
    // SAFETY: the program's promise.
    unsafe { create_on_team(name, WORLD, options, ctx) }
}

pub unsafe fn create_on_team(name: Name, team: Team, options: c_long, ctx: *mut Ctx) -> c_int {
    let s = state(name);
    team::expect_place(name, "ctx", ctx);
    // SAFETY: not null; the program's place for a handle, here and below.
    unsafe { *ctx = NO_CTX };
    if options & !OPTIONS != 0 {
        fail(
            name,
            &format!("options {options:#x}; expected SHMEM_CTX_SERIALIZED, PRIVATE and NOSTORE"),
        );
    }
    let Some(object) = team::checked(s, name, team) else { return -1 };
    let context = Context { team: object.clone(), handle_of_team: team };
    match s.contexts.insert(context) {
        Some(handle) => {
            // SAFETY: as above.
            unsafe { *ctx = Ctx(handle) };
            0
        }
        None => -1,
    }
}

pub unsafe fn destroy(name: Name, ctx: Ctx) {
    let s = state(name);
    match ctx {
        NO_CTX => return,
        DEFAULT => fail(name, "SHMEM_CTX_DEFAULT is not destroyed by the program"),
        ctx => drop(checked(s, name, ctx).team.clone()),
    }
    s.quiet(name);
    s.contexts.remove(ctx.0);
}

pub unsafe fn get_team(name: Name, ctx: Ctx, team: *mut Team) -> c_int {
    let s = state(name);
    let (found, code) = match ctx {
        NO_CTX => (NO_TEAM, -1),
        DEFAULT => (WORLD, 0),
        ctx => (checked(s, name, ctx).handle_of_team, 0),
    };
    // SAFETY: the program's place for a handle.
    unsafe { *team = found };
    code
}

/// Hints, which change nothing.
pub unsafe fn session_start(
    name: Name,
    ctx: Ctx,
    _: c_long,
    config: *const SessionConfig,
    mask: c_long,
) {
    let s = state(name);
    if !matches!(ctx, NO_CTX | DEFAULT) {
        checked(s, name, ctx);
    }
    if mask != 0 && config.is_null() {
        fail(name, "config is null, and config_mask names values");
    }
}

pub unsafe fn session_stop(name: Name, ctx: Ctx) {
    let s = state(name);
    if !matches!(ctx, NO_CTX | DEFAULT) {
        checked(s, name, ctx);
    }
}
