//! What jobs write: parts of it, all of it, and what comes.

use std::convert::Infallible;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use tokio::sync::watch;

use super::events::access_news;
use super::extract::{Id, Params};
use super::jobs::find;
use crate::app::App;
use crate::auth::Who;
use crate::problem::Problem;
use hpvm_queue::job::{Job, State as JobState};
use hpvm_queue::stepd::record;

/// Bytes of one answer, and of one event, at most: a browser shows it without a pause.
pub const CHUNK: u64 = 1 << 20;
const EVENT: u64 = 64 << 10;
/// How often a file that somebody follows is looked at.
const LOOK: Duration = Duration::from_millis(150);
/// Signs of life on a stream.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// Parameters of all of these.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutputParams {
    stream: Option<String>,
    offset: Option<i64>,
    limit: Option<u64>,
    download: Option<u8>,
}

impl OutputParams {
    fn is_stderr(&self) -> Result<bool, Problem> {
        match self.stream.as_deref() {
            None | Some("stdout") => Ok(false),
            Some("stderr") => Ok(true),
            Some(other) => {
                let text =
                    format!("stream is '{}'; expected stdout or stderr", other.escape_debug());
                Err(Problem::bad(text))
            }
        }
    }
}

/// The file of an output, if it still is the one that the job wrote.
fn open(app: &App, job: &Job, stderr: bool) -> Result<Option<File>, Problem> {
    if let Some(slurm) = &app.slurm {
        return crate::slurm::output(app, slurm, job, stderr);
    }
    let id = job.id();
    let told = |error: std::io::Error| Problem::missing(format!("output of job {id}: {error}"));
    if !app.place.is_here(job) {
        let (stdout, other) = app.place.received(job);
        return match File::open(if stderr { other } else { stdout }) {
            // Nothing has come yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some).map_err(told),
        };
    }
    let seen = record::read(&app.place.folder(id)).map_err(told)?;
    let Some(launch) = seen.and_then(|seen| seen.launch) else { return Ok(None) };
    let (out, err) = app.place.outputs(job);
    let (path, identity): (PathBuf, _) =
        if stderr { (err, launch.stderr) } else { (out, launch.stdout) };
    // Neither a link to elsewhere nor a pipe that would hold us up.
    let mut options = File::options();
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = options.read(true).custom_flags(flags).open(&path).map_err(told)?;
    let meta = file.metadata().map_err(told)?;
    if !meta.is_file() || record::FileId::of(&meta) != identity {
        let text =
            format!("output of job {id}: {} is not the file that the job wrote", path.display());
        return Err(Problem::missing(text));
    }
    Ok(Some(file))
}

/// How many bytes an output has now. Blocks.
pub fn size(app: &App, job: &Job, stderr: bool) -> u64 {
    if app.slurm.is_some() {
        let file = open(app, job, stderr).ok().flatten();
        return file.and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
    }
    let (stdout, other) = match app.place.is_here(job) {
        true => app.place.outputs(job),
        false => app.place.received(job),
    };
    std::fs::metadata(if stderr { other } else { stdout }).map_or(0, |meta| meta.len())
}

/// Reads a part: the first byte's place, the bytes, how many there are in all.
fn part(file: &File, offset: i64, limit: u64) -> std::io::Result<(u64, Vec<u8>, u64)> {
    let size = file.metadata()?.len();
    let start = match u64::try_from(offset) {
        Ok(offset) => offset.min(size),
        Err(_) => size.saturating_sub(offset.unsigned_abs()),
    };
    let count = limit.min(size - start);
    let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], start + filled as u64)? {
            0 => break,
            more => filled += more,
        }
    }
    bytes.truncate(filled);
    Ok((start, bytes, size))
}

pub async fn output(
    State(app): State<App>,
    who: Who,
    Id(id): Id,
    Params(params): Params<OutputParams>,
) -> Result<Response, Problem> {
    let stderr = params.is_stderr()?;
    let job = find(&app, &who, id).await?;
    let shared = app.clone();
    let file = crate::app::blocking(move || open(&shared, &job, stderr)).await?;
    if params.download == Some(1) {
        return Ok(download(file, id, stderr));
    }
    let limit = params.limit.unwrap_or(CHUNK).min(CHUNK);
    let offset = params.offset.unwrap_or(0);
    let (start, bytes, size) = crate::app::blocking(move || {
        let Some(file) = file else { return Ok((0, Vec::new(), 0)) };
        let told = |error| Problem::missing(format!("output of job {id}: {error}"));
        part(&file, offset, limit).map_err(told)
    })
    .await?;
    let numbers =
        [("x-offset", start), ("x-offset-next", start + bytes.len() as u64), ("x-size", size)];
    let mut headers = HeaderMap::new();
    for (name, value) in numbers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from(value));
    }
    headers.insert(header::CONTENT_TYPE, text_plain());
    Ok((headers, bytes).into_response())
}

