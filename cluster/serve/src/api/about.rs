//! Hosts, queues, the server itself.

use std::fmt::Write;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::extract::Params;
use super::types::{Host, HostState, Hosts, Info, Limits, QueueInfo, Queues};
use crate::app::App;
use crate::auth::Who;
use crate::problem::Problem;
use crate::trouble;
use hpvm_monitor::{Gpu, HostSample, Series};
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
    let problems = trouble::all(&app).await?;
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
    let problems = trouble::own(&app).await?;
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
    let reserved = app.ask(|manager| Ok(manager.reserved())).await?;
    let problems = trouble::own(&app).await?.len();
    let mut text = Exposition::default();
    let plain = |value: f64| vec![(String::new(), value)];
    let states = counts
        .iter()
        .map(|(state, count)| (format!("{{state=\"{}\"}}", state.name()), *count as f64))
        .collect();
    text.gauge("hpvm_jobs", "Jobs that have not ended, by state.", states);
    let hosts = app.hosts.borrow();
    let cpus: u32 = hosts.iter().map(|host| host.cpus).sum();
    let reserved: u32 = reserved.values().sum();
    text.gauge("hpvm_cpus", "Processors that jobs may reserve.", plain(f64::from(cpus)));
    text.gauge("hpvm_cpus_reserved", "Processors reserved by jobs.", plain(f64::from(reserved)));
    let streams = app.events.receiver_count() as f64;
    text.gauge("hpvm_streams", "Open streams of events.", plain(streams));
    text.gauge("hpvm_problems", "What the server cannot do now.", plain(problems as f64));
    text.hosts(&hosts);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text.0).into_response())
}

/// What Prometheus reads.
#[derive(Debug, Default)]
struct Exposition(String);

/// A value with its labels.
type Row = (String, f64);

impl Exposition {
    fn gauge(&mut self, name: &str, help: &str, rows: Vec<Row>) {
        // Writing to a String cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} gauge\n");
        for (labels, value) in rows {
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    /// What is sampled of the hosts that report.
    fn hosts(&mut self, hosts: &[Host]) {
        let up =
            hosts.iter().map(|host| (labels(host, ""), f64::from(host.state != HostState::Lost)));
        self.gauge("hpvm_host_up", "Whether the host reports.", up.collect());
        let sampled = || hosts.iter().filter_map(|host| Some((host, host.sample.as_ref()?)));
        let of = |value: fn(&HostSample) -> Option<f64>| -> Vec<Row> {
            sampled()
                .filter_map(|(host, sample)| Some((labels(host, ""), value(sample)?)))
                .collect()
        };
        let busy = of(|sample| Some(f64::from(sample.cpu.as_ref()?.total.busy())));
        self.gauge("hpvm_host_cpu_busy", "Fraction of the processors that is busy.", busy);
        let free = of(|sample| Some(sample.memory.available as f64));
        self.gauge("hpvm_host_memory_available_bytes", "Memory for new programs.", free);
        let of_gpus = |value: fn(&Gpu) -> Option<f64>| -> Vec<Row> {
            let each = |(host, sample): (&Host, &HostSample)| -> Vec<Row> {
                let gpus = sample.gpus.iter().enumerate();
                gpus.filter_map(|(i, gpu)| {
                    Some((labels(host, &format!(",gpu=\"{i}\"")), value(gpu)?))
                })
                .collect()
            };
            sampled().flat_map(each).collect()
        };
        let busy = of_gpus(|gpu| gpu.busy.map(f64::from));
        self.gauge("hpvm_host_gpu_busy", "Fraction of a moment in which a GPU works.", busy);
        let used = of_gpus(|gpu| Some(gpu.memory_used as f64));
        self.gauge("hpvm_host_gpu_memory_used_bytes", "Memory of a GPU that is in use.", used);
    }
}

/// The labels of a host, whose name is anything.
fn labels(host: &Host, more: &str) -> String {
    let name = host.name.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    format!("{{host=\"{name}\"{more}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_queue::policy::Resources;

    #[test]
    fn hosts_in_the_form_that_prometheus_reads() {
        let capacity = Resources { cpus: 1, memory: 1, gpus: 0 };
        let host = |name, sample| Host { sample, ..Host::up(name, capacity) };
        let gpu = |busy| Gpu { name: "x".into(), busy, memory_total: 9, memory_used: 7 };
        let sample = HostSample { gpus: vec![gpu(None), gpu(Some(0.5))], ..HostSample::default() };
        let lost = Host { state: HostState::Lost, ..host("n2", None) };
        let mut text = Exposition::default();
        text.hosts(&[host("n\"1", Some(sample)), lost]);
        let lines: Vec<&str> = text.0.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines,
            [
                r#"hpvm_host_up{host="n\"1"} 1"#,
                r#"hpvm_host_up{host="n2"} 0"#,
                r#"hpvm_host_memory_available_bytes{host="n\"1"} 0"#,
                r#"hpvm_host_gpu_busy{host="n\"1",gpu="1"} 0.5"#,
                r#"hpvm_host_gpu_memory_used_bytes{host="n\"1",gpu="0"} 7"#,
                r#"hpvm_host_gpu_memory_used_bytes{host="n\"1",gpu="1"} 7"#,
            ]
        );
    }
}
