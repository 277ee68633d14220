//! Whom Slurm still owes the answer how they ended: when each is asked for again, and when no more.
//! Knows no clock and runs nothing.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::job::{JobId, Outcome, OutcomeKind};

/// The first pause after an answer that was none; each further one is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long the accounting may lag behind the controller, who sends it what happens in the background: without
/// a record of the job, and with one that has not ended.
const NO_RECORD: Duration = Duration::from_secs(60);
const NO_END: Duration = Duration::from_secs(3600);

/// What one of Slurm's commands has said of how a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Known(Outcome),
    /// It has no such job, and never will.
    NoJob,
    /// Its accounting has no such job, perhaps not yet.
    NoRecord,
    /// Its accounting has the job as one that has not ended.
    NoEnd,
    /// It has failed, with these words.
    Silent(String),
}

/// What is known now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Is(Outcome),
    /// To be asked again; why, as a sentence.
    Later(String),
}

#[derive(Clone, Debug)]
struct Open {
    since: Instant,
    next: Instant,
    pause: Duration,
    why: String,
}

/// The jobs whose end is not known yet.
#[derive(Debug, Default)]
pub struct Asking {
    open: BTreeMap<JobId, Open>,
}

impl Asking {
    /// Whether this job may be asked for now.
    pub fn is_due(&self, id: JobId, now: Instant) -> bool {
        self.open.get(&id).is_none_or(|open| open.next <= now)
    }

    /// Takes an answer.
    pub fn told(&mut self, id: JobId, answer: Answer, now: Instant) -> Verdict {
        let since = self.open.get(&id).map_or(now, |open| open.since);
        let lags = |most| now.saturating_duration_since(since) < most;
        let silent = matches!(answer, Answer::Silent(_));
        let why = match answer {
            Answer::Known(outcome) => return self.settled(id, outcome, now),
            Answer::NoJob => return self.unknown(id, "and keeps no accounting", now),
            Answer::NoRecord if lags(NO_RECORD) => {
                "it has ended, and Slurm's accounting does not have it yet".to_string()
            }
            Answer::NoRecord => return self.unknown(id, "nor does its accounting", now),
            Answer::NoEnd if lags(NO_END) => {
                "it has ended, and Slurm's accounting does not say how yet".to_string()
            }
            Answer::NoEnd => {
                return self.unknown(id, "and its accounting still has it as running", now);
            }
            Answer::Silent(text) => {
                format!("it has ended, and Slurm does not answer how; it is asked again ({text})")
            }
        };
        if !silent {
            self.wake(now);
        }
        let pause =
            self.open.get(&id).map_or(FIRST_PAUSE, |open| (open.pause * 2).min(LONGEST_PAUSE));
        self.open.insert(id, Open { since, next: now + pause, pause, why: why.clone() });
        Verdict::Later(why)
    }

    /// Slurm shows the job as one that goes on, or somebody else has recorded its end.
    pub fn forget(&mut self, mut which: impl FnMut(JobId) -> bool) {
        self.open.retain(|id, _| !which(*id));
    }

    /// What cannot be said at the moment, as a sentence.
    pub fn trouble(&self) -> Option<String> {
        let (id, open) = self.open.first_key_value()?;
        let others = match self.open.len() - 1 {
            0 => String::new(),
            1 => ", and of another job".to_string(),
            more => format!(", and of {more} other jobs"),
        };
        Some(format!("the end of job {id}{others} is not known: {}", open.why))
    }

    fn unknown(&mut self, id: JobId, why: &str, now: Instant) -> Verdict {
        let text = format!("Slurm no longer knows how the job ended, {why}");
        self.settled(id, Outcome::of(OutcomeKind::Unknown).with(text), now)
    }

    fn settled(&mut self, id: JobId, outcome: Outcome, now: Instant) -> Verdict {
        if self.open.remove(&id).is_some() {
            self.wake(now);
        }
        Verdict::Is(outcome)
    }

    /// Slurm answers: those for which it did not are asked for at once.
    fn wake(&mut self, now: Instant) {
        self.open.values_mut().for_each(|open| open.next = open.next.min(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent() -> Answer {
        Answer::Silent("connect failure".into())
    }

    #[test]
    fn pauses_grow_up_to_a_bound_and_an_answer_wakes_all() {
        let (mut asking, mut now) = (Asking::default(), Instant::now());
        assert!(asking.is_due(7, now));
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let told = asking.told(7, silent(), now);
            assert!(
                matches!(&told, Verdict::Later(why) if why.contains("does not answer")),
                "{told:?}"
            );
            let begun = now;
            while !asking.is_due(7, now) {
                now += Duration::from_secs(1);
            }
            pauses.push((now - begun).as_secs());
        }
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60, 60]);
        asking.told(7, silent(), now);
        asking.told(8, silent(), now);
        let trouble = asking.trouble().unwrap();
        assert!(
            trouble.contains("job 7, and of another job") && trouble.contains("connect failure")
        );
        assert!(!asking.is_due(8, now));
        let known = asking.told(7, Answer::Known(Outcome::exit(3)), now);
        assert_eq!(known, Verdict::Is(Outcome::exit(3)));
        assert!(asking.is_due(8, now), "Slurm answers again");
        asking.forget(|id| id == 8);
        assert_eq!(asking.trouble(), None);
    }

    #[test]
    fn what_slurm_does_not_know_is_unknown() {
        let (mut asking, now) = (Asking::default(), Instant::now());
        let unknown = |verdict: &Verdict| matches!(verdict, Verdict::Is(outcome) if outcome.kind == OutcomeKind::Unknown);
        assert!(unknown(&asking.told(7, Answer::NoJob, now)));
        for (answer, most) in [(Answer::NoRecord, NO_RECORD), (Answer::NoEnd, NO_END)] {
            let first = asking.told(7, answer.clone(), now);
            assert!(matches!(first, Verdict::Later(_)), "the accounting lags: {first:?}");
            assert!(unknown(&asking.told(7, answer, now + most)));
        }
        assert_eq!(asking.trouble(), None);
    }
}
