//! What a supervisor decides: when a job is asked to end, when it is made to, and what is said of
//! it. No process, no clock.

use std::time::Duration;

use crate::job::{Outcome, OutcomeKind};

/// Between asking a cancelled job to end and killing it: a cancel is to be over within 2 s.
pub const GRACE_CANCEL: Duration = Duration::from_secs(1);
/// The same at the time limit, where nobody waits; the launcher gives its ranks 2 s.
pub const GRACE_LIMIT: Duration = Duration::from_secs(3);

/// What is to be done to the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Send SIGTERM, which it passes on.
    Ask,
    /// Send SIGKILL.
    Kill,
}

/// The course of a job, in times since it was launched.
#[derive(Debug)]
pub struct Course {
    limit: Option<Duration>,
    cause: Option<Outcome>,
    kill_at: Option<Duration>,
}

impl Course {
    pub fn new(limit_seconds: Option<u64>) -> Course {
        Course { limit: limit_seconds.map(Duration::from_secs), cause: None, kill_at: None }
    }

    /// When to call [`Course::at`] next, if nothing happens before.
    pub fn next(&self) -> Option<Duration> {
        let limit = self.limit.filter(|_| self.cause.is_none());
        self.kill_at.into_iter().chain(limit).min()
    }

    /// The job shall end for this reason. The first reason is the one that is told; a later one can
    /// only make it quicker.
    pub fn end(&mut self, cause: Outcome, grace: Duration, now: Duration) -> Option<Deed> {
        let at = now + grace;
        self.kill_at = Some(self.kill_at.map_or(at, |old| old.min(at)));
        let first = self.cause.is_none();
        self.cause.get_or_insert(cause);
        first.then_some(Deed::Ask)
    }

    /// Nobody has ended it.
    pub fn is_free(&self) -> bool {
        self.cause.is_none()
    }

    /// What is due.
    pub fn at(&mut self, now: Duration) -> Option<Deed> {
        if self.kill_at.is_some_and(|at| at <= now) {
            // Again, should the process outlive this one.
            self.kill_at = Some(now + GRACE_CANCEL);
            return Some(Deed::Kill);
        }
        let limit = self.limit.filter(|limit| *limit <= now && self.cause.is_none())?;
        let cause = Outcome::of(OutcomeKind::TimeLimit)
            .with(format!("the time limit of {} s was over", limit.as_secs()));
        self.end(cause, GRACE_LIMIT, now)
    }

    /// What to say of a job whose launcher ended with this wait status, and with this sentence if a
    /// host was lost.
    pub fn outcome(&self, status: i32, lost: &str) -> Outcome {
        if let Some(cause) = &self.cause {
            return cause.clone();
        }
        let signal = |number| Outcome { signal: Some(number), ..Outcome::of(OutcomeKind::Signal) };
        if libc::WIFSIGNALED(status) {
            return signal(libc::WTERMSIG(status)).with("the job's launcher was killed");
        }
        match libc::WEXITSTATUS(status) {
            0 => Outcome::exit(0),
            _ if !lost.is_empty() => Outcome::of(OutcomeKind::NodeLost).with(lost),
            // So the launcher says that a rank was killed by a signal.
            code @ 129..=192 => signal(code - 128),
            code => Outcome::exit(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn a_job_is_asked_then_killed() {
        let mut course = Course::new(Some(10));
        assert_eq!(course.next(), Some(S(10)));
        assert_eq!(course.at(S(9)), None);
        assert_eq!(course.at(S(10)), Some(Deed::Ask));
        assert_eq!(course.next(), Some(S(10) + GRACE_LIMIT));
        assert_eq!(course.at(S(11)), None);
        // A cancel in between makes it quicker, but the limit was first.
        assert_eq!(course.end(Outcome::of(OutcomeKind::Cancelled), GRACE_CANCEL, S(11)), None);
        assert_eq!(course.at(S(12)), Some(Deed::Kill));
        assert_eq!(course.outcome(9, "").kind, OutcomeKind::TimeLimit);
    }

    #[test]
    fn without_a_limit_nothing_is_due() {
        let mut course = Course::new(None);
        assert_eq!((course.next(), course.at(S(1 << 40))), (None, None));
    }

    #[test]
    fn wait_statuses() {
        let course = Course::new(None);
        let outcome = |status| course.outcome(status, "");
        assert_eq!(outcome(0), Outcome::exit(0));
        assert_eq!(outcome(3 << 8), Outcome::exit(3));
        assert_eq!(outcome((128 + 11) << 8).signal, Some(11));
        assert_eq!(outcome(9).signal, Some(9));
        assert_eq!(outcome(255 << 8), Outcome::exit(255));
        let lost = course.outcome(1 << 8, "host n2 was lost");
        assert_eq!((lost.kind, lost.exit_code()), (OutcomeKind::NodeLost, 1));
        assert_eq!(course.outcome(0, "host n2 was lost"), Outcome::exit(0));
    }
}
