//! The engine: requests, matching, progress, and what waits for credits.
//!
//! It moves no message itself. The ways in which messages travel are in [`crate::pt2pt`]; they use what
//! the engine offers ([`inbox`] for what comes, [`process`], [`control`] and [`backlog`] for what goes
//! out), and of the engine's files only [`dispatch`] names them.

pub(crate) mod backlog;
pub mod buffer;
pub(crate) mod contexts;
pub(crate) mod control;
pub(crate) mod dispatch;
pub(crate) mod inbox;
pub mod matching;
mod memory;
pub mod models;
pub mod nodes;
pub mod peers;
pub mod process;
pub(crate) mod progress;
pub(crate) mod quota;
pub mod requests;
pub mod several;
pub mod traffic;
pub mod wait_policy;
