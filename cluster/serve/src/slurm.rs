//! The server before a Slurm: what it mirrors, and what it passes on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use crate::api::act::Act;
use crate::api::types::{Host, HostState, QueueInfo};
use crate::app::{App, blocking};
use crate::auth::Who;
use crate::problem::Problem;
use hpvm_queue::job::{Job, JobId, State};
use hpvm_queue::slurm::Slurm;
use hpvm_queue::slurm::nodes::{Node, NodeState, Partition};
use hpvm_queue::slurm::rows::is_waiting_array;
use hpvm_queue::store::jobs::New;
use hpvm_queue::store::rules::QueueLimits;
use hpvm_queue::time::Stamp;

/// How often Slurm is asked at most, and how much of the time its controller may spend on us.
const QUERY_INTERVAL: Duration = Duration::from_secs(2);
const SHARE: u32 = 10;
/// How often the end of the server is looked for meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Ended jobs that are asked for in one round: as many as the controller answers in a moment.
const VANISHED: usize = 50;

/// What Slurm has refused or not answered.
fn refused(text: String) -> Problem {
    Problem::new(StatusCode::CONFLICT, text)
}

/// Mirrors once, so that the first who ask are told of all there is, and then on a thread of its own
/// until the server ends.
pub fn start(app: App, slurm: Slurm) -> Result<(), String> {
    round(&app, &slurm);
    let body = move || {
        while !*app.ending.borrow() {
            let begun = Instant::now();
            round(&app, &slurm);
            let pause = QUERY_INTERVAL.max(begun.elapsed() * SHARE);
            while begun.elapsed() < pause && !*app.ending.borrow() {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
    };
    let thread = std::thread::Builder::new().name("slurm".into()).spawn(body);
    thread.map(|_| ()).map_err(|error| format!("cannot start a thread: {error}"))
}

fn round(app: &App, slurm: &Slurm) {
    let seen = slurm.jobs().and_then(|seen| {
        let before = app.queue.call(|m| m.store().mirrored()).map_err(|e| e.to_string())?;
        let before = before.map_err(|error| error.to_string())?;
        let there: BTreeSet<JobId> = seen.jobs.iter().map(Job::id).collect();
        let mut jobs = changed(app, slurm, seen.jobs)?;
        let gone = before.into_iter().filter(|job| !there.contains(&job.id));
        let due = gone.filter(|job| slurm.is_due(job.id)).take(VANISHED);
        jobs.extend(slurm.vanished(&due.collect::<Vec<_>>(), Stamp::now()));
        Ok(jobs)
    });
    let trouble = slurm.trouble();
    // Errors of the store are among the problems that /info tells.
    let _ = app.queue.call(move |manager| manager.mirror(seen, trouble));
    if let Ok(nodes) = slurm.nodes() {
        let local = app.hosts.borrow().iter().find(|h| h.name == app.place.host).cloned();
        let hosts: Vec<_> = nodes.into_iter().map(|node| host(node, local.as_ref())).collect();
        app.hosts.send_replace(hosts.into());
    }
}

/// The jobs that go on, and those that have ended since the last round, with how.
fn changed(app: &App, slurm: &Slurm, seen: Vec<Job>) -> Result<Vec<Job>, String> {
    let forgotten = app.forgotten.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (ended, mut jobs): (Vec<Job>, Vec<Job>) =
        seen.into_iter().partition(|job| job.state() == State::Ended);
    let ids: Vec<JobId> = ended.iter().map(Job::id).filter(|id| !forgotten.contains(id)).collect();
    let news = app.queue.call(move |manager| manager.store().not_ended(&ids));
    let news = news.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
    let news: BTreeSet<JobId> = news.into_iter().collect();
    let recorded = ended.iter().map(Job::id).filter(|id| !news.contains(id));
    let settled: BTreeSet<JobId> = jobs.iter().map(Job::id).chain(recorded).collect();
    slurm.settled(|id| settled.contains(&id));
    let due = ended.into_iter().filter(|job| news.contains(&job.id()) && slurm.is_due(job.id()));
    // The rest is asked for in the next rounds.
    jobs.extend(slurm.outcomes(due.take(VANISHED).collect()));
    Ok(jobs)
}

fn host(node: Node, local: Option<&Host>) -> Host {
    let state = match node.state {
        NodeState::Up => HostState::Up,
        NodeState::Drained => HostState::Drained,
        NodeState::Down => HostState::Lost,
    };
    Host {
        sample: local.filter(|local| local.name == node.name).and_then(|l| l.sample.clone()),
        name: node.name,
        state,
        last_seen: Stamp::now(),
        cpus: node.cpus,
        cpus_reserved: node.cpus_allocated,
        memory: node.memory,
        gpus: 0,
        reason: node.reason,
    }
}

/// The partitions.
pub async fn queues(app: &App, slurm: Slurm) -> Result<Vec<QueueInfo>, Problem> {
    let partitions = blocking(move || slurm.partitions().map_err(refused)).await?;
    let jobs = app.read(|store| store.mirrored()).await?;
    let mut counts: BTreeMap<(String, bool), u64> = BTreeMap::new();
    for job in jobs {
        *counts.entry((job.queue, job.state == State::Running)).or_default() += 1;
    }
    let shown = |partition: Partition| {
        let of = |running| counts.get(&(partition.name.clone(), running)).copied().unwrap_or(0);
        QueueInfo {
            pending: of(false),
            running: of(true),
            limits: QueueLimits {
                time_limit_seconds: partition.time_limit_seconds,
                ..QueueLimits::default()
            },
            name: partition.name,
            hosts: partition.nodes,
        }
    };
    Ok(partitions.into_iter().map(shown).collect())
}

/// Submits; gives the job as Slurm shows it.
pub async fn submit(app: &App, slurm: Slurm, who: &Who, new: New) -> Result<Job, Problem> {
    let (program, spec, asked) = (app.place.program.clone(), new.spec.clone(), slurm.clone());
    let not_accepted = |text: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text);
    let id = blocking(move || asked.submit(&new, &program).map_err(not_accepted)).await?;
    refresh(app, slurm, id).await?;
    app.change(who, "submit", format!("job {id}"), move |manager| {
        manager.store().set_spec(id, &spec)
    })
    .await?;
    app.read(move |store| store.job(id)).await
}

/// When the job would start.
pub async fn estimate(app: &App, slurm: Slurm, new: New) -> Result<Option<Stamp>, Problem> {
    let program = app.place.program.clone();
    blocking(move || {
        let refused = |text| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text);
        slurm.test(&new, &program).map_err(refused)
    })
    .await
}

