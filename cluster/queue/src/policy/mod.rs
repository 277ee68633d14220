//! Which jobs start now, what the others wait for, and when they start at the latest. Pure: the
//! jobs, the processors and the time go in, a plan comes out.
//!
//! Order: priority, to which a minute of waiting adds 1, so nobody waits for ever; then the number.
//! The first jobs that have to wait get reservations: a place in time where they fit, given the
//! time limits of what runs. A later job starts earlier only if it takes nothing of a reservation
//! (back-filling). On a host whose cores have several hardware threads a job holds whole cores, so that
//! no two jobs share one. A job that asks for more processors than there are gets all of them, since ranks
//! may outnumber processors; only memory that does not exist keeps a job from ever starting.

mod fit;
mod profile;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::apply::{LONGEST_PAUSE, why_again};
use crate::describe::{amount, count};
use crate::job::{DependKind, Dependency, Job, JobId, Outcome, Share, State};
use crate::name::Name;
use crate::processors::Processors;
use crate::time::Stamp;
pub use fit::Request;
use fit::{Part, fit};
use profile::{Held, Profile};

/// Jobs that get a reservation, a reason of their own and an estimate. Those behind them share one
/// sentence, so that ten thousand jobs cost no more events than these.
const RESERVATIONS: usize = 50;

/// What hosts have and jobs hold: processors, bytes of memory, graphics processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    pub cpus: u32,
    pub memory: u64,
    pub gpus: u32,
}

impl Resources {
    fn fits(self, free: Resources) -> bool {
        self.cpus <= free.cpus && self.memory <= free.memory && self.gpus <= free.gpus
    }

    fn least(self, other: Resources) -> Resources {
        Resources {
            cpus: self.cpus.min(other.cpus),
            memory: self.memory.min(other.memory),
            gpus: self.gpus.min(other.gpus),
        }
    }

    fn minus(self, other: Resources) -> Resources {
        Resources {
            cpus: self.cpus.saturating_sub(other.cpus),
            memory: self.memory.saturating_sub(other.memory),
            gpus: self.gpus.saturating_sub(other.gpus),
        }
    }
}

/// A host as the policy sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub capacity: Resources,
    /// Which processors those are, where that is known.
    pub processors: Arc<Processors>,
    /// Why nothing starts there: it is drained, or lost.
    pub closed: Option<String>,
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
    /// In this order, with what each gets.
    pub start: Vec<(JobId, Vec<Share>)>,
    pub wait: Vec<Waiting>,
}

/// Priority with ageing.
fn rank(job: &Job, now: Stamp) -> i64 {
    let minutes = now.since(job.summary.submitted) / 60;
    i64::from(job.summary.priority) + i64::try_from(minutes).unwrap_or(i64::MAX / 2)
}

/// Processors that this job holds of a host.
pub fn cpus_on(job: &Job, host: &str) -> u32 {
    job.allocation.iter().filter(|share| share.host == host).map(|share| share.cpus).sum()
}

/// What those that run hold. A host that is not there any more is nobody's to give.
fn held(running: &[&Job], hosts: &[Host]) -> Vec<Held> {
    let mut all = Vec::new();
    for job in running {
        let limit = job.summary.time_limit_seconds;
        // Jobs without a time limit never give back what they hold.
        let until = limit.zip(job.summary.started).map(|(limit, start)| start.after(limit));
        for share in &job.allocation {
            let Some(host) = hosts.iter().position(|host| host.name == share.host) else {
                continue;
            };
            let gpus = u32::try_from(share.gpus.len()).unwrap_or(u32::MAX);
            let holds = Resources { cpus: share.cpus, memory: share.memory, gpus };
            all.push(Held { host, holds, until });
        }
    }
    all
}

/// The numbers of processors and of graphics processors of a host that are in use.
#[derive(Default)]
struct Used {
    processors: BTreeSet<u32>,
    gpus: BTreeSet<u32>,
}

/// The same of each host.
struct InUse(Vec<Used>);

impl InUse {
    fn of(running: &[&Job], hosts: &[Host]) -> InUse {
        let places: BTreeMap<&str, usize> =
            hosts.iter().enumerate().map(|(i, host)| (host.name.as_str(), i)).collect();
        let mut all: Vec<Used> = hosts.iter().map(|_| Used::default()).collect();
        for share in running.iter().flat_map(|job| &job.allocation) {
            if let Some(place) = places.get(share.host.as_str()) {
                all[*place].processors.extend(&share.processors);
                all[*place].gpus.extend(&share.gpus);
            }
        }
        InUse(all)
    }

