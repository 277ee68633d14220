//! Types of `shmem.h`.

use core::ffi::c_int;

pub use hpvm_model::Name;

/// `shmem_ctx_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Ctx(pub usize);

/// `SHMEM_CTX_INVALID`
pub const NO_CTX: Ctx = Ctx(0);
/// `SHMEM_CTX_DEFAULT`
pub const DEFAULT: Ctx = Ctx(1);

/// `shmem_team_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Team(pub usize);

/// `SHMEM_TEAM_INVALID`
pub const NO_TEAM: Team = Team(0);
/// `SHMEM_TEAM_WORLD`
pub const WORLD: Team = Team(1);
/// `SHMEM_TEAM_SHARED`
pub const SHARED: Team = Team(2);

/// `shmem_team_config_t`
#[repr(C)]
pub struct TeamConfig {
    pub num_contexts: c_int,
}

/// `SHMEM_TEAM_NUM_CONTEXTS`
pub const TEAM_NUM_CONTEXTS: i64 = 1;

/// `shmem_ctx_session_config_t`
#[repr(C)]
pub struct SessionConfig {
    pub total_ops: usize,
}

/// `long double`, which Rust does not have, in memory.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LongDouble([u8; 16]);
