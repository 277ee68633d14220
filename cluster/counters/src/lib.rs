//! Events of processes as the kernel counts them (`perf_event_open(2)`): hardware counters where the processor has
//! some, software events always. Programs are neither relinked nor preloaded; threads and children are counted with
//! their parents.
//!
//! There may be more events than counters. The kernel then counts them in turns, and says for each how long it was
//! wanted (time enabled) and how long it was counted (time running). What a value means then is arithmetic, in
//! [`estimate`], which knows no kernel.

pub mod allowed;
pub mod counter;
pub mod derived;
pub mod estimate;
pub mod events;
pub mod pmu;
pub mod report;
pub mod target;

pub use estimate::{Estimate, Reading, Series};
pub use events::{Event, Kind};
pub use report::{Part, Report};
pub use target::{Start, Target};
