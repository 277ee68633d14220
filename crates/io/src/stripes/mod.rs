//! A file in stripes: its bytes lie by turns in one file on each of several hosts, and its name holds a
//! [`Manifest`] that says where.
//!
//! Neither manifest nor stripe is trusted: a stripe is used only where its header has the manifest's set,
//! number and layout.

mod layout;
mod locks;
mod manifest;
mod parts;
pub mod request;
mod stripe;

pub use layout::Layout;
pub use locks::{Holder, Locks};
pub use manifest::{Manifest, StripeLocation, escaped, unescaped};
pub use parts::{Part, Share, Shares, before_end};
pub use stripe::{HEADER, Stripe, remove};

/// `striping_unit` where nobody says otherwise.
pub const DEFAULT_UNIT: u64 = 1 << 20;
/// Less would be a message for every few bytes; more would be memory of the rank that gathers one.
pub const UNITS: std::ops::RangeInclusive<u64> = 4096..=64 << 20;
/// Hosts that one file may have stripes on.
pub const MAX_STRIPES: usize = 1 << 14;
