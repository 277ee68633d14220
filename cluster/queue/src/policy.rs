//! Which jobs start now, what the others wait for, and when they start at the latest. Pure: the
//! jobs, the processors and the time go in, a plan comes out.
//!
//! Order: priority, to which a minute of waiting adds 1, so nobody waits for ever; then the number.
//! The first jobs that have to wait get reservations: a place in time where they fit, given the
//! time limits of what runs. A later job starts earlier only if it takes nothing of a reservation
//! (back-filling). A job that asks for more processors than there are gets all of them, since ranks
//! may outnumber processors; only memory that does not exist keeps a job from ever starting.

use std::collections::BTreeMap;

use crate::job::{DependKind, Job, JobId, Outcome, State};
use crate::time::Stamp;

/// Jobs that get a reservation, a reason of their own and an estimate. Those behind them share one
/// sentence, so that ten thousand jobs cost no more events than these.
const RESERVATIONS: usize = 50;

/// What jobs hold: processors, and bytes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    pub cpus: u32,
    pub memory: u64,
}

impl Resources {
    fn fits(self, free: Resources) -> bool {
        self.cpus <= free.cpus && self.memory <= free.memory
    }

    fn minus(self, other: Resources) -> Resources {
        Resources {
            cpus: self.cpus.saturating_sub(other.cpus),
            memory: self.memory.saturating_sub(other.memory),
        }
    }

    fn plus(self, other: Resources) -> Resources {
        Resources { cpus: self.cpus + other.cpus, memory: self.memory.saturating_add(other.memory) }
    }
}

/// How another job stands on which one depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Other {
    Active,
    Ended(Outcome),
    /// Its record was removed.
    Unknown,
}

/// What a job waits for or gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub id: JobId,
    pub reason: String,
    pub estimated_start: Option<Stamp>,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In this order.
    pub start: Vec<JobId>,
    pub wait: Vec<Waiting>,
}

/// What a job reserves of a host of this capacity.
pub fn needs(job: &Job, capacity: Resources) -> Resources {
    let per_rank = job.spec.cpus_per_rank.unwrap_or(1);
    let cpus = job.spec.ranks.saturating_mul(per_rank).min(capacity.cpus);
    Resources { cpus, memory: job.spec.memory_bytes.unwrap_or(0) }
}

/// Priority with ageing.
fn rank(job: &Job, now: Stamp) -> i64 {
    let minutes = now.since(job.summary.submitted) / 60;
    i64::from(job.summary.priority) + i64::try_from(minutes).unwrap_or(i64::MAX / 2)
}

/// Free resources over time: from each moment to the next, the last for ever.
struct Profile(BTreeMap<Stamp, Resources>);

impl Profile {
    /// Jobs without a time limit never give back what they hold.
    fn new(now: Stamp, capacity: Resources, running: &[&Job]) -> Profile {
        let mut used = Resources::default();
        let mut ends: Vec<(Stamp, Resources)> = Vec::new();
        for job in running {
            let needs = needs(job, capacity);
            used = used.plus(needs);
            if let (Some(limit), Some(start)) =
                (job.summary.time_limit_seconds, job.summary.started)
            {
                // A job over its limit is about to end.
                ends.push((start.after(limit).max(Stamp(now.0 + 1)), needs));
            }
        }
        ends.sort_by_key(|(at, _)| *at);
        let mut profile = BTreeMap::from([(now, capacity.minus(used))]);
        for (at, back) in ends {
            used = used.minus(back);
            profile.insert(at, capacity.minus(used));
        }
        Profile(profile)
    }

    /// The first moment from which on so much is free for so long (`None`: for ever).
    fn earliest(&self, needs: Resources, seconds: Option<u64>) -> Option<Stamp> {
        let mut candidates = self.0.keys().copied();
        candidates.find(|start| {
            let end = seconds.map_or(Stamp(i64::MAX), |seconds| start.after(seconds));
            self.0.range(*start..end).all(|(_, free)| needs.fits(*free))
        })
    }

