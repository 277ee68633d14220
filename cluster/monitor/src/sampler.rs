//! The sampler of the host it runs on.

use std::io;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::capacity;
use crate::gpu::Drivers;
use crate::rates;
use crate::read::{self, Reading};
use crate::sample::{Capacity, Gpu, HostSample};
use crate::watch::Watch;

/// Takes samples of this host. The caller sets the pace: once a second, as a rule.
pub struct Sampler {
    started: Instant,
    before: Option<Reading>,
    capacity: Option<Watch<Capacity>>,
    gpus: Option<Watch<Vec<Gpu>>>,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler::new()
    }
}

impl Sampler {
    /// A sampler without a folder and graphics processors.
    pub fn new() -> Sampler {
        Sampler { started: Instant::now(), before: None, capacity: None, gpus: None }
    }

    /// A sampler that also says how much room there is where `folder` lies, and what graphics processors do.
    /// Asks for the room once, here, and then in a thread of its own, for a dead file server never answers.
    pub fn with_folder(folder: impl Into<PathBuf>) -> Sampler {
        let capacity = Some(capacity::watch(folder.into()));
        Sampler { capacity, ..Sampler::with_drivers(Drivers::default()) }
    }

    /// A sampler that also says what the graphics processors of these drivers do.
    pub fn with_drivers(drivers: Drivers) -> Sampler {
        Sampler { gpus: drivers.watch(), ..Sampler::new() }
    }

    /// The sample at `now`, with rates since the last call. The first one has none.
    ///
    /// # Errors
    /// See [`read::read`]. The next call may succeed.
    pub fn sample(&mut self, now: SystemTime) -> io::Result<HostSample> {
        // A clock before 1970 is not set at all; the sample says 0.
        let at_ms = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let mut reading = read::read(self.started.elapsed(), at_ms)?;
        reading.capacity = self.capacity.as_ref().and_then(Watch::answer);
        let mut sample = match &self.before {
            Some(before) => rates::between(before, &reading),
            None => rates::first(&reading),
        };
        sample.gpus = self.gpus.as_ref().and_then(Watch::answer).unwrap_or_default();
        self.before = Some(reading);
        Ok(sample)
    }
}
