//! Windows (MPI 5.0, chapter 12): what may be done when, which bytes of one rank go to which of another, which
//! accesses meet. Nothing here moves data, waits or knows handles: `hpvm-onesided` moves, and the C interface
//! waits.

pub mod conflicts;
pub mod epoch;
pub mod kinds;
pub mod layout;
pub mod notice;

pub use epoch::{Epochs, Held};
