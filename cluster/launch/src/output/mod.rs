//! Brings the ranks' output together: [`mux`] decides what is written when, [`sink`] writes it.

pub mod mux;
pub mod sink;
