//! Hosts, queues, the server itself.

use std::fmt::Write;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::extract::Params;
use super::types::{Hosts, Info, Limits, QueueInfo, Queues};
use crate::app::App;
use crate::auth::Who;
use crate::problem::Problem;
use hpvm_monitor::Series;
use hpvm_queue::check::{ARRAY_MAX, QUEUE, SCRIPT_MAX};
use hpvm_queue::job::State as JobState;
use hpvm_queue::manager::ACTIVE_MAX;
use hpvm_queue::store::list::PAGE_MAX;
use hpvm_queue::time::Stamp;

pub async fn hosts(State(app): State<App>, _: Who) -> Json<Hosts> {
    let hosts = app.hosts.borrow().to_vec();
    Json(Hosts { hosts })
}

/// How far back.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HistoryParams {
    range: Option<String>,
}

pub async fn history(
    State(app): State<App>,
    _: Who,
    Path(name): Path<String>,
    Params(params): Params<HistoryParams>,
) -> Result<Json<Series>, Problem> {
    let histories = app.history.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(history) = histories.get(&name) else {
        return Err(Problem::missing(format!("there is no host '{}'", name.escape_debug())));
    };
    match params.range.as_deref() {
        None | Some("hour") => Ok(Json(history.hour())),
        Some("day") => Ok(Json(history.day())),
        Some(other) => {
            let text = format!("range is '{}'; expected hour or day", other.escape_debug());
            Err(Problem::bad(text))
        }
    }
}

pub async fn queues(State(app): State<App>, _: Who) -> Result<Json<Queues>, Problem> {
    all_queues(&app).await
}

/// The queues with their limits.
pub async fn all_queues(app: &App) -> Result<Json<Queues>, Problem> {
    if let Some(slurm) = app.slurm.clone() {
        return Ok(Json(Queues { queues: crate::slurm::queues(app, slurm).await? }));
    }
    let limits = app.read(|store| store.limits(QUEUE)).await?;
    let counts = app.read(|store| store.counts()).await?;
    let of = |state| counts.iter().find(|(s, _)| *s == state).map_or(0, |(_, count)| *count);
    Ok(Json(Queues {
        queues: vec![QueueInfo {
            name: QUEUE.into(),
            hosts: app.hosts.borrow().iter().map(|host| host.name.clone()).collect(),
            pending: of(JobState::Submitted) + of(JobState::Pending) + of(JobState::Held),
            running: of(JobState::Running),
            limits,
        }],
    }))
}

pub async fn info(State(app): State<App>, _: Who) -> Result<Json<Info>, Problem> {
    let problems = app.ask(|manager| Ok(manager.problems())).await?;
    Ok(Json(Info {
        version: env!("CARGO_PKG_VERSION").into(),
        mode: if app.slurm.is_some() { "slurm" } else { "embedded" }.into(),
        program: app.place.program.display().to_string(),
        limits: Limits {
            script_bytes: SCRIPT_MAX as u64,
            array_tasks: ARRAY_MAX,
            active_jobs: ACTIVE_MAX as u64,
            output_chunk_bytes: super::output::CHUNK,
            page: PAGE_MAX,
        },
        time: Stamp::now(),
        problems,
    }))
}

/// Open to everybody who can connect: says nothing but that the server works.
pub async fn health(State(app): State<App>) -> Result<&'static str, Problem> {
    let problems = app.ask(|manager| Ok(manager.problems())).await?;
    match problems.is_empty() {
        true => Ok("ok\n"),
        false => Err(Problem::new(
            axum::http::StatusCode::SERVICE_UNAVAILABLE,
            "the server cannot do all it should; /api/v1/info says what to those who sign in",
        )),
    }
}

pub async fn document(_: Who) -> Result<Response, Problem> {
    let failed = |text| Problem::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, text);
    let text = crate::document::json().map_err(failed)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// For Prometheus.
pub async fn metrics(State(app): State<App>, _: Who) -> Result<Response, Problem> {
    let counts = app.read(|store| store.counts()).await?;
    let (reserved, problems) =
        app.ask(|manager| Ok((manager.reserved(), manager.problems().len()))).await?;
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, rows: &[(String, f64)]| {
        // Writing to a String cannot fail.
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n");
        for (labels, value) in rows {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    };
    let plain = |value: f64| [(String::new(), value)];
    let states: Vec<_> = counts
        .iter()
        .map(|(state, count)| (format!("{{state=\"{}\"}}", state.name()), *count as f64))
        .collect();
    gauge("hpvm_jobs", "Jobs that have not ended, by state.", &states);
    let cpus: u32 = app.hosts.borrow().iter().map(|host| host.cpus).sum();
    let reserved: u32 = reserved.values().sum();
    gauge("hpvm_cpus", "Processors that jobs may reserve.", &plain(f64::from(cpus)));
    gauge("hpvm_cpus_reserved", "Processors reserved by jobs.", &plain(f64::from(reserved)));
    gauge("hpvm_streams", "Open streams of events.", &plain(app.events.receiver_count() as f64));
    gauge("hpvm_problems", "What the server cannot do now.", &plain(problems as f64));
    if let Some(sample) = app.hosts.borrow().first().and_then(|host| host.sample.clone()) {
        let busy = sample.cpu.as_ref().map_or(0.0, |cpu| f64::from(cpu.total.busy()));
        gauge("hpvm_host_cpu_busy", "Fraction of the processors that is busy.", &plain(busy));
        let free = sample.memory.available as f64;
        gauge("hpvm_host_memory_available_bytes", "Memory for new programs.", &plain(free));
    }
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
