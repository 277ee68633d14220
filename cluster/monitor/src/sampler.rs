//! The sampler of the host it runs on.

use std::io;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::capacity::Watch;
use crate::rates;
use crate::read::{self, Reading};
use crate::sample::HostSample;

/// Takes samples of this host. The caller sets the pace: once a second, as a rule.
pub struct Sampler {
    started: Instant,
    before: Option<Reading>,
    watch: Option<Watch>,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler::new()
    }
}

impl Sampler {
    /// A sampler without a folder: no [`Capacity`](crate::Capacity).
    pub fn new() -> Sampler {
        Sampler { started: Instant::now(), before: None, watch: None }
    }

    /// A sampler that also says how much room there is where `folder` lies.
    /// Asks once, here, and then in a thread of its own, for a dead file server never answers.
    pub fn with_folder(folder: impl Into<PathBuf>) -> Sampler {
        Sampler { watch: Some(Watch::new(folder.into())), ..Sampler::new() }
    }

    /// The sample at `now`, with rates since the last call. The first one has none.
    ///
    /// # Errors
    /// See [`read::read`]. The next call may succeed.
    pub fn sample(&mut self, now: SystemTime) -> io::Result<HostSample> {
        // A clock before 1970 is not set at all; the sample says 0.
        let at_ms = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let mut reading = read::read(self.started.elapsed(), at_ms)?;
        reading.capacity = self.watch.as_ref().and_then(Watch::capacity);
        let sample = match &self.before {
            Some(before) => rates::between(before, &reading),
            None => rates::first(&reading),
        };
        self.before = Some(reading);
        Ok(sample)
    }
}
