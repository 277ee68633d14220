//! Windows (MPI 5.0, chapter 12): which calls are allowed when, which bytes of one rank go to which of another, and which
//! accesses conflict. Nothing here moves data, waits or knows handles: `hpvm-onesided` moves data, and the C interface waits.

pub mod conflicts;
pub mod epoch;
pub mod kinds;
pub mod layout;
pub mod notice;

pub use epoch::{Epochs, Held};
