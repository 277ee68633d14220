//! The engine: requests, matching, progress, and what waits for credits. It moves no message itself; the
//! ways in which messages travel are in [`crate::pt2pt`].

pub(crate) mod backlog;
pub(crate) mod control;
pub mod matching;
pub mod process;
pub(crate) mod progress;
pub(crate) mod quota;
pub mod requests;
pub mod several;