    /// The lowest graphics processors that are free, and whole cores.
    fn take(&mut self, hosts: &[Host], parts: &[Part]) -> Vec<Share> {
        let share = |part: &Part| {
            let (host, used) = (&hosts[part.host], &mut self.0[part.host]);
            let free = (0..host.capacity.gpus).filter(|gpu| !used.gpus.contains(gpu));
            let gpus: Vec<u32> = free.take(part.holds.gpus as usize).collect();
            used.gpus.extend(&gpus);
            let processors = host.processors.pick(&used.processors, part.holds.cpus);
            used.processors.extend(&processors);
            Share {
                host: host.name.clone(),
                ranks: part.ranks,
                cpus: part.holds.cpus,
                memory: part.holds.memory,
                processors,
                gpus,
            }
        };
        parts.iter().map(share).collect()
    }
}

/// What to do with these jobs, none of which has ended.
pub fn plan<'a>(
    now: Stamp,
    hosts: &[Host],
    jobs: impl Iterator<Item = &'a Job>,
    other: impl Fn(&Dependency) -> Other,
) -> Plan {
    let (running, mut waiting): (Vec<&Job>, Vec<&Job>) = jobs
        .filter(|job| job.state() != State::Held)
        .partition(|job| job.state() == State::Running);
    waiting.sort_by_cached_key(|job| (-rank(job, now), job.id()));
    let mut round = Round {
        now,
        hosts,
        profile: Profile::new(now, hosts, &held(&running, hosts)),
        in_use: InUse::of(&running, hosts),
        at_once: at_once(&running),
        reserved: 0,
        first_blocked: None,
        in_vain: BTreeSet::new(),
        plan: Plan::default(),
    };
    for job in waiting {
        round.consider(job, &other);
    }
    round.plan
}

/// One look at the queue.
struct Round<'a> {
    now: Stamp,
    hosts: &'a [Host],
    profile: Profile,
    in_use: InUse,
    at_once: BTreeMap<JobId, u32>,
    reserved: usize,
    first_blocked: Option<JobId>,
    /// What does not fit now, so that ten thousand jobs alike are tried once.
    in_vain: BTreeSet<Request>,
    plan: Plan,
}

impl Round<'_> {
    fn consider(&mut self, job: &Job, other: &impl Fn(&Dependency) -> Other) {
        if let Some(reason) = depends(job, other).or_else(|| array_full(job, &self.at_once)) {
            return self.wait(job, reason, None);
        }
        if let Some((at, reason)) = pause(job, self.now) {
            return self.wait(job, reason, Some(at));
        }
        let ask = Request::of(job);
        if self.reserved >= RESERVATIONS && self.in_vain.contains(&ask) {
            return self.wait(job, "waits for jobs with a higher priority".into(), None);
        }
        if let Some(text) = never(&ask, self.hosts) {
            return self.wait(job, format!("can never start: {text}"), None);
        }
        let fits = fit(&ask, self.hosts, &self.profile.now(self.hosts)).is_some();
        let seconds = job.summary.time_limit_seconds;
        let found = match self.reserved < RESERVATIONS || fits {
            true => self.profile.earliest(&ask, self.hosts, seconds),
            false => None,
        };
        match found {
            Some((start, parts)) if start == self.now => {
                self.profile.reserve(start, &parts, seconds);
                if let Some(array) = &job.summary.array {
                    *self.at_once.entry(array.id).or_default() += 1;
                }
                let shares = self.in_use.take(self.hosts, &parts);
                self.plan.start.push((job.id(), shares));
            }
            found => self.block(job, &ask, fits, found),
        }
    }

    /// It has to wait.
    fn block(&mut self, job: &Job, ask: &Request, fits: bool, found: Option<(Stamp, Vec<Part>)>) {
        if self.reserved >= RESERVATIONS {
            self.in_vain.insert(ask.clone());
            return self.wait(job, "waits for jobs with a higher priority".into(), None);
        }
        let start = found.as_ref().map(|(start, _)| *start);
        let closed = found.is_none().then(|| closed(ask, self.hosts)).flatten();
        let only_closed = closed.is_some();
        let reason = match (closed, self.first_blocked) {
            (Some(text), _) => text,
            (None, Some(first)) if fits => {
                format!("waits so that job {first}, which has a higher priority, is not delayed")
            }
            _ => lacks(ask, self.hosts, &self.profile.now(self.hosts), start),
        };
        self.reserved += 1;
        if !only_closed {
            self.first_blocked.get_or_insert(job.id());
        }
        if let Some((start, parts)) = found {
            self.profile.reserve(start, &parts, job.summary.time_limit_seconds);
        } else if !only_closed {
            // It has to wait for jobs that may never end. Nobody with a lower priority may take
            // what it waits for, or it would wait for ever.
            let parts = fit(ask, self.hosts, &capacities(self.hosts, false)).unwrap_or_default();
            let cpus = |part: Part| {
                let holds = Resources { cpus: part.holds.cpus, ..Resources::default() };
                Part { holds, ..part }
            };
            let parts: Vec<Part> = parts.into_iter().map(cpus).collect();
            self.profile.reserve(self.now, &parts, None);
        }
        self.wait(job, reason, start);
    }

    fn wait(&mut self, job: &Job, reason: String, estimated_start: Option<Stamp>) {
        self.plan.wait.push(Waiting { id: job.id(), reason, estimated_start });
    }
}

