//! The life of a job: one pure function from a job and an event to the job afterwards. The live
//! server and one that starts again call the same.

use crate::job::{Job, Outcome, OutcomeKind, Share, State};
use crate::time::Stamp;

/// The pause before a restart, in seconds, is doubled from 1 up to this: a host that boots is found
/// soon after, and hardly anything is spent on trying. (The same as the launcher's.)
pub const LONGEST_PAUSE: u64 = 60;

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
    /// Nothing of its attempt is left: it has ended, or waits to be started again.
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
            (summary.reason, summary.estimated_start, summary.eligible) = (None, None, None);
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
            match is_restarted(job, outcome) {
                true => restart(&mut next, outcome, *at),
                false => end(&mut next, outcome.clone(), *at),
            }
        }
    }
    Ok(next)
}

/// Whether a job whose attempt ended so is started again. What a program does by itself, an exit
/// code or a limit that it has exceeded, it would do again.
fn is_restarted(job: &Job, outcome: &Outcome) -> bool {
    let by_others = matches!(outcome.kind, OutcomeKind::NodeLost | OutcomeKind::Signal);
    by_others && !job.summary.cancelling && job.summary.restarts < job.spec.max_restarts
}

/// Lets it wait for its next attempt, each time for longer: what is broken may need its time.
fn restart(job: &mut Job, outcome: &Outcome, at: Stamp) {
    let summary = &mut job.summary;
    let pause = LONGEST_PAUSE.min(1 << summary.restarts.min(16));
    summary.restarts += 1;
    summary.state = State::Pending;
    summary.reason = Some(why_again(summary.restarts, job.spec.max_restarts, outcome));
    summary.last_failure = Some(outcome.clone());
    summary.eligible = Some(at.after(pause));
    summary.estimated_start = summary.eligible;
    summary.started = None;
    summary.hosts.clear();
    job.allocation.clear();
}

/// The sentence about a job that waits for its next attempt.
pub fn why_again(restarts: u32, most: u32, outcome: &Outcome) -> String {
    let why = match (&outcome.detail, outcome.signal) {
        (Some(detail), _) => detail.clone(),
        (None, Some(signal)) => format!("a rank was killed by signal {signal}"),
        (None, None) => "its host was lost".into(),
    };
    format!("is started again (restart {restarts} of {most}): {why}")
}

fn end(job: &mut Job, outcome: Outcome, at: Stamp) {
    let summary = &mut job.summary;
    summary.state = State::Ended;
    summary.outcome = Some(outcome);
    // The clock may have been set back.
    summary.ended = Some(summary.started.map_or(at, |started| at.max(started)));
    (summary.reason, summary.estimated_start, summary.eligible) = (None, None, None);
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
            restarts: 0,
            last_failure: None,
            eligible: None,
            waiting: None,
        };
        let spec = JobSpec { command: vec!["x".into()], ..JobSpec::default() };
        Job { summary, spec, allocation: Vec::new(), uid: None }
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
            at.clone().prop_map(|at| Event::Ended { outcome: Outcome::exit(0), at }),
            at.prop_map(|at| Event::Ended { outcome: Outcome::of(OutcomeKind::NodeLost), at }),
        ]
    }

    proptest! {
        /// What the store's CHECK constraints say, of every job that any events can make.
        #[test]
        fn no_impossible_job_is_made(
            list in prop::collection::vec(events(), 0..24),
            max_restarts in 0_u32..3,
        ) {
            let mut job = job(1);
            job.spec.max_restarts = max_restarts;
            let (mut ends, mut starts) = (0, 0_u32);
            for event in &list {
                let Ok(next) = apply(&job, event) else { continue };
                prop_assert!(job.state() != State::Ended, "an ended job changed by {event:?}");
                starts += u32::from(next.state() == State::Running && job.state() != State::Running);
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
                prop_assert!(s.eligible.is_none() || s.restarts > 0);
                prop_assert_eq!(s.last_failure.is_some(), s.restarts > 0);
            }
            prop_assert!(ends <= 1 && starts <= 1 + job.summary.restarts);
            prop_assert!(job.summary.restarts <= max_restarts);
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

    /// A job that runs and may be started again so often.
    fn runs(max_restarts: u32) -> Job {
        let mut job = job(1);
        job.spec.max_restarts = max_restarts;
        let share = Share { host: "h".into(), ..Share::default() };
        apply(&job, &Event::Started { shares: vec![share], at: Stamp(2000) }).unwrap()
    }

    fn ended(job: &Job, outcome: Outcome) -> Job {
        apply(job, &Event::Ended { outcome, at: Stamp(3000) }).unwrap()
    }

    #[test]
    fn what_is_started_again() {
        let lost = Outcome::of(OutcomeKind::NodeLost);
        let killed = Outcome { signal: Some(9), ..Outcome::of(OutcomeKind::Signal) };
        for outcome in [&lost, &killed] {
            let again = ended(&runs(1), outcome.clone());
            assert_eq!((again.state(), again.summary.restarts), (State::Pending, 1));
            assert_eq!(again.summary.eligible, Some(Stamp(4000)));
            assert!(again.summary.hosts.is_empty() && again.allocation.is_empty());
            assert_eq!(ended(&runs(0), outcome.clone()).state(), State::Ended);
            let cancel = Event::CancelAsked { by: "me".into(), at: Stamp(2500) };
            let cancelling = apply(&runs(1), &cancel).unwrap();
            assert_eq!(ended(&cancelling, outcome.clone()).state(), State::Ended);
        }
        let others = [
            OutcomeKind::TimeLimit,
            OutcomeKind::MemoryLimit,
            OutcomeKind::ProcessLimit,
            OutcomeKind::FailedToStart,
        ];
        for outcome in others.map(Outcome::of).into_iter().chain([Outcome::exit(1)]) {
            assert_eq!(ended(&runs(9), outcome).state(), State::Ended);
        }
    }

    #[test]
    fn pauses_grow_and_the_last_failure_is_the_end() {
        let mut job = runs(9);
        for pause in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            job = ended(&job, Outcome::of(OutcomeKind::NodeLost));
            assert_eq!(job.summary.eligible, Some(Stamp(3000).after(pause)));
            let share = Share { host: "h".into(), ..Share::default() };
            let start = Event::Started { shares: vec![share], at: Stamp(2000) };
            job = apply(&job, &start).unwrap();
        }
        assert_eq!(ended(&job, Outcome::of(OutcomeKind::NodeLost)).state(), State::Ended);
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