    /// Takes it away from there on.
    fn reserve(&mut self, start: Stamp, needs: Resources, seconds: Option<u64>) {
        let end = seconds.map_or(Stamp(i64::MAX), |seconds| start.after(seconds));
        for edge in [start, end] {
            let before = self.0.range(..=edge).next_back().map(|(_, free)| *free);
            if let Some(before) = before.filter(|_| edge.0 < i64::MAX) {
                self.0.entry(edge).or_insert(before);
            }
        }
        self.0.range_mut(start..end).for_each(|(_, free)| *free = free.minus(needs));
    }

    fn now(&self) -> Resources {
        self.0.values().next().copied().unwrap_or_default()
    }
}

/// What to do with these jobs, none of which has ended.
pub fn plan<'a>(
    now: Stamp,
    capacity: Resources,
    jobs: impl Iterator<Item = &'a Job>,
    other: impl Fn(JobId) -> Other,
) -> Plan {
    let (running, mut waiting): (Vec<&Job>, Vec<&Job>) = jobs
        .filter(|job| job.state() != State::Held)
        .partition(|job| job.state() == State::Running);
    waiting.sort_by_key(|job| (-rank(job, now), job.id()));
    let mut profile = Profile::new(now, capacity, &running);
    let mut at_once = at_once(&running);
    let mut plan = Plan::default();
    let mut reserved = 0;
    let mut first_blocked = None;
    for job in waiting {
        let wait =
            |reason: String, estimated_start| Waiting { id: job.id(), reason, estimated_start };
        if let Some(reason) = depends(job, &other).or_else(|| array_full(job, &at_once)) {
            plan.wait.push(wait(reason, None));
            continue;
        }
        let needs = needs(job, capacity);
        if needs.memory > capacity.memory {
            let (asked, there) = (needs.memory, capacity.memory);
            let text = format!("asks for {asked} bytes of memory; the host has {there}");
            plan.wait.push(wait(format!("can never start: it {text}"), None));
            continue;
        }
        let seconds = job.summary.time_limit_seconds;
        let start = match reserved < RESERVATIONS || needs.fits(profile.now()) {
            true => profile.earliest(needs, seconds),
            false => None,
        };
        if start == Some(now) {
            profile.reserve(now, needs, seconds);
            if let Some(array) = &job.summary.array {
                *at_once.entry(array.id).or_default() += 1;
            }
            plan.start.push(job.id());
            continue;
        }
        let reason = match first_blocked {
            _ if reserved >= RESERVATIONS => "waits for jobs with a higher priority".to_string(),
            Some(first) if needs.fits(profile.now()) => {
                format!("waits so that job {first}, which has a higher priority, is not delayed")
            }
            _ => lacks(needs, profile.now(), start),
        };
        if reserved < RESERVATIONS {
            reserved += 1;
            first_blocked.get_or_insert(job.id());
            if let Some(start) = start {
                profile.reserve(start, needs, seconds);
            } else {
                // It has to wait for jobs that may never end. Nobody with a lower priority may take
                // what it waits for, or it would wait for ever.
                profile.reserve(now, Resources { cpus: needs.cpus, memory: 0 }, None);
            }
            plan.wait.push(wait(reason, start));
        } else {
            plan.wait.push(wait(reason, None));
        }
    }
    plan
}

fn lacks(needs: Resources, free: Resources, start: Option<Stamp>) -> String {
    let what = if needs.cpus > free.cpus {
        format!("{} processors; {} are free", needs.cpus, free.cpus)
    } else {
        format!("{} bytes of memory; {} are free", needs.memory, free.memory)
    };
    match start {
        Some(_) => format!("waits for {what}"),
        None => format!("waits for {what}, and jobs without a time limit hold the others"),
    }
}

/// How many jobs of each array run.
fn at_once(running: &[&Job]) -> BTreeMap<JobId, u32> {
    let mut counts = BTreeMap::new();
    for array in running.iter().filter_map(|job| job.summary.array.as_ref()) {
        *counts.entry(array.id).or_default() += 1;
    }
    counts
}

