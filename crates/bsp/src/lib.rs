//! The supersteps of BSPlib (Hill et al., *BSPlib: the BSP programming library*, Parallel Computing 24, 1998)
//! without C and without MPI.
//!
//! A [`Process`] packs what its program wants of the others, per destination, while it computes, and
//! [`Process::sync`] exchanges all of it in one planned h-relation through a [`Carrier`]:
//!
//! 1. One all-to-all of [`Counts`]: how many bytes come from whom, and whether all mean the same superstep. When
//!    nobody has anything for anybody this is the whole barrier.
//! 2. Registrations, if any process pushed or popped one: one all-gather of block sizes.
//! 3. One packed message for each pair that has something to say ([`outbox`]): small puts, requests of
//!    gets, messages, and announcements of large blocks.
//! 4. Gets are read, before anything is written. Then large blocks and answers travel, each large one
//!    straight to where it belongs, unless another access of the superstep touches the same bytes ([`conflict`]).
//! 5. What the gets brought is written, then the puts: by number of the process, and of one process in the order
//!    of its calls. So the result of a superstep does not depend on timing, which the standard would allow.
//!
//! What other processes sent is checked against our own registrations before memory is touched.

pub mod arena;
pub mod buffer;
pub mod carrier;
pub mod conflict;
pub mod counts;
pub mod fault;
mod outbox;
mod prefetch;
mod process;
mod queue;
mod races;
mod record;
mod registry;
mod superstep;
mod tip;

pub use buffer::{Buffer, Memory};
pub use carrier::{Carrier, Shown, Tag};
pub use counts::Counts;
pub use fault::Fault;
pub use process::{Process, Settings};
pub use queue::Taking;
