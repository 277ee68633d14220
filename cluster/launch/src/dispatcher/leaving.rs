//! After all ranks of a host have ended: what they left running gets some time, then signals.

use std::time::Duration;

use super::{GRACE_JOBS, GRACE_KILLED, GRACE_LEFTOVERS, SURVEY_BLOCKED, SURVEY_EVERY};

/// The state of one host's end. Surveys go in, signals for what is left come out.
#[derive(Debug)]
pub struct Leaving {
    since: Duration,
    /// Signals sent so far: 1 is SIGTERM, 2 is SIGKILL.
    step: u8,
    next: Duration,
    done: bool,
    /// Launchers of spawned jobs have not ended in time.
    jobs_late: bool,
}

/// What a survey has found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Processes of the job are left.
    pub processes: bool,
    /// Outputs are open.
    pub outputs: bool,
    /// Those cannot be read because our own reader is slow.
    pub blocked: bool,
    /// Among the processes are launchers of jobs that ranks have spawned, which go on by themselves.
    pub jobs: bool,
    /// Such jobs have parted from ours: they go on also if it is killed.
    pub parted: bool,
}

impl Leaving {
    /// Begins. `killed`: what is left has got SIGKILL already.
    pub fn new(killed: bool, now: Duration) -> Self {
        let step = if killed { 2 } else { 0 };
        Self { since: now, step, next: now + SURVEY_EVERY, done: false, jobs_late: false }
    }

    /// Whether nothing is left, or nothing more can be done.
    pub fn done(&self) -> bool {
        self.done
    }

    /// Whether launchers of jobs that are still connected with ours get the signals, too: they should have ended those, and left jobs
    /// that have parted from those alone.
    pub fn kills_jobs(&self) -> bool {
        self.jobs_late
    }

    /// When the next survey is due.
    pub fn due(&self) -> Option<Duration> {
        (!self.done).then_some(self.next)
    }

    /// Children have ended: a survey may find that nothing is left.
    pub fn children_ended(&mut self, now: Duration) {
        self.next = self.next.min(now);
    }

    /// Takes in a survey; gives the signal that is to be sent to what is left.
    pub fn surveyed(&mut self, found: Found, now: Duration) -> Option<i32> {
        let Found { processes, outputs, blocked, jobs, parted } = found;
        if parted || jobs && self.step == 0 {
            (self.since, self.next) = (now, now + SURVEY_BLOCKED);
            return (self.step >= 2).then_some(libc::SIGKILL);
        }
        let waited = now.saturating_sub(self.since);
        if jobs && self.step >= 2 && !self.jobs_late {
            if waited >= GRACE_JOBS {
                (self.since, self.jobs_late) = (now, true);
            }
            self.next = now + SURVEY_EVERY;
            return Some(libc::SIGKILL);
        }
        let over = self.step >= 2 && waited >= GRACE_KILLED && !blocked;
        if !processes && !outputs || over {
            self.done = true;
            return None;
        }
        self.next = now + if blocked { SURVEY_BLOCKED } else { SURVEY_EVERY };
        if !processes && blocked {
            // Only a slow reader holds us up (a pager, say); it gets all the time it needs.
            self.since = now;
        } else if self.step < 2 && waited >= GRACE_LEFTOVERS {
            let signal = if self.step == 0 { libc::SIGTERM } else { libc::SIGKILL };
            (self.since, self.step) = (now, self.step + 1);
            return Some(signal);
        } else if self.step >= 2 && processes {
            // What a killed process had just started is found only now.
            return Some(libc::SIGKILL);
        }
        None
    }
}
