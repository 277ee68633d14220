//! What jobs write: parts of it, all of it, and what comes.

use std::convert::Infallible;
use std::sync::Arc;
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
use crate::files::{Output, Part};
use crate::problem::Problem;
use hpvm_queue::job::{Job, State as JobState};

/// Bytes of one answer, and of one event, at most: a browser shows it without a pause.
pub const CHUNK: u64 = 1 << 20;
const EVENT: u64 = 64 << 10;
/// How often a file that somebody follows is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(150);
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

/// How many bytes an output has now. Blocks.
pub fn size(app: &App, job: &Job, stderr: bool) -> u64 {
    Output::open(app, job, stderr).ok().flatten().map_or(0, |output| output.size())
}

pub async fn output(
    State(app): State<App>,
    who: Who,
    Id(name): Id,
    Params(params): Params<OutputParams>,
) -> Result<Response, Problem> {
    let stderr = params.is_stderr()?;
    let job = find(&app, &who, name).await?;
    let id = job.id();
    let shared = app.clone();
    let output = crate::app::blocking(move || Output::open(&shared, &job, stderr)).await?;
    if params.download == Some(1) {
        return Ok(download(output, id, stderr));
    }
    let limit = params.limit.unwrap_or(CHUNK).min(CHUNK);
    let offset = params.offset.unwrap_or(0);
    let Part { start, bytes, size } = crate::app::blocking(move || {
        let Some(output) = output else { return Ok(Part { start: 0, bytes: Vec::new(), size: 0 }) };
        let told = |error| Problem::missing(format!("output of job {id}: {error}"));
        output.part(offset, limit).map_err(told)
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
        let Some(output) = Output::open(&app, &job, stderr)? else { return Ok(String::new()) };
        let offset = -i64::try_from(bytes).unwrap_or(i64::MAX);
        let told = |error| Problem::missing(format!("output of job {}: {error}", job.id()));
        let part = output.part(offset, bytes).map_err(told)?;
        Ok(String::from_utf8_lossy(&part.bytes).into_owned())
    })
    .await
}

/// Bytes of a program are never markup, whatever they look like.
fn text_plain() -> HeaderValue {
    HeaderValue::from_static("text/plain; charset=utf-8")
}

/// All that is there, piece by piece.
fn download(output: Option<Output>, id: i64, stderr: bool) -> Response {
    let pieces = stream::unfold((output, 0_u64), |(output, at)| async move {
        let output = output?;
        let read = tokio::task::spawn_blocking(move || {
            let read = output.part(i64::try_from(at).unwrap_or(i64::MAX), CHUNK);
            (output, read)
        });
        match read.await {
            Ok((_, Ok(part))) if part.bytes.is_empty() => None,
            Ok((output, Ok(part))) => {
                let next = at + part.bytes.len() as u64;
                Some((Ok(part.bytes), (Some(output), next)))
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
    output: Option<Arc<Output>>,
    access: watch::Receiver<u64>,
    done: bool,
}

pub async fn follow(
    State(app): State<App>,
    who: Who,
    Id(name): Id,
    headers: HeaderMap,
    Params(params): Params<OutputParams>,
) -> Result<Response, Problem> {
    let stderr = params.is_stderr()?;
    let id = find(&app, &who, name).await?.id();
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let offset = last.or(params.offset).unwrap_or(0);
    let access = app.access.subscribe();
    let follower = Follower { app, who, id, stderr, offset, output: None, access, done: false };
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
            if let Some(job) = job
                && self.output.as_ref().is_none_or(|open| !open.holds(job.attempt()))
            {
                let (app, stderr) = (self.app.clone(), self.stderr);
                let opened = crate::app::blocking(move || Output::open(&app, &job, stderr)).await;
                self.output = opened.ok().flatten().map(Arc::new).or(self.output.take());
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
                () = tokio::time::sleep(POLL_INTERVAL) => {}
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
        let (output, offset) = (self.output.clone()?, self.offset);
        let read = tokio::task::spawn_blocking(move || output.part(offset, EVENT)).await;
        let Part { start, mut bytes, size } = read.ok()?.ok()?;
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
