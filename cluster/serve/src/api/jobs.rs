//! Jobs: list, submit, look at, act on.

use std::sync::PoisonError;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::extract::{Body, Id, Params};
use super::types::{Action, Actions, JobList, OutputSizes, Validated};
use crate::app::{App, blocking};
use crate::auth::Who;
use crate::problem::Problem;
use crate::slurm;
use hpvm_queue::apply::{self, Action as Act};
use hpvm_queue::job::{Job, JobSpec, JobSummary, State as JobState};
use hpvm_queue::name::Name;
use hpvm_queue::store::jobs::New;
use hpvm_queue::store::list::{Filter, PAGE_MAX, read_token, token};
use hpvm_queue::time::Stamp;
use hpvm_queue::{check, describe, program};

/// Jobs on a page when nobody says how many.
const PAGE: u32 = 100;
/// Longest idempotency key.
const KEY_MAX: usize = 200;

/// Parameters of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListParams {
    state: Option<String>,
    user: Option<String>,
    name: Option<String>,
    host: Option<String>,
    array: Option<i64>,
    limit: Option<u32>,
    sort: Option<String>,
    page_token: Option<String>,
}

impl ListParams {
    fn filter(self, who: &Who) -> Result<Filter, Problem> {
        let mut ascending = match self.sort.as_deref() {
            None | Some("-id") => false,
            Some("id") => true,
            Some(other) => {
                return Err(Problem::bad(format!("sort is '{other}'; expected id or -id")));
            }
        };
        let mut after = None;
        if let Some(text) = &self.page_token {
            let bad = || Problem::bad("page_token is not one that this list gave");
            let (order, last) = read_token(text).ok_or_else(bad)?;
            if self.sort.is_some() && order != ascending {
                return Err(bad());
            }
            (ascending, after) = (order, Some(last));
        }
        let user = match who.is_admin() {
            true => self.user,
            // Of others' jobs there are none.
            false => Some(
                self.user
                    .filter(|user| *user != who.name)
                    .map_or(who.name.clone(), |_| String::new()),
            ),
        };
        let states = self.state.as_deref().map_or(Ok(Vec::new()), states)?;
        let limit = self.limit.unwrap_or(PAGE);
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(Problem::bad(format!("limit is {limit}; expected 1 to {PAGE_MAX}")));
        }
        let (name, host, array) = (self.name, self.host, self.array);
        Ok(Filter { states, user, name, host, array, ascending, after, limit })
    }
}

fn states(text: &str) -> Result<Vec<JobState>, Problem> {
    let mut states = Vec::new();
    for word in text.split(',').filter(|word| !word.is_empty()) {
        match JobState::parse(word) {
            Some(state) => states.push(state),
            None if word == "active" => states.extend(&JobState::ALL[..4]),
            None => {
                let names = JobState::ALL.map(JobState::name).join(", ");
                let text = format!("state is '{word}'; expected active, {names}");
                return Err(Problem::bad(text));
            }
        }
    }
    Ok(states)
}

pub async fn list(
    State(app): State<App>,
    who: Who,
    Params(params): Params<ListParams>,
) -> Result<Json<JobList>, Problem> {
    let filter = params.filter(&who)?;
    let ascending = filter.ascending;
    let (jobs, more) = app.read(move |store| store.list(&filter)).await?;
    let last = jobs.last().filter(|_| more);
    let next_page_token = last.map(|job| token(ascending, job.id));
    Ok(Json(JobList { jobs, next_page_token }))
}

/// Parameters of submitting.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SubmitParams {
    validate: Option<u8>,
}

pub async fn submit(
    State(app): State<App>,
    who: Who,
    headers: HeaderMap,
    Params(params): Params<SubmitParams>,
    Body(spec): Body<JobSpec>,
) -> Result<Response, Problem> {
    let key = headers.get("idempotency-key").map(|value| value.to_str().unwrap_or_default());
    let good = |key: &str| !key.is_empty() && key.len() <= KEY_MAX;
    if key.is_some_and(|key| !good(key)) {
        let text = format!("Idempotency-Key: expected 1 to {KEY_MAX} characters of ASCII");
        return Err(Problem::bad(text));
    }
    let key = key.map(str::to_owned);
    if params.validate == Some(1) {
        let new = checked(&app, spec, &who, key).await?;
        return Ok(Json(validate(&app, new).await?).into_response());
    }
    let job = record(&app, &who, spec, key).await?;
    let place = format!("/api/v1/jobs/{}", job.id());
    let body = Json(full(&app, job).await?);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], body).into_response())
}

/// Records a job.
pub async fn record(
    app: &App,
    who: &Who,
    spec: JobSpec,
    key: Option<String>,
) -> Result<Job, Problem> {
    let new = checked(app, spec, who, key).await?;
    if let Some(slurm) = app.slurm.clone() {
        return slurm::submit(app, slurm, who, new).await;
    }
    let actor = who.actor();
    app.ask(move |manager| {
        let (job, fresh) = manager.submit(&new)?;
        if fresh {
            // The job is recorded with its user in any case.
            let _ = manager.store().audit(&actor, "submit", &format!("job {}", job.id()));
        }
        Ok(job)
    })
    .await
}

