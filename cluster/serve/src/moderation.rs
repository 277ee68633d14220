//! Reports of many hosts are taken in bunches, as a network card's interrupts are (interrupt
//! moderation): the server sleeps a little longer before it looks at its sockets again.
//!
//! A thousand hosts that report once a second wake the server a thousand times a second, each time with
//! nothing of it in the processor's caches; that costs more than the reports do. So while more than
//! [`REPORTS_PER_SECOND_MIN`] reports come in a second, at most one look at the sockets is made in each [`INTERVAL`].
//! Everybody else's requests are then late by as much, which no person notices. With fewer hosts
//! nothing is delayed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many reports in a second are taken in bunches. Each wake-up costs some 50 µs, so fewer cost less than 1 %
/// of a processor.
const REPORTS_PER_SECOND_MIN: f64 = 200.0;
/// From one look at the sockets to the next, at least: at 1,000 reports a second ten at once; twenty
/// at once cost no less (bench/NOTES.md).
const INTERVAL: Duration = Duration::from_millis(10);
/// What the rate is averaged over.
const WINDOW: Duration = Duration::from_secs(1);

/// Counts reports, and says how long to sleep.
#[derive(Debug)]
pub struct Moderation {
    reports: AtomicU64,
    pace: Mutex<Pace>,
}

impl Moderation {
    pub fn new(now: Instant) -> Moderation {
        Moderation { reports: AtomicU64::new(0), pace: Mutex::new(Pace::new(now)) }
    }

    /// A host has reported.
    pub fn reported(&self) {
        // Relaxed: a count, which guards nothing.
        self.reports.fetch_add(1, Ordering::Relaxed);
    }

    /// Sleeps, if it is too early to look at the sockets. The runtime's worker calls it when it has nothing
    /// to do.
    pub fn before_park(&self) {
        let reports = self.reports.load(Ordering::Relaxed);
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = pace.pause(Instant::now(), reports);
        drop(pace);
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }
}

/// The decision, of times and counts alone.
#[derive(Debug)]
struct Pace {
    /// When the window of the rate began, and the reports until then.
    window: (Instant, u64),
    /// Reports come that often.
    many: bool,
    /// The sockets are not looked at again before.
    next: Instant,
}

impl Pace {
    fn new(now: Instant) -> Pace {
        Pace { window: (now, 0), many: false, next: now }
    }

    /// How long to sleep at `now`, after so many reports altogether.
    fn pause(&mut self, now: Instant, reports: u64) -> Duration {
        let (begun, before) = self.window;
        let passed = now.saturating_duration_since(begun);
        if passed >= WINDOW {
            self.many = (reports - before) as f64 > REPORTS_PER_SECOND_MIN * passed.as_secs_f64();
            self.window = (now, reports);
        }
        if !self.many {
            return Duration::ZERO;
        }
        let pause = self.next.saturating_duration_since(now);
        self.next = now + pause + INTERVAL;
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server to which `rate` reports come each second, evenly. It answers those that have come,
    /// then looks for more, for five seconds; how often it looks in the last of them, and what it slept at most.
    fn run(rate: u32) -> (u32, Duration) {
        let begin = Instant::now();
        let mut pace = Pace::new(begin);
        let (mut now, mut looks, mut longest) = (begin, 0, Duration::ZERO);
        while now < begin + Duration::from_secs(5) {
            let come = (now - begin).as_secs_f64() * f64::from(rate);
            let pause = pace.pause(now, come as u64);
            longest = longest.max(pause);
            let next = (come.floor() + 1.0) / f64::from(rate);
            let microsecond = Duration::from_micros(1);
            now = (now + pause).max(begin + Duration::from_secs_f64(next) + microsecond);
            looks += u32::from(now >= begin + Duration::from_secs(4));
        }
        (looks, longest)
    }

    #[test]
    fn few_hosts_wait_for_nothing() {
        for rate in [1, 20, 190] {
            let (looks, longest) = run(rate);
            assert_eq!(longest, Duration::ZERO, "{rate} reports a second");
            assert!(looks.abs_diff(rate) <= 1, "{rate} reports a second: {looks} looks");
        }
    }

    #[test]
    fn many_hosts_are_heard_at_intervals() {
        for rate in [300, 1000, 5000] {
            let (looks, longest) = run(rate);
            assert!((92..=101).contains(&looks), "{rate} reports a second: {looks} looks");
            assert!(longest <= INTERVAL, "{rate} reports a second: {longest:?}");
        }
    }

    #[test]
    fn it_ends_with_the_reports() {
        let begin = Instant::now();
        let mut pace = Pace::new(begin);
        let second = Duration::from_secs(1);
        pace.pause(begin + second, 1000);
        assert!(!pace.pause(begin + second, 1000).is_zero());
        assert!(pace.pause(begin + 2 * second, 1010).is_zero());
        assert!(pace.pause(begin + 2 * second, 1010).is_zero());
    }
}
