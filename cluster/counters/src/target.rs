//! What is counted together: a process with its threads and children, from its start or from now on.

use crate::allowed::Offer;
use crate::counter::Counter;
use crate::estimate::{Estimate, Reading, Series};
use crate::events::Event;
use std::os::fd::BorrowedFd;

/// When counting begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Now,
    /// When the thread calls `execve`.
    AtExec,
    /// When the program says so, see `include/hpvm_region.h`.
    AtRegion,
}

/// One process or several that are counted as one.
#[derive(Debug)]
pub struct Target {
    /// In the order of the offer: for each event its counters, one for each thread that was there.
    counters: Vec<Vec<Counter>>,
    series: Vec<Series>,
    /// Events that could not be opened on some thread, so that their values are not whole.
    lacking: Vec<bool>,
}

impl Target {
    /// Counts in these threads and what they start. A thread that is gone meanwhile has nothing to be counted.
    pub fn open(offer: &Offer, threads: &[i32], start: Start) -> Target {
        let mut target = Target {
            counters: offer.events.iter().map(|_| Vec::new()).collect(),
            series: vec![Series::default(); offer.events.len()],
            lacking: vec![false; offer.events.len()],
        };
        for thread in threads {
            target.add(offer, *thread, start);
        }
        target
    }

    /// Counts in processes that run: in all threads that they have, and all that those start from now on.
    pub fn attach(offer: &Offer, processes: &[i32]) -> Target {
        let threads: Vec<i32> = processes.iter().flat_map(|process| threads_of(*process)).collect();
        Target::open(offer, &threads, Start::Now)
    }

    fn add(&mut self, offer: &Offer, thread: i32, start: Start) {
        let mut leaders: Vec<(u8, usize)> = Vec::new();
        for (i, event) in offer.events.iter().enumerate() {
            let leader =
                leaders.iter().find(|(group, _)| event.group != 0 && *group == event.group);
            let leader = leader.and_then(|(_, at)| self.counters[*at].last());
            let open = |leader| Counter::open(event, thread, start, leader, offer.user_only);
            // A pair that no counters are left for is counted one by one.
            match open(leader).or_else(|_| open(None)) {
                Ok(counter) => {
                    self.counters[i].push(counter);
                    leaders.push((event.group, i));
                }
                Err(error) => self.lacking[i] |= error.raw_os_error() != Some(libc::ESRCH),
            }
        }
    }

    /// Reads all events once.
    pub fn read(&mut self) {
        for (counters, series) in self.counters.iter().zip(&mut self.series) {
            // Without one of them the sum would go back, and a series that goes back changes nothing.
            let all: Result<Vec<Reading>, _> = counters.iter().map(Counter::read).collect();
            if let Ok(all) = all {
                series.push(all.into_iter().fold(Reading::default(), Reading::plus));
            }
        }
    }

    /// Counts no further.
    pub fn stop(&self) {
        for counter in self.counters.iter().flatten() {
            // A counter that cannot be stopped goes on, and nobody reads it.
            let _ = counter.stop();
        }
    }

    /// What is known so far, in the order of the offer's events.
    pub fn estimates(&self) -> Vec<Estimate> {
        let of = |(series, lacking): (&Series, &bool)| match lacking {
            true => Estimate { enabled: 1, ..Estimate::default() },
            false => series.estimate(),
        };
        self.series.iter().zip(&self.lacking).map(of).collect()
    }

    /// The descriptors, for handing them to the process itself.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.counters.iter().flatten().map(Counter::fd).collect()
    }

    /// Whether some event is the processor's, and others may have to wait for their turns.
    pub fn may_take_turns(events: &[Event]) -> bool {
        events.iter().any(|event| event.kind == crate::events::Kind::Hardware)
    }
}

/// The threads of a process now.
fn threads_of(process: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{TASK_CLOCK, software};
    use std::time::{Duration, Instant};

    fn value(offer: &Offer, target: &Target, name: &str) -> Option<Estimate> {
        let at = offer.events.iter().position(|event| event.name == name)?;
        Some(target.estimates()[at])
    }

    #[test]
    fn a_thread_and_those_it_starts_are_counted() {
        let offer = Offer::of(software());
        let mut target = Target::open(&offer, &[0], Start::Now);
        let busy = || {
            let end = Instant::now() + Duration::from_millis(30);
            while Instant::now() < end {
                std::hint::black_box(0);
            }
        };
        std::thread::spawn(busy).join().unwrap();
        target.read();
        // Where the kernel permits nothing there is nothing to be seen.
        if let Some(found) = value(&offer, &target, TASK_CLOCK) {
            assert_eq!((found.coverage, found.error), (1.0, Some(0.0)));
            assert!(found.raw > 0 && found.scaled == Some(found.raw as f64), "{found:?}");
        }
        let before = target.estimates();
        target.stop();
        target.read();
        busy();
        target.read();
        let after = value(&offer, &target, TASK_CLOCK).map(|e| e.raw).unwrap_or_default();
        let then = before.first().map(|e| e.raw).unwrap_or_default();
        assert!(after < then + 20_000_000, "{then} {after}");
    }

    #[test]
    fn a_process_that_is_gone_counts_nothing() {
        let offer = Offer::of(software());
        let mut target = Target::attach(&offer, &[i32::MAX]);
        target.read();
        assert!(target.estimates().iter().all(|found| found.enabled == 0));
    }
}
