//! A look at a job on all of its hosts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use super::wanted::Told;
use super::{JobLook, Subject, here};
use crate::api::ranks::TrafficUnit;
use crate::api::types::{Counted, CountedEvent, Counters, Matrix, RankCounters, Ranks};
use crate::app::{App, blocking};
use crate::problem::Problem;
use hpvm_monitor::jobs::traffic::Sum;
use hpvm_queue::job::{Job, State};
use hpvm_queue::node::Parts;

/// How long other hosts are waited for: they tell within a second, and a step of Slurm begins within some.
const HOSTS_TIMEOUT: Duration = Duration::from_secs(3);

/// What was seen, host by host.
pub struct Gathered {
    looks: Vec<(String, Arc<JobLook>)>,
    notes: Vec<String>,
    several: bool,
}

/// Looks at a job that runs.
pub async fn gather(app: &App, job: &Job, parts: Parts) -> Result<Gathered, Problem> {
    let id = job.id();
    if job.state() != State::Running {
        let state = job.state().name();
        let text = format!("job {id} is {state}; only ranks that run can be looked at");
        return Err(Problem::new(StatusCode::CONFLICT, text));
    }
    let own = app.slurm.is_none().then_some(&app.place.host);
    let hosts = &job.summary.hosts;
    let others: Vec<String> = hosts.iter().filter(|host| Some(*host) != own).cloned().collect();
    if !others.is_empty() && !app.wanted.want(id, &others, parts, Instant::now()) {
        let text = "too many jobs are looked at now; try again in 10 s";
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, text);
        return Err(Problem { retry_after: Some(10), ..problem });
    }
    if app.slurm.is_some() {
        app.steps
            .begin(app, job)
            .map_err(|text| Problem::new(StatusCode::NOT_IMPLEMENTED, text))?;
    }
    let mut looks = Vec::new();
    // A job whose hosts are not told yet begins here.
    if own.is_some() && (hosts.len() != others.len() || hosts.is_empty()) {
        let (app, subject) = (app.clone(), Subject::of(&app.place, job));
        let host = subject.host.clone();
        let look = blocking(move || Ok(here(&subject, parts, &app.counting))).await?;
        looks.push((host, Arc::new(look)));
    }
    let Told { looks: more, missing } = wait(app, job, &others, parts).await?;
    looks.extend(more);
    let order = |name: &String| hosts.iter().position(|host| host == name);
    looks.sort_by_key(|(host, _)| order(host));
    let silent = |host: String| format!("host {host} has not told of its ranks");
    Ok(Gathered {
        looks,
        notes: missing.into_iter().map(silent).collect(),
        several: hosts.len() > 1,
    })
}

/// Until all hosts have told, for a while.
async fn wait(app: &App, job: &Job, hosts: &[String], parts: Parts) -> Result<Told, Problem> {
    let (id, end) = (job.id(), tokio::time::Instant::now() + HOSTS_TIMEOUT);
    let mut heard = app.wanted.heard.subscribe();
    loop {
        let told = app.wanted.told(id, hosts, parts, Instant::now());
        if told.missing.is_empty() || *app.ending.borrow() {
            return Ok(told);
        }
        if let Some(text) = app.steps.failed(id) {
            return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, text));
        }
        if tokio::time::timeout_at(end, heard.changed()).await.is_err() {
            return Ok(told);
        }
    }
}

impl Gathered {
    fn notes(&self) -> Vec<String> {
        let told = self.looks.iter().flat_map(|(_, look)| look.notes.iter().cloned());
        self.notes.iter().cloned().chain(told).collect()
    }

    pub fn ranks(self) -> Ranks {
        let launches = || self.looks.iter().flat_map(|(_, look)| &look.launches);
        let mut ranks: Vec<_> =
            launches().flat_map(|launch| launch.ranks.iter().cloned()).collect();
        if self.several {
            ranks.sort_by_key(|rank| rank.rank);
        }
        let findings = launches().flat_map(|launch| launch.findings.iter().cloned()).collect();
        Ranks { ranks, findings, notes: self.notes() }
    }