/// Passes on what shall be done with a job, an array, or tasks of one; `number` is the job's or the
/// array's.
pub async fn act(
    app: &App,
    slurm: Slurm,
    who: &Who,
    number: JobId,
    name: String,
    act: Act,
) -> Result<(), Problem> {
    let (asked, words) = (slurm.clone(), name.clone());
    blocking(move || {
        let done = match act {
            Act::Cancel => asked.cancel(&words),
            Act::Hold => asked.hold(&words),
            Act::Release => asked.release(&words),
        };
        done.map_err(refused)
    })
    .await?;
    app.change(who, act.name(), format!("job {name}"), |_| Ok(())).await?;
    refresh(app, slurm, number).await
}

/// Passes on what shall be done with a node.
pub async fn node(
    app: &App,
    slurm: Slurm,
    who: &Who,
    name: String,
    reason: Option<String>,
) -> Result<(), Problem> {
    let (action, target) = match &reason {
        Some(reason) => ("drain", format!("{name}: {reason}")),
        None => ("resume", name.clone()),
    };
    let shared = app.clone();
    blocking(move || {
        let done = match &reason {
            Some(reason) => slurm.drain(&name, reason),
            None => slurm.resume(&name),
        };
        done.map_err(refused)?;
        round(&shared, &slurm);
        Ok(())
    })
    .await?;
    app.change(who, action, target, |_| Ok(())).await
}

/// Looks at one job now.
async fn refresh(app: &App, slurm: Slurm, id: JobId) -> Result<(), Problem> {
    let shared = app.clone();
    blocking(move || {
        let seen = slurm.job(id).map_err(refused)?;
        let jobs = changed(&shared, &slurm, seen.jobs).map_err(refused)?;
        let trouble = slurm.trouble();
        shared.queue.call(move |manager| manager.mirror(Ok(jobs), trouble))??;
        Ok(())
    })
    .await
}

/// The file that a job's output goes to, if it is the job's owner's: the server may be able to read
/// more than they. Blocks.
pub fn output(app: &App, slurm: &Slurm, job: &Job, stderr: bool) -> Result<Option<File>, Problem> {
    let id = job.id();
    let known =
        |name: Option<&String>| name.filter(|p| p.starts_with('/') && !p.contains('%')).cloned();
    let spec = &job.spec;
    let path = match stderr {
        true => known(spec.stderr.as_ref()),
        false => known(spec.stdout.as_ref()),
    };
    let path = match path {
        Some(path) => path,
        None => match located(app, slurm, job, stderr)? {
            Some(path) => path,
            None => return Ok(None),
        },
    };
    let told = |error: std::io::Error| Problem::missing(format!("output of job {id}: {error}"));
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = match File::options().read(true).custom_flags(flags).open(&path) {
        // It waits, or writes where this machine does not see it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(told)?,
    };
    let meta = file.metadata().map_err(told)?;
    if !meta.is_file() || crate::run::user_name(meta.uid()) != job.summary.user {
        let text = format!("output of job {id}: {path} is no file of {}", job.summary.user);
        return Err(Problem::missing(text));
    }
    Ok(Some(file))
}

/// Asks Slurm where the output goes, and remembers it.
fn located(app: &App, slurm: &Slurm, job: &Job, stderr: bool) -> Result<Option<String>, Problem> {
    let id = job.id();
    let Ok(fields) = slurm.details(id) else { return Ok(None) };
    if is_waiting_array(&fields) {
        // Each task will have a file of its own.
        return Ok(None);
    }
    let mut spec = job.spec.clone();
    spec.stdout = fields.get("StdOut").cloned();
    spec.stderr = fields.get("StdErr").cloned();
    if spec.command.is_empty() && spec.script.is_none() {
        spec.command.extend(fields.get("Command").filter(|c| *c != "(null)").cloned());
    }
    let found = if stderr { spec.stderr.clone() } else { spec.stdout.clone() };
    app.queue.call(move |manager| manager.store().set_spec(id, &spec))??;
    Ok(found)
}
