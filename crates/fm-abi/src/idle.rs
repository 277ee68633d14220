//! Notices a program that does nothing but extract in vain, so that its host may let it sleep.

use std::time::{Duration, Instant};

/// Extracts in vain, one after the other, before the clock is looked at.
const STREAK: u32 = 64;
/// A program that does something else between two extracts takes longer than this for a streak.
const BUSY: Duration = Duration::from_micros(250);
/// And longer than this between a sleep and the next extract.
const AWAKE: Duration = Duration::from_micros(50);

#[derive(Default)]
pub(crate) struct Idle {
    vain: u32,
    /// Since when we count, and what is too long for a program that only waits.
    since: Option<(Instant, Duration)>,
}

impl Idle {
    /// Something came.
    pub fn worked(&mut self) {
        *self = Idle::default();
    }

    /// Nothing came. True: the program only waits, so it may as well sleep.
    pub fn nothing(&mut self) -> bool {
        self.nothing_at(Instant::now)
    }

    fn nothing_at(&mut self, clock: impl FnOnce() -> Instant) -> bool {
        self.vain += 1;
        if self.vain < STREAK {
            return false;
        }
        self.vain = 0;
        let now = clock();
        let before = self.since.replace((now, BUSY));
        before.is_some_and(|(before, limit)| now - before < limit)
    }

    /// To be called after the sleep: its time is not the program's.
    pub fn slept(&mut self) {
        self.slept_at(Instant::now());
    }

    fn slept_at(&mut self, now: Instant) {
        // One more vain extract is enough to sleep again.
        self.vain = STREAK - 1;
        self.since = Some((now, AWAKE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_streak_without_other_work_sleeps() {
        let mut idle = Idle::default();
        let start = Instant::now();
        let at = |micros| move || start + Duration::from_micros(micros);
        assert!((0..STREAK).all(|_| !idle.nothing_at(at(0))), "the first streak starts the clock");
        assert!((1..STREAK).all(|_| !idle.nothing_at(at(1))));
        assert!(idle.nothing_at(at(2)));
        idle.slept_at(at(1000)());
        assert!(idle.nothing_at(at(1010)), "still nothing");
        idle.slept_at(at(2000)());
        assert!(!idle.nothing_at(at(2100)), "the program worked meanwhile");
        assert!((1..STREAK).all(|_| !idle.nothing_at(at(2101))));
        assert!(!idle.nothing_at(at(2500)), "a streak, but a slow one");
        idle.worked();
        assert!((0..STREAK).all(|_| !idle.nothing_at(at(2501))));
    }
}
