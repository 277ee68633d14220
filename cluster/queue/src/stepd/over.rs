//! How a job ends that has gone beyond a limit of its own, in the words that its record has.

use std::time::Duration;

use super::cgroup::Pressure;
use crate::job::{Outcome, OutcomeKind};

/// What a limit of processes is.
const ASKED: &str = "were asked for, the launcher's included";

/// A job that stands still for so much of the time, in percent, for so long, does not come to its end. That is when
/// systemd-oomd ends a unit, too.
const STILL: f64 = 60.0;
const STILL_FOR: Duration = Duration::from_secs(30);
/// With less than this for pages of files a program has not even its own instructions in memory.
const LEFT: u64 = 4 << 20;
/// So many pages read again between two looks, four a second at most, are no chance.
const REREAD_PAGES_MIN: u64 = 10;

/// How long a job has got no further at the limit of memory that the kernel keeps: as long as the kernel finds something
/// to push out, be it the program itself, which is read again at once, it refuses nothing and ends nobody.
#[derive(Debug, Default)]
pub struct Stalls {
    since: Option<Duration>,
    fetched_again: u64,
}

impl Stalls {
    /// Looks at `now`. Whether the job, which is held to `limit` bytes, has got no further for too long.
    pub fn see(&mut self, seen: Pressure, limit: u64, now: Duration) -> bool {
        let again = seen.fetched_again.saturating_sub(self.fetched_again);
        self.fetched_again = seen.fetched_again;
        // Waiting for a file is a stall to the kernel only where it has to do with blocks.
        let turns = again >= REREAD_PAGES_MIN && seen.kept >= limit.saturating_sub(LEFT);
        if !turns && seen.stalled < STILL {
            self.since = None;
            return false;
        }
        now.saturating_sub(*self.since.get_or_insert(now)) >= STILL_FOR
    }
}

/// It got no further for want of memory.
pub fn starved(limit: u64) -> Outcome {
    let seconds = STILL_FOR.as_secs();
    let text = format!(
        "it needed more memory than the {limit} bytes that it had asked for: for {seconds} s it did hardly anything but \
         read again what had to leave its memory"
    );
    Outcome::of(OutcomeKind::MemoryLimit).with(text)
}

/// It used so many bytes of memory: over, if that is more than its limit.
pub fn memory(used: u64, limit: u64) -> Option<Outcome> {
    let text = format!("it used {used} bytes of memory; it had asked for {limit}");
    (used > limit).then(|| Outcome::of(OutcomeKind::MemoryLimit).with(text))
}

/// The kernel has refused it more memory than its limit.
pub fn refused_memory(limit: u64) -> Outcome {
    let text = format!("it needed more memory than the {limit} bytes that it had asked for");
    Outcome::of(OutcomeKind::MemoryLimit).with(text)
}

/// It had so many processes and threads: over, if those are more than its limit.
pub fn processes(there: u64, limit: u32) -> Option<Outcome> {
    let text = format!("it had {there} processes and threads; {limit} {ASKED}");
    (there > u64::from(limit)).then(|| Outcome::of(OutcomeKind::ProcessLimit).with(text))
}

/// The kernel has refused it more processes than its limit.
pub fn refused_processes(limit: u32) -> Outcome {
    let text = format!("it needed more than the {limit} processes and threads that {ASKED}");
    Outcome::of(OutcomeKind::ProcessLimit).with(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_stands_still_for_long_is_told() {
        let mut stalls = Stalls::default();
        let mut see = |stalled, second| {
            let seen = Pressure { stalled, ..Pressure::default() };
            stalls.see(seen, 1 << 30, Duration::from_secs(second))
        };
        assert!(!see(99.0, 0) && !see(61.0, 29));
        // It went on in between.
        assert!(!see(59.0, 30) && !see(99.0, 31) && !see(99.0, 60));
        assert!(see(99.0, 61) && see(99.0, 62));
        assert!(!see(0.0, 63) && !see(99.0, 64));
        assert!(starved(1 << 20).detail.is_some_and(|text| text.contains("the 1048576 bytes")));
    }

    #[test]
    fn who_reads_its_own_program_again_and_again_is_told() {
        let limit = 1 << 30;
        let ends = |kept: u64, pages: u64| {
            let mut stalls = Stalls::default();
            let seen = |second| Pressure { stalled: 20.0, kept, fetched_again: pages * second };
            (0..60).any(|second| stalls.see(seen(second), limit, Duration::from_secs(second)))
        };
        assert!(ends(limit - (1 << 20), 100));
        // It reads nothing again, or has room for files.
        assert!(!ends(limit - (1 << 20), 1) && !ends(limit - (64 << 20), 100));
    }
}
