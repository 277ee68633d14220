//! The life of a job: one pure function from a job and an event to the job afterwards. The live
//! server and one that starts again call the same.

use crate::job::{Job, Outcome, OutcomeKind, Share, State};
use crate::time::Stamp;

/// What happens to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The policy has looked at it and lets it wait.
    Considered { reason: Option<String>, estimated_start: Option<Stamp> },
    /// It must not start.
    Held { by: String },
    /// It may start again.
    Released,
    /// It gets its processors: from now on its supervisor may be started.
    Started { shares: Vec<Share>, at: Stamp },
    /// Somebody wants it to end.
    CancelAsked { by: String, at: Stamp },
    /// Nothing of it is left.
    Ended { outcome: Outcome, at: Stamp },
}

/// Why an event cannot happen to a job as it is, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

/// What an action of a user needs, and why it may be impossible. The API shows this with a job.
pub fn why_not(job: &Job, action: Action) -> Option<String> {
    let id = job.id();
    match (action, job.state()) {
        (Action::Cancel, State::Ended) => Some(format!("job {id} has ended already")),
        (Action::Cancel, State::Running) if job.summary.cancelling => {
            Some(format!("job {id} is being cancelled already"))
        }
        (Action::Hold, State::Held) => Some(format!("job {id} is held already")),
        (Action::Hold, State::Running) => {
            Some(format!("job {id} runs; only a job that waits can be held"))
        }
        (Action::Hold, State::Ended) => Some(format!("job {id} has ended")),
        (Action::Release, State::Held) => None,
        (Action::Release, state) => Some(format!("job {id} is not held, it is {}", state.name())),
        (Action::Delete, State::Ended) => None,
        (Action::Delete, state) => Some(format!(
            "job {id} is {}; only the record of a job that has ended can be removed: cancel it first",
            state.name()
        )),
        _ => None,
    }
}

/// What a user may do with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Cancel,
    Hold,
    Release,
    Delete,
}

/// The job after the event.
pub fn apply(job: &Job, event: &Event) -> Result<Job, Refusal> {
    let refuse = |what: &str| {
        let state = job.state().name();
        Err(Refusal(format!("job {} is {state}: it cannot {what}", job.id())))
    };
    let refused = |action| why_not(job, action).map_or(Ok(()), |text| Err(Refusal(text)));
    let waits = matches!(job.state(), State::Submitted | State::Pending);
    let mut next = job.clone();
    let summary = &mut next.summary;
    match event {
        Event::Considered { reason, estimated_start } => {
            if !waits {
                return refuse("wait");
            }
            summary.state = State::Pending;
            summary.reason.clone_from(reason);
            summary.estimated_start = *estimated_start;
        }
        Event::Held { by } => {
            refused(Action::Hold)?;
            summary.state = State::Held;
            summary.reason = Some(format!("held by {by} until it is released"));
            summary.estimated_start = None;
        }
        Event::Released => {
            refused(Action::Release)?;
            summary.state = State::Pending;
            summary.reason = None;
        }
        Event::Started { shares, at } => {
            if !waits {
                return refuse("start");
            }
            if shares.is_empty() {
                return refuse("start without a host");
            }
            summary.state = State::Running;
            summary.hosts = shares.iter().map(|share| share.host.clone()).collect();
            next.allocation.clone_from(shares);
            summary.started = Some(*at);
            (summary.reason, summary.estimated_start) = (None, None);
        }
        Event::CancelAsked { by, at } => {
            refused(Action::Cancel)?;
            if job.state() == State::Running {
                summary.cancelling = true;
                summary.reason = Some(format!("being cancelled by {by}"));
            } else {
                let outcome =
                    Outcome::of(OutcomeKind::Cancelled).with(format!("cancelled by {by}"));
                end(&mut next, outcome, *at);
            }
        }
        Event::Ended { outcome, at } => {
            if job.state() != State::Running {
                return refuse("end by itself");
            }
            end(&mut next, outcome.clone(), *at);
        }
    }
    Ok(next)
}

