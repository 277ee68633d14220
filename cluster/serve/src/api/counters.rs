//! Events of the ranks of a running job: counted from the first request on, as long as somebody asks.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;

use super::extract::Id;
use super::jobs::find as find_job;
use super::types::{Counted, CountedEvent, Counters, RankCounters};
use crate::app::App;
use crate::auth::Who;
use crate::look::Subject;
use crate::look::gather::gather;
use crate::problem::Problem;
use hpvm_counters::allowed::Offer;
use hpvm_counters::{Estimate, Target, events};
use hpvm_monitor::jobs::find;
use hpvm_queue::job::JobId;
use hpvm_queue::node::Parts;

/// Events are closed when nobody has asked for so long: every rank and event takes a descriptor.
const FORGOTTEN: Duration = Duration::from_secs(30);
/// Most ranks that are counted for pages at a time, for the same reason.
const MOST_RANKS: usize = 256;

/// The jobs that are counted now.
#[derive(Default)]
pub struct Counting(Mutex<BTreeMap<JobId, Watched>>);

/// A job that is counted.
struct Watched {
    offer: Offer,
    began: Instant,
    asked: Instant,
    /// By the first process of each rank.
    ranks: BTreeMap<i32, (u32, Target)>,
}

pub async fn counters(
    State(app): State<App>,
    who: Who,
    Id(name): Id,
) -> Result<Json<Counters>, Problem> {
    let job = find_job(&app, &who, name).await?;
    let parts = Parts { events: true, ..Parts::default() };
    Ok(Json(gather(&app, &job, parts).await?.counters()))
}

impl Counting {
    /// What is counted on this host for a job's ranks.
    pub fn read(&self, subject: &Subject) -> Counters {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let others: usize =
            all.iter().filter(|(id, _)| **id != subject.id).map(|(_, job)| job.ranks.len()).sum();
        let job = all.entry(subject.id).or_insert_with(|| Watched::new(now));
        job.asked = now;
        job.find_ranks(subject, MOST_RANKS.saturating_sub(others));
        job.read(&subject.host, now)
    }

    /// Closes what nobody asks for any more.
    pub fn forget(&self, now: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, job| now.duration_since(job.asked) < FORGOTTEN);
    }
}

impl Watched {
    fn new(now: Instant) -> Watched {
        let wanted = events::software().into_iter().chain(events::usual()).collect();
        Watched { offer: Offer::of(wanted), began: now, asked: now, ranks: BTreeMap::new() }
    }

    /// Begins to count ranks that are new, and forgets those that are gone.
    fn find_ranks(&mut self, subject: &Subject, room: usize) {
        let mut there = Vec::new();
        for launched in find::jobs_in(&subject.scope) {
            for (rank, processes) in find::processes_by_rank(&launched) {
                let (Some(rank), Some(first)) = (rank, processes.first()) else { continue };
                there.push(*first);
                if self.ranks.len() < room && !self.ranks.contains_key(first) {
                    let target = Target::attach(&self.offer, &processes);
                    self.ranks.insert(*first, (rank, target));
                }
            }
        }
        self.ranks.retain(|pid, _| there.contains(pid));
    }

    fn read(&mut self, host: &str, now: Instant) -> Counters {
        let ranks = self.ranks.iter_mut().map(|(pid, (rank, target))| {
            target.read();
            let values = target.estimates().iter().map(counted).collect();
            RankCounters { rank: *rank, host: host.into(), pid: *pid, values }
        });
        let mut ranks: Vec<_> = ranks.collect();
        ranks.sort_by_key(|rank| (rank.rank, rank.pid));
        let event = |event: &hpvm_counters::Event| CountedEvent {
            name: event.name.clone(),
            unit: if event.time { "ns" } else { "count" }.into(),
        };
        Counters {
            elapsed_seconds: now.duration_since(self.began).as_secs_f64(),
            events: self.offer.events.iter().map(event).collect(),
            ranks,
            notes: self.offer.notes.clone(),
        }
    }
}

fn counted(estimate: &Estimate) -> Counted {
    Counted { value: estimate.scaled, coverage: estimate.coverage, error: estimate.error }
}