    pub fn matrix(self, unit: TrafficUnit) -> Result<Matrix, Problem> {
        let mut all: BTreeMap<(u32, u32), Sum> = BTreeMap::new();
        let mut size = 0;
        for launch in self.looks.iter().flat_map(|(_, look)| &look.launches) {
            let Some(sent) = &launch.sent else {
                let text = "its ranks do not count what they send to whom: HPVM_MONITOR is 0 there";
                return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, text));
            };
            size = size.max(launch.size);
            for (from, to, messages, bytes) in sent {
                let sum = all.entry((*from, *to)).or_default();
                sum.messages = sum.messages.saturating_add(*messages);
                sum.bytes = sum.bytes.saturating_add(*bytes);
            }
        }
        let value = |sum: &Sum| match unit {
            TrafficUnit::Bytes => sum.bytes,
            TrafficUnit::Messages => sum.messages,
        };
        let entry =
            |((from, to), sum): (&(u32, u32), &Sum)| ((*from).into(), (*to).into(), value(sum));
        Ok(Matrix { size, entries: all.iter().map(entry).collect(), notes: self.notes() })
    }

    /// Of several hosts, all events that any of them counts.
    pub fn counters(self) -> Counters {
        let counted =
            || self.looks.iter().filter_map(|(host, look)| Some((host, look.counters.as_ref()?)));
        let mut events: Vec<CountedEvent> = Vec::new();
        for (_, counters) in counted() {
            for event in &counters.events {
                if !events.iter().any(|known| known.name == event.name) {
                    events.push(event.clone());
                }
            }
        }
        let mut notes = self.notes();
        let mut ranks = Vec::new();
        for (host, counters) in counted() {
            ranks.extend(
                counters.ranks.iter().map(|rank| in_order(rank, &counters.events, &events)),
            );
            let about =
                |note: &String| if self.several { format!("{host}: {note}") } else { note.clone() };
            notes.extend(counters.notes.iter().map(about));
        }
        ranks.sort_by_key(|rank| (rank.rank, rank.pid));
        let elapsed_seconds =
            counted().map(|(_, counters)| counters.elapsed_seconds).fold(0.0, f64::max);
        Counters { elapsed_seconds, events, ranks, notes }
    }
}

/// A rank's values in the order of all events.
fn in_order(rank: &RankCounters, own: &[CountedEvent], all: &[CountedEvent]) -> RankCounters {
    let value = |event: &CountedEvent| {
        let at = own.iter().position(|known| known.name == event.name);
        let none = Counted { value: None, coverage: 0.0, error: None };
        at.and_then(|at| rank.values.get(at).cloned()).unwrap_or(none)
    };
    RankCounters { values: all.iter().map(value).collect(), ..rank.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::Launch;
    use super::*;

    fn gathered(looks: Vec<JobLook>) -> Gathered {
        let named = looks.into_iter().zip(1..).map(|(look, n)| (format!("n{n}"), Arc::new(look)));
        Gathered { looks: named.collect(), notes: vec!["host n9 is silent".into()], several: true }
    }

    #[test]
    fn maps_of_hosts_add_up() {
        let launch = |sent| Launch { size: 4, sent, ..Launch::default() };
        let look = |sent| JobLook { launches: vec![launch(sent)], ..JobLook::default() };
        let both = vec![
            look(Some(vec![(0, 1, 2, 20)])),
            look(Some(vec![(2, 0, 1, u64::MAX), (0, 1, 1, 5)])),
        ];
        let matrix = gathered(both.clone()).matrix(TrafficUnit::Bytes).unwrap();
        assert_eq!((matrix.size, &matrix.entries[..]), (4, &[(0, 1, 25), (2, 0, u64::MAX)][..]));
        assert_eq!(matrix.notes, ["host n9 is silent"]);
        let matrix = gathered(both).matrix(TrafficUnit::Messages).unwrap();
        assert_eq!(matrix.entries, [(0, 1, 3), (2, 0, 1)]);
        assert!(
            gathered(vec![look(None)]).matrix(TrafficUnit::Bytes).is_err(),
            "it does not count"
        );
    }

    #[test]
    fn events_of_hosts_that_count_others() {
        let event = |name: &str| CountedEvent { name: name.into(), unit: "count".into() };
        let one = |rank, events: &[&str]| {
            let value = |n: usize| Counted { value: Some(n as f64), coverage: 1.0, error: None };
            let values = (0..events.len()).map(value).collect();
            let ranks = vec![RankCounters { rank, host: "n".into(), pid: 1, values }];
            let events = events.iter().map(|name| event(name)).collect();
            let counters = Counters {
                elapsed_seconds: f64::from(rank),
                events,
                ranks,
                notes: vec!["x".into()],
            };
            JobLook { counters: Some(counters), ..JobLook::default() }
        };
        let all = gathered(vec![one(1, &["a", "b"]), one(0, &["b", "c"])]).counters();
        assert_eq!(all.events, [event("a"), event("b"), event("c")]);
        let values =
            |rank: usize| all.ranks[rank].values.iter().map(|v| v.value).collect::<Vec<_>>();
        assert_eq!(values(0), [None, Some(0.0), Some(1.0)], "rank 0 counts b and c");
        assert_eq!(values(1), [Some(0.0), Some(1.0), None]);
        assert_eq!((all.elapsed_seconds, all.notes.len()), (1.0, 3));
    }
}
