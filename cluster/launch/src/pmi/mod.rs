//! The process manager's side of the PMI-1 wire protocol, without any input or output:
//! [`line`] cuts a byte stream into commands, [`server`] answers them, [`names`] those about published
//! names, [`tree`] joins the servers of several hosts.

pub mod line;
pub mod names;
pub mod server;
pub mod tree;

/// Longest name of a key-value space, with its final zero as clients count it.
pub const NAME_MAX: usize = 256;
/// Longest key.
pub const KEY_MAX: usize = 64;
/// Longest value.
pub const VALUE_MAX: usize = 1024;
/// Longest line a client may send: the three above, the command and room for a spawn's argument.
pub const LINE_MAX: usize = 4096;
