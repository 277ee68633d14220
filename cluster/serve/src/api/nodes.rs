//! What `hpvm node` says and asks: reports, orders, output of jobs.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path as Segments, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::extract::Params;
use super::types::{NodeReport, Received};
use crate::app::{App, blocking};
use crate::auth::{Admin, FromNode};
use crate::problem::Problem;
use hpvm_queue::attempt::Attempt;
use hpvm_queue::check;
use hpvm_queue::node::{Orders, Version};
use hpvm_queue::processors::TEXT_MAX;

/// How long a request for orders waits for news: less than what proxies and the host wait.
pub const HOLD: Duration = Duration::from_secs(15);
/// Most processors and processors' samples of a host; Linux itself knows 8192.
const CPUS_MAX: u32 = 1 << 16;

fn checked(name: &str, report: &NodeReport) -> Result<(), Problem> {
    let mut faults = Vec::new();
    faults.extend(check::host(name).map(|text| ("name", text)));
    let cpus = report.capacity.cpus;
    if !(1..=CPUS_MAX).contains(&cpus) {
        faults.push(("capacity", format!("{cpus} processors; expected 1 to {CPUS_MAX}")));
    }
    let cores = report.sample.as_ref().and_then(|s| s.cpu.as_ref()).map_or(0, |c| c.cores.len());
    if cores > CPUS_MAX as usize {
        faults.push(("sample", format!("{cores} processors; at most {CPUS_MAX}")));
    }
    if report.report.processors.len() > TEXT_MAX {
        faults.push(("report", format!("processors: a text of more than {TEXT_MAX} bytes")));
    }
    if report.report.identity.is_empty() || report.report.identity.len() > 64 {
        faults.push(("report", "identity: expected 1 to 64 characters".into()));
    }
    if faults.is_empty() { Ok(()) } else { Err(Problem::fields(faults)) }
}

fn embedded(app: &App) -> Result<(), Problem> {
    match app.slurm.is_some() {
        true => {
            let text =
                "Slurm has the hosts of this server; hpvm node belongs to the embedded queue";
            Err(Problem::new(StatusCode::CONFLICT, text))
        }
        false => Ok(()),
    }
}

pub async fn report(
    State(app): State<App>,
    _: FromNode,
    Segments(name): Segments<String>,
    super::extract::Body(asked): super::extract::Body<NodeReport>,
) -> Result<Json<Orders>, Problem> {
    embedded(&app)?;
    app.moderation.reported();
    checked(&name, &asked)?;
    let NodeReport { report, capacity, sample } = asked;
    let orders = match app.queue.pulses().take(&name, &report, capacity) {
        Some(orders) => (*orders).clone(),
        None => {
            let host = name.clone();
            app.ask(move |manager| manager.report(&host, &report, capacity)).await?
        }
    };
    let orders = Orders { looks: app.wanted.of_host(&name), ..orders };
    if let Some(sample) = sample {
        let mut history = app.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.entry(name.clone()).or_default().push(&sample);
        drop(history);
        app.samples.lock().unwrap_or_else(PoisonError::into_inner).insert(name, sample);
    }
    Ok(Json(orders))
}

/// The orders that the host has.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct After {
    epoch: u64,
    number: u64,
    /// Of the looks that it knows; without it, looks are no news.
    looks: Option<u64>,
}

/// Waits until there are newer orders, for a while.
pub async fn orders(
    State(app): State<App>,
    _: FromNode,
    Segments(name): Segments<String>,
    Params(After { epoch, number, looks }): Params<After>,
) -> Result<Json<Orders>, Problem> {
    let mut wanted = app.wanted.looks.subscribe();
    let other = wanted.wait_for(|wanted| {
        let number = wanted.get(&name).map_or(0, |looks| looks.number);
        looks.is_some_and(|known| known != number)
    });
    let mut versions = app.versions.subscribe();
    let mut ending = app.ending.clone();
    let newer = versions.wait_for(|versions| {
        versions.get(&name).is_some_and(|version| *version > Version { epoch, number })
    });
    tokio::select! {
        _ = newer => {}
        _ = other => {}
        () = tokio::time::sleep(HOLD) => {}
        _ = ending.wait_for(|ending| *ending) => {}
    }
    let looks = app.wanted.of_host(&name);
    let orders = match app.queue.pulses().orders(&name) {
        Some(orders) => (*orders).clone(),
        None => app.ask(move |manager| manager.orders(&name)).await?,
    };
    Ok(Json(Orders { looks, ..orders }))
}

/// Which part of which output.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PartParams {
    stream: String,
    offset: u64,
    /// Of which attempt.
    restarts: u32,
}

/// Takes a part of a job's output, if it is the next one. Says how much there is.
pub async fn output(
    State(app): State<App>,
    _: FromNode,
    Segments((name, id)): Segments<(String, i64)>,
    Params(part): Params<PartParams>,
    bytes: Bytes,
) -> Result<Json<Received>, Problem> {
    let attempt = Attempt { job: id, restarts: part.restarts };
    let job = app.ask(move |manager| manager.job_on(&name, attempt)).await?;
    let (stdout, stderr) = app.place.received(&job);
    let path = match part.stream.as_str() {
        "stdout" => stdout,
        "stderr" => stderr,
        _ => return Err(Problem::bad("stream: expected stdout or stderr")),
    };
    blocking(move || {
        // One at a time: a request that was repeated may overtake itself.
        let _one = app.receiving.lock().unwrap_or_else(PoisonError::into_inner);
        let size = append(&path, part.offset, &bytes).map_err(|error| {
            let status = match error.raw_os_error() {
                Some(libc::ENOSPC | libc::EDQUOT) => StatusCode::INSUFFICIENT_STORAGE,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            Problem::new(status, format!("output of job {id}: {error}"))
        })?;
        Ok(Json(Received { size }))
    })
    .await
}

/// Appends what begins at the end of the file. A part that was cut short is completed by the next.
fn append(path: &Path, offset: u64, bytes: &[u8]) -> std::io::Result<u64> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut options = File::options();
    let mut file = options.append(true).create(true).mode(0o600).open(path)?;
    let size = file.metadata()?.len();
    let skip = size.checked_sub(offset).and_then(|skip| usize::try_from(skip).ok());
    if let Some(rest) = skip.and_then(|skip| bytes.get(skip..)) {
        file.write_all(rest)?;
    }
    Ok(file.metadata()?.len())
}

/// Forgets a host that reports no more.
pub async fn remove(
    State(app): State<App>,
    Admin(who): Admin,
    Segments(name): Segments<String>,
) -> Result<StatusCode, Problem> {
    let host = name.clone();
    app.change(&who, "remove host", name.clone(), move |manager| manager.remove_node(&host))
        .await?;
    app.history.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
    app.samples.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
    app.hosts.send_modify(|hosts| hosts.retain(|host| host.name != name));
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::append;

    #[test]
    fn parts_may_be_repeated_and_overlap() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("7/stdout");
        for (offset, bytes, size) in
            [(0, "abc", 3), (0, "abc", 3), (9, "lost", 3), (1, "bcde", 5), (5, "", 5), (5, "f", 6)]
        {
            assert_eq!(append(&path, offset, bytes.as_bytes()).unwrap(), size, "{offset} {bytes}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "abcdef");
    }
}
