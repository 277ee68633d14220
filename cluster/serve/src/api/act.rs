//! What is done to jobs: cancel, hold, release; of an array all its tasks, or some.

use axum::Json;
use axum::extract::State;
use axum::routing::{MethodRouter, post};
use serde::Deserialize;

use super::extract::{Id, Params};
use super::jobs::{find, full};
use super::types::Job as Shown;
use crate::app::App;
use crate::auth::Who;
use crate::problem::Problem;
use crate::slurm;
use hpvm_queue::job::{Job, JobId, JobSummary};
use hpvm_queue::manager::Manager;
use hpvm_queue::name::{self, Name};
use hpvm_queue::store::list::{Filter, PAGE_MAX};
use hpvm_queue::store::{Store, StoreError};

/// What can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Cancel,
    Hold,
    Release,
}

impl Act {
    pub fn name(self) -> &'static str {
        match self {
            Act::Cancel => "cancel",
            Act::Hold => "hold",
            Act::Release => "release",
        }
    }

    fn perform(self, manager: &mut Manager, id: JobId, by: &str) -> Result<(), StoreError> {
        let done = match self {
            Act::Cancel => manager.cancel(id, by),
            Act::Hold => manager.hold(id, by),
            Act::Release => manager.release(id),
        };
        done.map(drop)
    }
}

/// Which jobs of an array; without any, the one job.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Which {
    array: Option<bool>,
    tasks: Option<String>,
}

/// The handler of one of them.
pub fn handler(act: Act) -> MethodRouter<App> {
    post(async move |app: State<App>, who: Who, id: Id, which: Params<Which>| {
        asked(app, who, id, which, act).await
    })
}

async fn asked(
    State(app): State<App>,
    who: Who,
    Id(name): Id,
    Params(which): Params<Which>,
    act: Act,
) -> Result<Json<Shown>, Problem> {
    let job = match find(&app, &who, name).await {
        Err(missing) => return rest_of_array(&app, &who, (name, missing), which, act).await,
        found => found?,
    };
    let array = number_of_array(&job).filter(|array| Name::from(*array) == name);
    match (array, which.tasks) {
        (None, Some(_)) => {
            return Err(Problem::bad(format!("tasks: job {name} is no array, so it has no tasks")));
        }
        (Some(array), Some(list)) => several(&app, &who, array, Some(list), act).await?,
        (Some(array), None) if which.array == Some(true) => {
            several(&app, &who, array, None, act).await?;
        }
        // A task of which Slurm has no record of its own yet is known by its name only.
        _ if name.task.is_some() => one(&app, &who, &job, name, act).await?,
        _ => one(&app, &who, &job, Name::from(&job.summary), act).await?,
    }
    let job = find(&app, &who, name).await?;
    Ok(Json(full(&app, job).await?))
}

/// As `asked` for an array whose first task's record, which has the array's number, has been removed.
async fn rest_of_array(
    app: &App,
    who: &Who,
    (name, missing): (Name, Problem),
    which: Which,
    act: Act,
) -> Result<Json<Shown>, Problem> {
    let all = which.array == Some(true) || which.tasks.is_some();
    if !all || name.task.is_some() || app.slurm.is_some() {
        return Err(missing);
    }
    let left = app.read(move |store| of_array(store, name.job)).await?;
    let Some(task) = left.first() else { return Err(missing) };
    // Whose it is, and so who may see it.
    let Ok(task) = find(app, who, Name::from(task)).await else { return Err(missing) };
    several(app, who, name.job, which.tasks, act).await?;
    let task = find(app, who, Name::from(&task.summary)).await?;
    Ok(Json(full(app, task).await?))
}

/// The number of the array that a job belongs to, or stands for.
fn number_of_array(job: &Job) -> Option<JobId> {
    let stands = job.spec.array.is_some().then_some(job.id());
    job.summary.array.as_ref().map(|array| array.id).or(stands)
}

/// Does it to a job, with its entry in the audit log.
pub async fn to_job(app: &App, who: &Who, job: &Job, act: Act) -> Result<(), Problem> {
    one(app, who, job, Name::from(&job.summary), act).await
}

async fn one(app: &App, who: &Who, job: &Job, name: Name, act: Act) -> Result<(), Problem> {
    if let Some(slurm) = app.slurm.clone() {
        return slurm::act(app, slurm, who, name.job, name.to_string(), act).await;
    }
    let (id, by) = (job.id(), who.name.clone());
    let target = format!("job {name}");
    app.change(who, act.name(), target, move |manager| act.perform(manager, id, &by)).await
}

/// Does it to all tasks of an array, or to those of a list.
async fn several(
    app: &App,
    who: &Who,
    array: JobId,
    list: Option<String>,
    act: Act,
) -> Result<(), Problem> {
    let tasks = list.as_deref().map(name::tasks).transpose();
    let tasks = tasks.map_err(|why| Problem::bad(format!("tasks: {why}")))?;
    let words = tasks.as_ref().map_or(String::new(), |tasks| format!("_[{}]", name::list(tasks)));
    let target = format!("{array}{words}");
    if let Some(slurm) = app.slurm.clone() {
        return slurm::act(app, slurm, who, array, target, act).await;
    }
    let jobs = app.read(move |store| of_array(store, array)).await?;
    let chosen = choose(jobs, tasks.as_deref()).map_err(|missing| {
        let (missing, there) = missing;
        Problem::missing(format!("array {array} has no task {missing}; it has {there}"))
    })?;
    let by = who.name.clone();
    let target = format!("array {target}");
    app.change(who, act.name(), target, move |manager| all(manager, &chosen, &by, act)).await
}

/// The jobs of an array.
fn of_array(store: &Store, array: JobId) -> Result<Vec<JobSummary>, StoreError> {
    let mut filter =
        Filter { array: Some(array), limit: PAGE_MAX, ascending: true, ..Filter::default() };
    let mut all = Vec::new();
    loop {
        let (jobs, more) = store.list(&filter)?;
        filter.after = jobs.last().map(|job| job.id);
        all.extend(jobs);
        if !more {
            return Ok(all);
        }
    }
}

/// The numbers of those that are asked for; or the tasks that there are not, and those there are.
fn choose(jobs: Vec<JobSummary>, tasks: Option<&[u32]>) -> Result<Vec<JobId>, (String, String)> {
    let task = |job: &JobSummary| job.array.as_ref().map(|array| array.task);
    let there: std::collections::BTreeSet<u32> = jobs.iter().filter_map(task).collect();
    let missing: Vec<u32> =
        tasks.unwrap_or_default().iter().filter(|task| !there.contains(task)).copied().collect();
    if !missing.is_empty() {
        let there: Vec<u32> = there.into_iter().collect();
        return Err((name::list(&missing), name::list(&there)));
    }
    let asked = |job: &&JobSummary| {
        tasks.is_none_or(|tasks| task(job).is_some_and(|task| tasks.binary_search(&task).is_ok()))
    };
    Ok(jobs.iter().filter(asked).map(|job| job.id).collect())
}

/// Last first, so that none of them starts in between. One that cannot be is passed over, as one
/// that has ended already, unless all are refused; an end of what has ended is no fault.
fn all(manager: &mut Manager, ids: &[JobId], by: &str, act: Act) -> Result<(), StoreError> {
    let (mut done, mut refused) = (act == Act::Cancel, None);
    for id in ids.iter().rev() {
        match act.perform(manager, *id, by) {
            Ok(()) => done = true,
            Err(error @ StoreError::Refused(_)) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    match refused {
        Some(error) if !done => Err(error),
        _ => Ok(()),
    }
}