/// A job that can be recorded, or what is wrong with it.
async fn checked(
    app: &App,
    mut spec: JobSpec,
    who: &Who,
    key: Option<String>,
) -> Result<New, Problem> {
    let mut faults = check::faults(&spec);
    if app.slurm.is_some() {
        // Slurm knows its queues and hosts itself.
        faults.retain(|(field, _)| !["queue", "nodes"].contains(field));
        if spec.max_processes.is_some() {
            faults.push(("max_processes", "Slurm keeps no such limit; leave it out".into()));
        }
    }
    if app.place.system
        && let Err(text) = hpvm_queue::driver::account_of(&who.name)
    {
        return Err(Problem::new(StatusCode::FORBIDDEN, text));
    }
    if let Some(nodes) = spec.nodes {
        // At least one rank on each host, as sbatch has it.
        spec.ranks = spec.ranks.max(nodes);
    }
    let queue = spec.queue.clone().unwrap_or_else(|| check::QUEUE.into());
    let limits = app.read(move |store| store.limits(&queue)).await?;
    faults.extend(check::keep_limits(&mut spec, &limits));
    // In system mode the server has other rights than the job will have; a folder that is not here may be another host's.
    if !app.place.system && faults.is_empty() {
        let (asked, home) = (spec.clone(), app.place.home.clone());
        let look = move || match program::folder(&asked, &home).is_dir() {
            true => Ok(program::fault(&asked, &home)),
            false => Ok(None),
        };
        let fault = blocking(look).await?;
        faults.extend(fault.map(|text| ("command", text)));
    }
    if !faults.is_empty() {
        return Err(Problem::fields(faults));
    }
    let array = spec.array.as_deref().map(check::array).transpose();
    let (tasks, at_once) =
        array.map_err(|text| Problem::fields(vec![("array", text)]))?.unwrap_or_default();
    Ok(New {
        user: who.name.clone(),
        name: spec.name.clone().unwrap_or_else(|| describe::usual_name(&spec)),
        queue: spec.queue.clone().unwrap_or_else(|| check::QUEUE.into()),
        spec,
        tasks,
        at_once,
        key,
    })
}

async fn validate(app: &App, new: New) -> Result<Validated, Problem> {
    let command_line = describe::command_line(&new.spec);
    if let Some(slurm) = app.slurm.clone() {
        let estimated_start = slurm::estimate(app, slurm, new).await?;
        return Ok(Validated { command_line, estimated_start });
    }
    let summary = JobSummary {
        id: 0,
        name: new.name,
        user: new.user,
        state: JobState::Submitted,
        outcome: None,
        reason: None,
        estimated_start: None,
        ranks: new.spec.ranks,
        hosts: Vec::new(),
        submitted: Stamp::now(),
        started: None,
        ended: None,
        time_limit_seconds: new.spec.time_limit_seconds,
        queue: new.queue,
        priority: new.spec.priority,
        array: None,
        cancelling: false,
        restarts: 0,
        last_failure: None,
        eligible: None,
        waiting: None,
    };
    let job = Job { summary, spec: new.spec, allocation: Vec::new(), uid: None };
    let (estimated_start, _) = app.ask(move |manager| Ok(manager.estimate(job))).await?;
    Ok(Validated { command_line, estimated_start })
}

pub async fn job(
    State(app): State<App>,
    who: Who,
    Id(name): Id,
) -> Result<Json<super::types::Job>, Problem> {
    let job = find(&app, &who, name).await?;
    Ok(Json(full(&app, job).await?))
}

/// A job that the user may see.
pub async fn find(app: &App, who: &Who, name: impl Into<Name>) -> Result<Job, Problem> {
    let name = name.into();
    let missing = || Problem::missing(format!("there is no job {name}"));
    let found = app.read(move |store| store.named(name)?.map(|id| store.job(id)).transpose());
    // Another user's is as if it were not there, and a task's number is not told either.
    who.sees(found.await?.ok_or_else(missing)?).map_err(|_| missing())
}

/// A job with everything that the API says of it.
pub(super) async fn full(app: &App, job: Job) -> Result<super::types::Job, Problem> {
    let shared = app.clone();
    crate::app::blocking(move || {
        let action = |action| {
            let why_not = apply::why_not(&job, action);
            Action { allowed: why_not.is_none(), why_not }
        };
        let size = |stderr| super::output::size(&shared, &job, stderr);
        let started = job.summary.started.is_some();
        let sizes = OutputSizes { stdout: size(false), stderr: size(true) };
        Ok(super::types::Job {
            actions: Actions {
                cancel: action(Act::Cancel),
                hold: action(Act::Hold),
                release: action(Act::Release),
                delete: action(Act::Delete),
            },
            exit_code: job.summary.outcome.as_ref().map(|outcome| outcome.exit_code()),
            output: if started { sizes } else { OutputSizes::default() },
            allocation: job.allocation,
            command_line: describe::command_line(&job.spec),
            summary: job.summary,
            spec: job.spec,
        })
    })
    .await
}

pub async fn do_delete(app: &App, who: &Who, job: &Job) -> Result<(), Problem> {
    let (id, name) = (job.id(), Name::from(&job.summary));
    app.change(who, "delete", format!("job {name}"), move |m| m.remove(id)).await?;
    app.forgotten.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    Ok(())
}

pub async fn delete(State(app): State<App>, who: Who, Id(name): Id) -> Result<StatusCode, Problem> {
    let job = find(&app, &who, name).await?;
    do_delete(&app, &who, &job).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn script(State(app): State<App>, who: Who, Id(name): Id) -> Result<Response, Problem> {
    let job = find(&app, &who, name).await?;
    let none = || Problem::missing(format!("job {name} has no script"));
    let text = job.spec.script.ok_or_else(none)?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}
