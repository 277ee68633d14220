//! The engine: requests, matching, progress, and what waits for credits.
//!
//! The engine moves no message itself. The methods by which messages travel are in [`crate::pt2pt`]. They use
//! the engine: [`inbox`] for what comes in, and [`process`], [`control`] and [`backlog`] for what goes out. Of
//! the engine's files only [`dispatch`] names the methods.

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
