//! What the ranks of a running job do, as they show it in shared memory.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::extract::Id;
use super::jobs::find as find_job;
use super::types::{Matrix, Rank, RankState, Ranks};
use crate::app::{App, blocking};
use crate::auth::Who;
use crate::problem::Problem;
use hpvm_monitor::jobs::diagnose::{self, State as Shown};
use hpvm_monitor::jobs::{Look, find, look};
use hpvm_queue::job::State as JobState;

pub async fn ranks(State(app): State<App>, who: Who, Id(id): Id) -> Result<Json<Ranks>, Problem> {
    let job = find_job(&app, &who, id).await?;
    if job.state() != JobState::Running {
        let text =
            format!("job {id} is {}; only ranks that run can be looked at", job.state().name());
        return Err(Problem::new(StatusCode::CONFLICT, text));
    }
    if app.slurm.is_some() {
        let text = "of a job in Slurm, ranks can be looked at on its hosts: hpvm jobs";
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, text));
    }
    if !app.place.is_here(&job) {
        let host = job.first_host().unwrap_or_default();
        let text = format!("ranks on other hosts can be looked at there: hpvm jobs on {host}");
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, text));
    }
    blocking(move || {
        let mark = app.place.mark(id);
        let mut all = Ranks { ranks: Vec::new(), findings: Vec::new() };
        for launched in find::jobs_of(&mark) {
            // A program without MPI shows nothing, and neither do ranks that have just begun.
            let Ok(view) = find::open(&launched) else { continue };
            let looked = look(&view, &launched)
                .map_err(|error| Problem::new(StatusCode::CONFLICT, error.to_string()))?;
            all.ranks.extend(shown(&looked, &app.place.host));
            all.findings.extend(looked.findings());
        }
        Ok(Json(all))
    })
    .await
}

fn shown(look: &Look, host: &str) -> Vec<Rank> {
    let both = look.ranks.iter().zip(&look.states).enumerate();
    both.map(|(place, (seen, state))| {
        let mut rank = Rank {
            rank: u32::try_from(look.rank(place)).unwrap_or(u32::MAX),
            host: host.into(),
            pid: seen.pid,
            state: match state {
                Shown::Starting => RankState::Starting,
                Shown::Running => RankState::Computing,
                Shown::Sleeping { .. } => RankState::Sleeping,
                Shown::Finalized | Shown::Gone => RankState::Finished,
            },
            waits_for: Vec::new(),
            operations: Vec::new(),
            since_seconds: None,
            counters: counters(&seen.counters),
        };
        if let Shown::Sleeping { seconds, records, .. } = state {
            rank.since_seconds = Some(*seconds);
            rank.operations = records.iter().map(diagnose::describe).collect();
            let mut waits: Vec<u32> =
                records.iter().filter_map(|record| u32::try_from(record.process).ok()).collect();
            waits.sort_unstable();
            waits.dedup();
            rank.waits_for = waits;
        }
        rank
    })
    .collect()
}

fn counters(counters: &[(&'static str, u64)]) -> BTreeMap<String, u64> {
    counters.iter().map(|(name, value)| (name.to_string(), *value)).collect()
}

/// Ranks do not count per peer yet, so there is nothing to show.
pub async fn matrix(State(app): State<App>, who: Who, Id(id): Id) -> Result<Json<Matrix>, Problem> {
    find_job(&app, &who, id).await?;
    let text =
        "ranks count messages and bytes in all, not yet per peer; /ranks shows those counters";
    Err(Problem::new(StatusCode::NOT_IMPLEMENTED, text))
}
