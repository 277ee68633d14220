//! The server behind `hpvm serve`: HTTP API, sessions, events, page.

pub mod api;
pub mod document;
