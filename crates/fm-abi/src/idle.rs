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
        self.vain += 1;
        if self.vain < STREAK {
            return false;
        }
        self.vain = 0;
        let now = Instant::now();
        let before = self.since.replace((now, BUSY));
        before.is_some_and(|(before, limit)| now - before < limit)
    }

    /// To be called after the sleep: its time is not the program's.
    pub fn slept(&mut self) {
        // One more vain extract is enough to sleep again.
        self.vain = STREAK - 1;
        self.since = Some((Instant::now(), AWAKE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_streak_without_other_work_sleeps() {
        let mut idle = Idle::default();
        assert!((0..STREAK).all(|_| !idle.nothing()), "the first streak starts the clock");
        assert!((1..STREAK).all(|_| !idle.nothing()));
        assert!(idle.nothing());
        idle.slept();
        assert!(idle.nothing(), "still nothing");
        idle.slept();
        std::thread::sleep(BUSY);
        assert!(!idle.nothing(), "the program worked meanwhile");
        idle.worked();
        assert!(!idle.nothing());
    }
}
