//! Windows (MPI 5.0, chapter 12): what may be done when, how locks are queued for, which bytes of one rank go to
//! which of another. Nothing here moves data, waits or knows handles: `hpvm-onesided` moves, and the C interface
//! waits.

pub mod epoch;
pub mod kinds;
pub mod layout;
pub mod lock;
pub mod notice;

pub use epoch::{Epochs, Held};