fn array_full(job: &Job, at_once: &BTreeMap<JobId, u32>) -> Option<String> {
    let array = job.summary.array.as_ref()?;
    let most = array.at_once?;
    let full = at_once.get(&array.id).is_some_and(|running| *running >= most);
    full.then(|| format!("array {} lets only {most} of its jobs run at once", array.id))
}

/// What it says of the jobs on which this one depends, while it must wait for them.
fn depends(job: &Job, other: &impl Fn(JobId) -> Other) -> Option<String> {
    let mut waits = None;
    for dependency in &job.spec.depends_on {
        let id = dependency.job;
        let outcome = match other(id) {
            Other::Active => {
                waits.get_or_insert_with(|| format!("waits for the end of job {id}"));
                continue;
            }
            Other::Unknown => return Some(format!("can never start: there is no job {id}")),
            Other::Ended(outcome) => outcome,
        };
        let met = match dependency.kind {
            DependKind::AfterAny => true,
            DependKind::AfterOk => outcome.is_success(),
            DependKind::AfterNotOk => !outcome.is_success(),
        };
        if !met {
            let code = outcome.exit_code();
            let wanted = if outcome.is_success() { "to fail" } else { "to succeed" };
            let text = format!("it waits for job {id} {wanted}, which ended with code {code}");
            return Some(format!("can never start: {text}; cancel it"));
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::tests::job;
    use crate::apply::{Event, apply};
    use proptest::prelude::*;

    const CAPACITY: Resources = Resources { cpus: 4, memory: 1000 };
    const NOW: Stamp = Stamp(10_000);

    fn asks(id: i64, ranks: u32, limit: Option<u64>) -> Job {
        let mut job = job(id);
        (job.spec.ranks, job.summary.ranks) = (ranks, ranks);
        job.summary.time_limit_seconds = limit;
        job
    }

    fn runs(job: Job) -> Job {
        apply(&job, &Event::Started { hosts: vec!["h".into()], at: NOW }).unwrap()
    }

    fn planned(jobs: &[Job]) -> Plan {
        plan(NOW, CAPACITY, jobs.iter(), |_| Other::Unknown)
    }

    #[test]
    fn the_first_that_fit_start() {
        let plan = planned(&[asks(1, 2, None), asks(2, 2, None), asks(3, 1, None)]);
        assert_eq!(plan.start, [1, 2]);
        assert!(plan.wait[0].reason.contains("1 processors; 0 are free"), "{plan:?}");
    }

    #[test]
    fn more_ranks_than_processors_get_all_of_them() {
        assert_eq!(planned(&[asks(1, 64, None)]).start, [1]);
        assert_eq!(planned(&[asks(1, 64, None), asks(2, 1, None)]).start, [1]);
    }

    #[test]
    fn a_gap_is_filled_by_what_ends_in_time() {
        let running = runs(asks(1, 3, Some(100)));
        let big = asks(2, 4, Some(50));
        let (short, long) = (asks(3, 1, Some(100)), asks(4, 1, Some(101)));
        let plan = planned(&[running.clone(), big.clone(), long]);
        assert!(plan.start.is_empty());
        assert_eq!(plan.wait[0].estimated_start, Some(NOW.after(100)));
        assert!(plan.wait[1].reason.contains("job 2"), "{plan:?}");
        assert_eq!(plan.wait[1].estimated_start, Some(NOW.after(150)));
        assert_eq!(planned(&[running, big, short]).start, [3]);
    }

    #[test]
    fn who_waits_for_endless_jobs_is_not_overtaken() {
        let plan = planned(&[runs(asks(1, 3, None)), asks(2, 2, None), asks(3, 1, None)]);
        assert!(plan.start.is_empty());
        assert!(plan.wait[0].reason.contains("without a time limit"), "{plan:?}");
    }

    #[test]
    fn waiting_counts() {
        let mut important = asks(2, 4, None);
        important.summary.priority = 10;
        assert_eq!(planned(&[asks(1, 4, None), important.clone()]).start, [2]);
        let mut old = asks(1, 4, None);
        old.summary.submitted = Stamp(NOW.0 - 20 * 60_000);
        important.summary.submitted = NOW;
        assert_eq!(planned(&[old, important]).start, [1]);
    }

    #[test]
    fn dependencies() {
        let depends = |kind| {
            let mut job = asks(2, 1, None);
            job.spec.depends_on = vec![crate::job::Dependency { kind, job: 1 }];
            job
        };
        let try_with = |kind, other: Other| {
            let job = depends(kind);
            let plan = plan(NOW, CAPACITY, [&job].into_iter(), |_| other.clone());
            plan.wait.first().map_or("starts".into(), |waiting| waiting.reason.clone())
        };
        use DependKind::{AfterAny, AfterNotOk, AfterOk};
        let ended = |code| Other::Ended(Outcome::exit(code));
        for (kind, other, said) in [
            (AfterOk, ended(0), "starts"),
            (AfterOk, ended(3), "to succeed, which ended with code 3"),
            (AfterOk, Other::Active, "waits for the end of job 1"),
            (AfterAny, ended(3), "starts"),
            (AfterNotOk, ended(0), "to fail, which ended with code 0"),
            (AfterNotOk, ended(3), "starts"),
            (AfterOk, Other::Unknown, "there is no job 1"),
        ] {
            let reason = try_with(kind, other);
            assert!(reason.contains(said), "{kind:?}: {reason}");
        }
    }

    #[test]
    fn arrays_and_memory() {
        let task = |id| {
            let mut job = asks(id, 1, None);
            let task = u32::try_from(id).unwrap();
            job.summary.array = Some(crate::job::ArrayTask { id: 1, task, at_once: Some(2) });
            job
        };
        let plan = planned(&[runs(task(1)), task(2), task(3)]);
        assert_eq!(plan.start, [2]);
        assert!(plan.wait[0].reason.contains("only 2"), "{plan:?}");
        let mut greedy = asks(1, 1, None);
        greedy.spec.memory_bytes = Some(1001);
        assert!(planned(&[greedy]).wait[0].reason.starts_with("can never start"));
    }

    proptest! {
        /// Nothing is given away twice, everybody is heard, and the first in the line is never made
        /// to wait longer by those behind it.
        #[test]
        fn any_queue(list in prop::collection::vec(
            (1_u32..6, prop::option::of(1_u64..500), any::<bool>(), -5_i32..5), 0..60))
        {
            let mut jobs: Vec<Job> = Vec::new();
            let mut used = 0;
            for (i, (ranks, limit, started, priority)) in list.into_iter().enumerate() {
                let mut job = asks(i as i64 + 1, ranks, limit);
                job.summary.priority = priority;
                let cpus = ranks.min(CAPACITY.cpus);
                if started && used + cpus <= CAPACITY.cpus {
                    used += cpus;
                    job = runs(job);
                }
                jobs.push(job);
            }
            let made = planned(&jobs);
            let find = |id: i64| &jobs[id as usize - 1];
            let taken: u32 = made.start.iter().map(|id| needs(find(*id), CAPACITY).cpus).sum();
            prop_assert!(used + taken <= CAPACITY.cpus);
            let waiting = jobs.iter().filter(|job| job.state() != State::Running).count();
            prop_assert_eq!(made.start.len() + made.wait.len(), waiting);
            if let Some(first) = made.wait.first() {
                let alone: Vec<Job> = jobs.iter()
                    .filter(|job| job.state() == State::Running || job.id() == first.id
                        || (made.start.contains(&job.id()) && (-job.summary.priority, job.id())
                            < (-find(first.id).summary.priority, first.id)))
                    .cloned().collect();
                let expected = planned(&alone).wait.first().and_then(|w| w.estimated_start);
                prop_assert_eq!(first.estimated_start, expected);
            }
        }
    }
}
