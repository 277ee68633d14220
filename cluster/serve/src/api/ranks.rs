//! What the ranks of a running job do and have sent to whom, as they show it in shared memory.

use std::collections::BTreeMap;
use std::fmt::Display;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::extract::{Id, Params};
use super::jobs::find as find_job;
use super::types::{Matrix, Rank, RankState, Ranks};
use crate::app::{App, blocking};
use crate::auth::Who;
use crate::problem::Problem;
use hpvm_monitor::jobs::diagnose::{self, State as Shown};
use hpvm_monitor::jobs::{Look, find, look, traffic};
use hpvm_queue::job::{Job, State as JobState};
use serde::Deserialize;
use utoipa::ToSchema;

pub async fn ranks(State(app): State<App>, who: Who, Id(id): Id) -> Result<Json<Ranks>, Problem> {
    must_run(&app, &find_job(&app, &who, id).await?)?;
    blocking(move || {
        let mark = app.place.mark(id);
        let mut all = Ranks { ranks: Vec::new(), findings: Vec::new() };
        for launched in find::jobs_of(&mark) {
            // A program without MPI shows nothing, and neither do ranks that have just begun.
            let Ok(view) = find::open(&launched) else { continue };
            let looked = look(&view, &launched).map_err(conflict)?;
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

/// Which of the two numbers of a pair is shown.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrafficUnit {
    #[default]
    Bytes,
    Messages,
}

/// Refused unless the job's ranks run where we can look at them.
pub fn must_run(app: &App, job: &Job) -> Result<(), Problem> {
    if job.state() != JobState::Running {
        let (id, state) = (job.id(), job.state().name());
        let text = format!("job {id} is {state}; only ranks that run can be looked at");
        return Err(Problem::new(StatusCode::CONFLICT, text));
    }
    if app.slurm.is_some() {
        let text =
            "of a job in Slurm, ranks can be looked at on its hosts: hpvm jobs, hpvm prof -j";
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, text));
    }
    if !app.place.is_here(job) {
        let host = job.first_host().unwrap_or_default();
        let text = format!("ranks on other hosts can be looked at there: hpvm jobs on {host}");
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, text));
    }
    Ok(())
}

fn conflict(error: impl Display) -> Problem {
    Problem::new(StatusCode::CONFLICT, error.to_string())
}

#[derive(Debug, Deserialize)]
pub struct MatrixQuery {
    #[serde(default)]
    unit: TrafficUnit,
}

pub async fn matrix(
    State(app): State<App>,
    who: Who,
    Id(id): Id,
    Params(query): Params<MatrixQuery>,
) -> Result<Json<Matrix>, Problem> {
    must_run(&app, &find_job(&app, &who, id).await?)?;
    blocking(move || {
        let mut all = traffic::Matrix::default();
        for launched in find::jobs_of(&app.place.mark(id)) {
            // It has not begun, or has no MPI: nothing was sent.
            let Ok(view) = find::open(&launched) else { continue };
            let looked = look(&view, &launched).map_err(conflict)?;
            match traffic::matrix(&view, &looked, &launched).map_err(conflict)? {
                Some(matrix) => all.merge(&matrix),
                None => {
                    let text =
                        "its ranks do not count what they send to whom: HPVM_MONITOR is 0 there";
                    return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, text));
                }
            }
        }
        let value = |sum: &traffic::Sum| match query.unit {
            TrafficUnit::Bytes => sum.bytes,
            TrafficUnit::Messages => sum.messages,
        };
        let pairs = all.pairs.iter();
        let entries = pairs.map(|((from, to), sum)| ((*from).into(), (*to).into(), value(sum)));
        Ok(Json(Matrix { size: all.size, entries: entries.collect() }))
    })
    .await
}