/// What hosts have when nobody else is there; of those that are closed nothing, unless they count.
fn capacities(hosts: &[Host], with_closed: bool) -> Vec<Resources> {
    let of = |host: &Host| match host.closed {
        Some(_) if !with_closed => Resources::default(),
        _ => host.capacity,
    };
    hosts.iter().map(of).collect()
}

/// Why nothing that ends can help this job.
fn never(ask: &Request, hosts: &[Host]) -> Option<String> {
    if fit(ask, hosts, &capacities(hosts, true)).is_some() {
        return None;
    }
    let unknown = ask.only.iter().find(|name| !hosts.iter().any(|host| host.name == **name));
    if let Some(name) = unknown {
        return Some(format!("there is no host '{name}'"));
    }
    let among: Vec<&Host> = hosts.iter().filter(|host| ask.allows(host)).collect();
    let most = among.iter().map(|host| host.capacity.memory).max().unwrap_or(0);
    let gpus: u32 = among.iter().map(|host| host.capacity.gpus).sum();
    let nodes = ask.nodes.unwrap_or(1);
    Some(if ask.memory > most {
        let asked = ask.memory;
        let who = if among.len() == 1 { "the host has" } else { "no host has more than" };
        format!("it asks for {} of memory; {who} {}", amount(asked), amount(most))
    } else if nodes as usize > among.len() {
        let there = if among.len() == 1 { "is" } else { "are" };
        format!("it asks for {nodes} hosts; there {there} {}", among.len())
    } else if ask.gpus > gpus {
        let there = if gpus == 1 { "is" } else { "are" };
        format!("it asks for {}; there {there} {gpus}", count(ask.gpus, "GPU"))
    } else {
        "no hosts together have what it asks for of each of them".into()
    })
}

/// Why it could start only on hosts that are closed.
fn closed(ask: &Request, hosts: &[Host]) -> Option<String> {
    if fit(ask, hosts, &capacities(hosts, false)).is_some() {
        return None;
    }
    let reasons = hosts.iter().filter(|host| ask.allows(host)).filter_map(|h| h.closed.clone());
    reasons.into_iter().next()
}

fn free_of(number: u32) -> String {
    format!("{number} {} free", if number == 1 { "is" } else { "are" })
}

fn lacks(ask: &Request, hosts: &[Host], free: &[Resources], start: Option<Stamp>) -> String {
    let among = || hosts.iter().zip(free).filter(|(host, _)| ask.allows(host));
    let cpus: u32 = among().map(|(_, free)| free.cpus).sum();
    let gpus: u32 = among().map(|(_, free)| free.gpus).sum();
    let needed: u32 = ask.cpus().min(hosts.iter().map(|host| host.capacity.cpus).sum());
    let memory = among().map(|(_, free)| free.memory).max().unwrap_or(0);
    let what = if needed > cpus {
        format!("{}; {}", count(needed, "processor"), free_of(cpus))
    } else if ask.memory > memory {
        format!("{} of memory; {} are free", amount(ask.memory), amount(memory))
    } else if ask.gpus > gpus {
        format!("{}; {}", count(ask.gpus, "GPU"), free_of(gpus))
    } else if let Some(nodes) = ask.nodes.filter(|nodes| *nodes > 1) {
        format!("{nodes} hosts with room for {} ranks each", ask.ranks.div_ceil(nodes))
    } else {
        format!("a host with {needed} free processors; {cpus} are free on all together")
    };
    match start {
        Some(_) => format!("waits for {what}"),
        None => format!("waits for {what}, and jobs without a time limit hold the others"),
    }
}

/// Until when a job pauses after a failed attempt, and why.
fn pause(job: &Job, now: Stamp) -> Option<(Stamp, String)> {
    let summary = &job.summary;
    // One that lies further ahead than any pause: the clock was set back.
    let ahead = now.after(LONGEST_PAUSE);
    let at = summary.eligible.filter(|at| *at > now && *at <= ahead)?;
    let failure = summary.last_failure.as_ref()?;
    Some((at, why_again(summary.restarts, job.spec.max_restarts, failure)))
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
fn depends(job: &Job, other: &impl Fn(&Dependency) -> Other) -> Option<String> {
    let mut waits = None;
    for dependency in &job.spec.depends_on {
        let id = Name::from(dependency);
        let outcome = match other(dependency) {
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
