//! What the libraries of programming models (`liboshmem.so.1`, `libarmci.so.1`) share: how they call
//! `libmpi_abi.so.1`, which holds the engine; a session of it; waiting for memory; handles; what `HPVM_CHECK` compares.

mod copy;
mod engine;
mod exit;
mod holder;
mod races;
mod session;
mod table;
mod wait;

pub use copy::copy;
pub use engine::{Name, done, fail, fits, models, mpi, onesided, present, started, text};
pub use exit::at_exit;
pub use holder::Holder;
pub use hpvm_say::line as say;
pub use races::{Coded, SinceMeeting, checks, conflict};
pub use session::session;
pub use table::{MAX, Table};
pub use wait::{block, block_long, soon};
