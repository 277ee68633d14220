//! Samples of one host, as a monitor shows them: processors, memory, network, disks, graphics processors.
//!
//! The kernel counts; a monitor wants rates. [`read`] takes a [`Reading`] of the kernel's counters,
//! [`rates`] turns two readings into a [`HostSample`] without a clock or a file, so a test makes up
//! the readings, and [`History`] keeps what was sampled in a bounded memory, gaps as gaps.
//! [`Sampler`] is the three together for the host it runs on.
//!
//! [`jobs`] looks at running jobs: their ranks show in shared memory what they wait for.

mod capacity;
mod gpu;
pub mod history;
pub mod jobs;
pub mod rates;
pub mod read;
mod sample;
mod sampler;
mod watch;

pub use gpu::Drivers;
pub use history::{History, Series};
pub use read::Reading;
pub use sample::{Capacity, Cpu, CpuUse, Disk, Gpu, HostSample, Interface, Memory, Network};
pub use sampler::Sampler;
