//! The stream of events: a snapshot, a sentinel, then what happens. A stream that names the last
//! event it has seen goes on behind it without a snapshot.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::extract::Params;
use super::output::HEARTBEAT;
use super::types::{CaughtUp, Problems, Snapshot};
use crate::app::App;
use crate::auth::Who;
use crate::hosts::Shown;
use crate::problem::Problem;
use crate::sse;
use crate::trouble::Sentences;
use hpvm_queue::job::State as JobState;
use hpvm_queue::store::list::Filter;
use hpvm_queue::store::outbox::{Happened, ROWS_MAX};

/// Jobs of a snapshot: of those that have not ended, and of those that have.
const SNAPSHOT_ACTIVE: u32 = 1000;
const SNAPSHOT_ENDED: u32 = 100;

/// How often a stream looks whether its session or token has run out.
const LOOK_AT_ACCESS: Duration = Duration::from_secs(30);

/// Where a stream goes on.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventParams {
    after: Option<i64>,
}

/// One stream.
struct Listener {
    app: App,
    who: Who,
    live: broadcast::Receiver<Arc<Happened>>,
    hosts: watch::Receiver<Shown>,
    troubles: watch::Receiver<Sentences>,
    access: watch::Receiver<u64>,
    /// What is to be sent before anything live.
    waiting: VecDeque<Bytes>,
    /// The last event that was sent, or is in the snapshot.
    cursor: i64,
    /// When something was sent last.
    spoke: Instant,
}

pub async fn events(
    State(app): State<App>,
    who: Who,
    headers: HeaderMap,
    Params(params): Params<EventParams>,
) -> Result<Response, Problem> {
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    // First, so that nothing falls between the backlog and what comes.
    let (live, hosts) = (app.events.subscribe(), app.hosts.subscribe());
    let (access, mut troubles) = (app.access.subscribe(), app.troubles.subscribe());
    // It may have changed since this page or command asked.
    troubles.mark_changed();
    let waiting = VecDeque::new();
    let spoke = Instant::now();
    let mut listener =
        Listener { app, who, live, hosts, troubles, access, waiting, cursor: 0, spoke };
    match last.or(params.after) {
        Some(cursor) => {
            listener.cursor = cursor;
            if !listener.read_backlog().await? {
                listener.snapshot().await?;
            }
        }
        None => listener.snapshot().await?,
    }
    let caught_up = CaughtUp { cursor: listener.cursor };
    listener.waiting.push_back(control("caught-up", &caught_up));
    let stream = stream::unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        listener.spoke = Instant::now();
        Some((event, listener))
    });
    Ok(sse::response(stream))
}

/// Until somebody's access has changed, or it is time to look whether one has run out.
pub async fn access_news(access: &mut watch::Receiver<u64>) {
    // An error would mean that the server's state is gone, and then so is the stream.
    let _ = tokio::time::timeout(LOOK_AT_ACCESS, access.changed()).await;
}

/// An event without an id: it must not move the cursor of who resumes.
fn control(name: &str, data: &impl Serialize) -> Bytes {
    sse::event(name, None, &sse::json(data))
}

impl Listener {
    /// Sends everything there is; the cursor is read first, so that what changes meanwhile is sent
    /// again rather than not at all.
    async fn snapshot(&mut self) -> Result<(), Problem> {
        let user = (!self.who.is_admin()).then(|| self.who.name.clone());
        let (cursor, mut jobs, truncated) = self
            .app
            .read(move |store| {
                let cursor = store.cursor()?;
                let page = |states: &[JobState], limit| {
                    let (states, user) = (states.to_vec(), user.clone());
                    store.list(&Filter { states, user, limit, ..Filter::default() })
                };
                let (mut jobs, more) = page(&JobState::ALL[..4], SNAPSHOT_ACTIVE)?;
                let (ended, more_ended) = page(&[JobState::Ended], SNAPSHOT_ENDED)?;
                jobs.extend(ended);
                Ok((cursor, jobs, more || more_ended))
            })
            .await?;
        jobs.sort_by_key(|job| -job.id);
        self.cursor = cursor;
        let hosts = self.hosts.borrow_and_update().to_vec();
        let snapshot = Snapshot { jobs, truncated, hosts, cursor };
        self.waiting.push_back(control("snapshot", &snapshot));
        Ok(())
    }

    /// Queues what has happened since the cursor; false when that is not known any more.
    async fn read_backlog(&mut self) -> Result<bool, Problem> {
        let cursor = self.cursor;
        let most = usize::try_from(ROWS_MAX).unwrap_or(usize::MAX);
        let Some(rows) = self.app.read(move |store| store.happened(cursor, most)).await? else {
            return Ok(false);
        };
        for row in rows {
            self.cursor = row.id;
            self.queue(&row);
        }
        Ok(true)
    }

    fn queue(&mut self, row: &Happened) {
        if self.who.may_see(&row.user) {
            self.waiting.push_back(sse::event(&row.kind, Some(row.id), &row.data));
        }
    }

    /// The next event; nothing when the stream ends.
    async fn next(&mut self) -> Option<Bytes> {
        let mut ending = self.app.ending.clone();
        loop {
            if *ending.borrow() {
                return None;
            }
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            tokio::select! {
                got = self.live.recv() => match got {
                    Ok(row) if row.id > self.cursor => {
                        self.cursor = row.id;
                        self.queue(&row);
                    }
                    Ok(_) => {}
                    // Too slow for the channel: the store knows the rest. If not even that, the
                    // stream ends, and who opens it again gets a snapshot.
                    Err(RecvError::Lagged(_)) => {
                        if !self.read_backlog().await.unwrap_or(false) {
                            return None;
                        }
                    }
                    Err(RecvError::Closed) => return None,
                },
                changed = self.hosts.changed() => {
                    changed.ok()?;
                    self.waiting.push_back(self.hosts.borrow_and_update().events());
                },
                changed = self.troubles.changed() => {
                    changed.ok()?;
                    let problems = self.troubles.borrow_and_update().to_vec();
                    self.waiting.push_back(control("problems", &Problems { problems }));
                },
                // Whose session, token or rights are gone hears nothing more.
                () = access_news(&mut self.access) => {
                    if !self.who.is_still(&self.app).await {
                        return None;
                    }
                }
                () = tokio::time::sleep_until(self.spoke + HEARTBEAT) => {
                    return Some(sse::HEARTBEAT);
                }
                _ = ending.changed() => {}
            }
        }
    }
}