/// The end of an output as text.
pub async fn tail(app: &App, job: &Job, stderr: bool, bytes: u64) -> Result<String, Problem> {
    let (app, job) = (app.clone(), job.clone());
    crate::app::blocking(move || {
        let Some(file) = open(&app, &job, stderr)? else { return Ok(String::new()) };
        let offset = -i64::try_from(bytes).unwrap_or(i64::MAX);
        let told = |error| Problem::missing(format!("output of job {}: {error}", job.id()));
        let (_, bytes, _) = part(&file, offset, bytes).map_err(told)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    })
    .await
}

/// Bytes of a program are never markup, whatever they look like.
fn text_plain() -> HeaderValue {
    HeaderValue::from_static("text/plain; charset=utf-8")
}

/// All that is there, piece by piece.
fn download(file: Option<File>, id: i64, stderr: bool) -> Response {
    let pieces = stream::unfold((file, 0_u64), |(file, at)| async move {
        let file = file?;
        let read = tokio::task::spawn_blocking(move || {
            let read = part(&file, i64::try_from(at).unwrap_or(i64::MAX), CHUNK);
            (file, read)
        });
        match read.await {
            Ok((_, Ok((_, bytes, _)))) if bytes.is_empty() => None,
            Ok((file, Ok((_, bytes, _)))) => {
                let next = at + bytes.len() as u64;
                Some((Ok(bytes), (Some(file), next)))
            }
            Ok((_, Err(error))) => Some((Err(error), (None, at))),
            Err(_) => None,
        }
    });
    let stream = if stderr { "stderr" } else { "stdout" };
    let name = format!("attachment; filename=\"job-{id}-{stream}.txt\"");
    let headers = [
        (header::CONTENT_TYPE, text_plain()),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_str(&name).unwrap_or(HeaderValue::from_static("attachment")),
        ),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

/// Somebody who follows an output.
struct Follower {
    app: App,
    who: Who,
    id: i64,
    stderr: bool,
    offset: i64,
    file: Option<File>,
    access: watch::Receiver<u64>,
    done: bool,
}

pub async fn follow(
    State(app): State<App>,
    who: Who,
    Id(id): Id,
    headers: HeaderMap,
    Params(params): Params<OutputParams>,
) -> Result<Response, Problem> {
    let stderr = params.is_stderr()?;
    find(&app, &who, id).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let offset = last.or(params.offset).unwrap_or(0);
    let access = app.access.subscribe();
    let follower = Follower { app, who, id, stderr, offset, file: None, access, done: false };
    Ok(no_buffering(Sse::new(followed(follower)).keep_alive(heartbeat())))
}

pub fn heartbeat() -> KeepAlive {
    KeepAlive::new().interval(HEARTBEAT)
}

/// Proxies are asked not to keep events back.
pub fn no_buffering(stream: impl IntoResponse) -> Response {
    let name = HeaderName::from_static("x-accel-buffering");
    ([(name, HeaderValue::from_static("no"))], stream).into_response()
}

fn followed(follower: Follower) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    })
}

impl Follower {
    /// The next event; nothing when all has been sent, or the server ends.
    async fn next(&mut self) -> Option<Event> {
        let mut ending = self.app.ending.clone();
        while !self.done && !*ending.borrow() {
            // In this order: what was written before the end is seen after it.
            let job = find(&self.app, &self.who, self.id).await.ok();
            let over = job.as_ref().is_none_or(|job| job.state() == JobState::Ended);
            if self.file.is_none()
                && let Some(job) = job
            {
                let (app, stderr) = (self.app.clone(), self.stderr);
                let opened = crate::app::blocking(move || open(&app, &job, stderr)).await;
                self.file = opened.ok().flatten();
            }
            if let Some((next, text)) = self.read().await {
                self.offset = next;
                let data = serde_json::Value::String(text).to_string();
                return Some(Event::default().event("output").id(next.to_string()).data(data));
            }
            if over {
                self.done = true;
                return Some(Event::default().event("end").data(self.offset.to_string()));
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = access_news(&mut self.access) => {
                    if !self.who.is_still(&self.app).await {
                        return None;
                    }
                }
                _ = ending.changed() => {}
            }
        }
        None
    }

    /// What is new, up to the last whole character, and where it ends.
    async fn read(&mut self) -> Option<(i64, String)> {
        let file = self.file.as_ref()?.try_clone().ok()?;
        let offset = self.offset;
        let read = tokio::task::spawn_blocking(move || part(&file, offset, EVENT)).await;
        let (start, mut bytes, size) = read.ok()?.ok()?;
        let at_end = start + bytes.len() as u64 == size;
        let whole = match std::str::from_utf8(&bytes) {
            Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 && !at_end => {
                error.valid_up_to()
            }
            _ => bytes.len(),
        };
        bytes.truncate(whole);
        if bytes.is_empty() {
            return None;
        }
        let next = i64::try_from(start + bytes.len() as u64).ok()?;
        Some((next, String::from_utf8_lossy(&bytes).into_owned()))
    }
}
