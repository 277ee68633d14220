//! What was sampled in the last hour and the last day, in bounded memory, gaps as gaps.
//!
//! Memory: a slot takes 8 bytes at most, fractions to 0.4 %, rates to 1.6 %. What is older than the
//! newest 120 slots lies in chunks that take as many bits as the values in them vary by: up to 5.3
//! bytes a slot for a busy host, so 35 KB with a day behind it, and next to nothing for an idle one.

mod chunk;
mod packed;
mod ring;

use serde::{Deserialize, Serialize};

use crate::sample::HostSample;
use ring::Ring;

/// The last hour: a slot per second.
pub const HOUR: Resolution = Resolution { step_ms: 1000, slots: 3600 };

/// The last day: a slot for 30 seconds, the mean of what was sampled in them. A chart as wide as a
/// screen has no room for more points.
pub const DAY: Resolution = Resolution { step_ms: 30_000, slots: 2880 };

/// How finely and how far back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    pub step_ms: u64,
    pub slots: usize,
}

/// What is kept of a sample. `None` is a gap: nobody knows, which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Processors: busy fraction of all.
    pub cpu: Option<f32>,
    /// Memory: used fraction, without what the kernel would give back.
    pub memory: Option<f32>,
    /// Bytes per second.
    pub received: Option<f32>,
    pub sent: Option<f32>,
    pub read: Option<f32>,
    pub written: Option<f32>,
}

impl From<&HostSample> for Point {
    fn from(sample: &HostSample) -> Point {
        let memory = sample.memory;
        let used = memory.total.saturating_sub(memory.available) as f32;
        Point {
            cpu: sample.cpu.as_ref().map(|cpu| cpu.total.busy()),
            memory: (memory.total > 0).then(|| used / memory.total as f32),
            received: sample.network.as_ref().map(|network| network.received as f32),
            sent: sample.network.as_ref().map(|network| network.sent as f32),
            read: sample.disk.read.map(|rate| rate as f32),
            written: sample.disk.written.map(|rate| rate as f32),
        }
    }
}

/// The history of one host at two resolutions.
#[derive(Clone, Debug)]
pub struct History {
    hour: Ring,
    day: Ring,
}

impl Default for History {
    fn default() -> History {
        History::new()
    }
}

impl History {
    pub fn new() -> History {
        History { hour: Ring::new(HOUR), day: Ring::new(DAY) }
    }

    /// Adds a sample. Its time is the host's own: when that was set back, what is known of the time
    /// that comes again is dropped.
    pub fn push(&mut self, sample: &HostSample) {
        let point = Point::from(sample);
        self.hour.push(sample.at_ms, &point);
        self.day.push(sample.at_ms, &point);
    }

    /// A slot per second, up to an hour back from the last sample.
    pub fn hour(&self) -> Series {
        self.hour.series()
    }

    /// A slot per 30 seconds, up to a day back from the last sample.
    pub fn day(&self) -> Series {
        self.day.series()
    }
}

/// Columns of equal length, oldest first; `null` where nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Series {
    /// Time of the first slot, in milliseconds since 1970-01-01 UTC.
    pub start_ms: u64,
    /// Time from one slot to the next.
    pub step_ms: u64,
    /// Fraction of all processors that was busy.
    pub cpu: Vec<Option<f32>>,
    /// Fraction of the memory that was used.
    pub memory: Vec<Option<f32>>,
    /// Bytes per second.
    pub received: Vec<Option<f32>>,
    pub sent: Vec<Option<f32>>,
    pub read: Vec<Option<f32>>,
    pub written: Vec<Option<f32>>,
}
