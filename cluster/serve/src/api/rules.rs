//! What administrators lay down, and the log of what was changed.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;

use super::about;
use super::extract::{Body, Params};
use super::types::{AuditEntry, AuditLog, DrainReason, Host, Queues};
use crate::app::App;
use crate::auth::{Admin, Who};
use crate::problem::Problem;
use hpvm_queue::check::QUEUE;
use hpvm_queue::store::list::PAGE_MAX;
use hpvm_queue::store::rules::{Drained, QueueLimits};

/// Longest reason.
const REASON_MAX: usize = 200;

/// Parameters of the log.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuditParams {
    before: Option<i64>,
    limit: Option<u32>,
}

pub async fn audit(
    State(app): State<App>,
    _: Admin,
    Params(params): Params<AuditParams>,
) -> Result<Json<AuditLog>, Problem> {
    let limit = params.limit.unwrap_or(100);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Problem::bad(format!("limit is {limit}; expected 1 to {PAGE_MAX}")));
    }
    let (entries, more) = app.read(move |store| store.audit_log(params.before, limit)).await?;
    let next = entries.last().filter(|_| more).map(|entry| entry.id);
    let entries = entries.into_iter().map(|entry| AuditEntry {
        id: entry.id,
        at: entry.at,
        user: entry.user,
        origin: entry.origin,
        action: entry.action,
        target: entry.target,
    });
    Ok(Json(AuditLog { entries: entries.collect(), next_before: next }))
}

fn known_host(app: &App, name: &str) -> Result<(), Problem> {
    match app.hosts.borrow().iter().any(|host| host.name == name) {
        true => Ok(()),
        false => Err(Problem::missing(format!("there is no host '{}'", name.escape_debug()))),
    }
}

pub async fn drain(
    State(app): State<App>,
    Admin(who): Admin,
    Path(name): Path<String>,
    Body(asked): Body<DrainReason>,
) -> Result<Json<Host>, Problem> {
    known_host(&app, &name)?;
    let reason = asked.reason.trim().to_string();
    let good = (1..=REASON_MAX).contains(&reason.chars().count());
    if !good || reason.chars().any(char::is_control) {
        let text = format!("expected 1 to {REASON_MAX} characters: why no job shall start there");
        return Err(Problem::fields(vec![("reason", text)]));
    }
    if let Some(slurm) = app.slurm.clone() {
        crate::slurm::node(&app, slurm, &who, name.clone(), Some(reason)).await?;
        return found(&app, &name);
    }
    let (target, drained) =
        (format!("{name}: {reason}"), Drained { user: who.name.clone(), reason });
    let host = name.clone();
    app.change(&who, "drain", target, move |manager| manager.drain(&host, drained)).await?;
    host_now(&app, &who, &name).await
}

pub async fn resume(
    State(app): State<App>,
    Admin(who): Admin,
    Path(name): Path<String>,
) -> Result<Json<Host>, Problem> {
    known_host(&app, &name)?;
    if let Some(slurm) = app.slurm.clone() {
        crate::slurm::node(&app, slurm, &who, name.clone(), None).await?;
        return found(&app, &name);
    }
    let host = name.clone();
    app.change(&who, "resume", name.clone(), move |manager| manager.resume(&host)).await?;
    host_now(&app, &who, &name).await
}

/// The host as it stands now, for those who listen as well.
async fn host_now(app: &App, _: &Who, name: &str) -> Result<Json<Host>, Problem> {
    let drained = app.ask(|manager| Ok(manager.drained().clone())).await?;
    app.hosts.send_modify(|hosts| hosts.iter_mut().for_each(|host| host.mark_drained(&drained)));
    found(app, name)
}

fn found(app: &App, name: &str) -> Result<Json<Host>, Problem> {
    let found = app.hosts.borrow().iter().find(|host| host.name == name).cloned();
    found.map(Json).ok_or_else(|| Problem::missing(format!("there is no host '{name}'")))
}

pub async fn limits(
    State(app): State<App>,
    Admin(who): Admin,
    Path(name): Path<String>,
    Body(asked): Body<QueueLimits>,
) -> Result<Json<Queues>, Problem> {
    if app.slurm.is_some() {
        let text = "limits of Slurm's partitions are set in its configuration, and by sacctmgr";
        return Err(Problem::new(axum::http::StatusCode::CONFLICT, text));
    }
    if name != QUEUE {
        return Err(Problem::missing(format!("there is no queue '{}'", name.escape_debug())));
    }
    let zeros = [
        ("time_limit_seconds", asked.time_limit_seconds == Some(0)),
        ("ranks", asked.ranks == Some(0)),
        ("jobs_per_user", asked.jobs_per_user == Some(0)),
    ];
    let faults: Vec<_> = zeros
        .into_iter()
        .filter(|(_, zero)| *zero)
        .map(|(field, _)| (field, "0; expected a number from 1, or nothing".to_string()))
        .collect();
    if !faults.is_empty() {
        return Err(Problem::fields(faults));
    }
    app.change(&who, "set limits", format!("queue {name}"), move |manager| {
        manager.store().set_limits(&name, &asked)
    })
    .await?;
    about::all_queues(&app).await
}