fn end(job: &mut Job, outcome: Outcome, at: Stamp) {
    let summary = &mut job.summary;
    summary.state = State::Ended;
    summary.outcome = Some(outcome);
    // The clock may have been set back.
    summary.ended = Some(summary.started.map_or(at, |started| at.max(started)));
    (summary.reason, summary.estimated_start) = (None, None);
    summary.cancelling = false;
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::job::{JobSpec, JobSummary};
    use proptest::prelude::*;

    /// A job that was just submitted.
    pub fn job(id: i64) -> Job {
        let summary = JobSummary {
            id,
            name: "x".into(),
            user: "me".into(),
            state: State::Submitted,
            outcome: None,
            reason: None,
            estimated_start: None,
            ranks: 1,
            hosts: Vec::new(),
            submitted: Stamp(1000),
            started: None,
            ended: None,
            time_limit_seconds: None,
            queue: "main".into(),
            priority: 0,
            array: None,
            cancelling: false,
        };
        let spec = JobSpec { command: vec!["x".into()], ..JobSpec::default() };
        Job { summary, spec, allocation: Vec::new() }
    }

    fn events() -> impl Strategy<Value = Event> {
        let at = (0_i64..10_000).prop_map(Stamp);
        prop_oneof![
            Just(Event::Considered { reason: Some("r".into()), estimated_start: Some(Stamp(9)) }),
            Just(Event::Held { by: "me".into() }),
            Just(Event::Released),
            at.clone().prop_map(|at| {
                let share = Share { host: "h".into(), ..Share::default() };
                Event::Started { shares: vec![share], at }
            }),
            at.clone().prop_map(|at| Event::CancelAsked { by: "me".into(), at }),
            at.prop_map(|at| Event::Ended { outcome: Outcome::exit(0), at }),
        ]
    }

    proptest! {
        /// What the store's CHECK constraints say, of every job that any events can make.
        #[test]
        fn no_impossible_job_is_made(list in prop::collection::vec(events(), 0..12)) {
            let mut job = job(1);
            let mut ends = 0;
            let mut starts = 0;
            for event in &list {
                let Ok(next) = apply(&job, event) else { continue };
                prop_assert!(job.state() != State::Ended, "an ended job changed by {event:?}");
                starts += i32::from(next.state() == State::Running && job.state() != State::Running);
                ends += i32::from(next.state() == State::Ended);
                job = next;
                let s = &job.summary;
                prop_assert_eq!(s.state == State::Ended, s.ended.is_some());
                prop_assert_eq!(s.state == State::Ended, s.outcome.is_some());
                prop_assert!(s.state != State::Running || s.started.is_some());
                prop_assert!(s.started.is_none() || matches!(s.state, State::Running | State::Ended));
                prop_assert!(!s.cancelling || s.state == State::Running);
                prop_assert!(s.ended.is_none() || s.started.is_none() || s.ended >= s.started);
                prop_assert!(s.estimated_start.is_none() || s.state == State::Pending);
            }
            prop_assert!(ends <= 1 && starts <= 1);
        }

        /// What is shown as impossible is refused, and the other way round.
        #[test]
        fn actions_are_what_apply_allows(list in prop::collection::vec(events(), 0..6)) {
            let mut job = job(1);
            for event in &list {
                for (action, asked) in [
                    (Action::Cancel, Event::CancelAsked { by: "me".into(), at: Stamp(1) }),
                    (Action::Hold, Event::Held { by: "me".into() }),
                    (Action::Release, Event::Released),
                ] {
                    prop_assert_eq!(why_not(&job, action).is_some(), apply(&job, &asked).is_err());
                }
                job = apply(&job, event).unwrap_or(job);
            }
        }
    }

    #[test]
    fn a_cancelled_job_that_waits_has_ended_at_once() {
        let asked = Event::CancelAsked { by: "me".into(), at: Stamp(5) };
        let ended = apply(&job(1), &asked).unwrap();
        assert_eq!(ended.state(), State::Ended);
        let again = apply(&ended, &asked).unwrap_err();
        assert!(again.0.contains("has ended already"), "{again:?}");
    }
}
