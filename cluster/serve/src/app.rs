//! What all requests share: the queue, readers of the store, the channel of events.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;
use tokio::sync::{broadcast, oneshot, watch};

use hpvm_monitor::{History, HostSample};
use hpvm_queue::driver::Settings;
use hpvm_queue::job::JobId;
use hpvm_queue::manager::{Manager, Queue, store_path};
use hpvm_queue::node::Version;
use hpvm_queue::policy::Resources;
use hpvm_queue::slurm::Slurm;
use hpvm_queue::store::outbox::Happened;
use hpvm_queue::store::{Store, StoreError};

use crate::api::counters::Counting;
use crate::api::types::Host;
use crate::auth::{Remembered, Who};
use crate::hosts::Shown;
use crate::limit::{Limits, Rate};
use crate::look::step::Steps;
use crate::look::wanted::Wanted;
use crate::moderation::Moderation;
use crate::problem::Problem;
use crate::starter::Starts;
use crate::trouble::Sentences;

/// Events kept for a stream that is slow; one that is slower reads the store.
pub const CHANNEL: usize = 4096;
/// Connections for reading that are kept open.
const READERS: usize = 4;

/// The state of the server; clones share it.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// See [`App`].
pub struct Inner {
    pub queue: Queue,
    pub place: Settings,
    pub capacity: Resources,
    /// Who started the server: what comes over its socket is theirs, and all jobs run as them.
    pub owner: String,
    pub uid: u32,
    pub events: broadcast::Sender<Arc<Happened>>,
    /// Becomes true when the server ends: streams end first.
    pub ending: watch::Receiver<bool>,
    /// Where browsers find it.
    pub url: String,
    limits: Limits,
    /// The queue whose jobs are shown, when it is not ours.
    pub slurm: Option<Slurm>,
    /// Jobs whose records were removed while Slurm still shows them.
    pub forgotten: Mutex<BTreeSet<JobId>>,
    /// Changes when a session, a token or a user ends: streams look whether theirs has.
    pub access: watch::Sender<u64>,
    /// Hosts that the server starts itself.
    pub starts: Starts,
    /// The hosts with their last samples.
    pub hosts: watch::Sender<Shown>,
    /// What the server cannot do now, for streams.
    pub troubles: watch::Sender<Sentences>,
    /// Of each host; a host takes 52 KB after a day.
    pub history: Mutex<BTreeMap<String, History>>,
    /// The last samples of hosts that report.
    pub samples: Mutex<BTreeMap<String, HostSample>>,
    /// The newest orders of each of them.
    pub versions: watch::Sender<BTreeMap<String, Version>>,
    /// Held while a part of an output is written.
    pub receiving: Mutex<()>,
    /// Jobs whose events are counted for pages.
    pub counting: Counting,
    /// Jobs on other hosts at whose ranks somebody looks.
    pub wanted: Wanted,
    /// The same in a Slurm.
    pub steps: Steps,
    /// Tokens of hosts, which report every second.
    pub remembered: Remembered,
    /// Told of each report.
    pub moderation: Arc<Moderation>,
    /// A hash that a password of an unknown user is compared with, so that it takes as long.
    pub decoy: String,
    readers: Mutex<Vec<Store>>,
    data: PathBuf,
}

impl std::ops::Deref for App {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// What [`App::new`] needs.
pub struct Parts {
    pub queue: Queue,
    pub place: Settings,
    pub capacity: Resources,
    pub owner: String,
    pub uid: u32,
    pub events: broadcast::Sender<Arc<Happened>>,
    pub ending: watch::Receiver<bool>,
    pub hosts: Vec<Host>,
    pub versions: watch::Sender<BTreeMap<String, Version>>,
    pub url: String,
    pub slurm: Option<Slurm>,
    pub moderation: Arc<Moderation>,
}

impl App {
    pub fn new(parts: Parts) -> Result<App, String> {
        let data = parts.place.data.clone();
        Ok(App(Arc::new(Inner {
            queue: parts.queue,
            place: parts.place,
            capacity: parts.capacity,
            owner: parts.owner,
            uid: parts.uid,
            events: parts.events,
            ending: parts.ending,
            url: parts.url,
            limits: Limits::default(),
            slurm: parts.slurm,
            forgotten: Mutex::default(),
            access: watch::Sender::new(0),
            starts: Starts::default(),
            hosts: watch::Sender::new(parts.hosts.into()),
            troubles: watch::Sender::new(Sentences::default()),
            history: Mutex::default(),
            samples: Mutex::default(),
            versions: parts.versions,
            receiving: Mutex::default(),
            counting: Counting::default(),
            wanted: Wanted::default(),
            steps: Steps::default(),
            remembered: Remembered::default(),
            moderation: parts.moderation,
            decoy: crate::secret::hash_password("a password that nobody has")?,
            readers: Mutex::default(),
            data,
        })))
    }

    /// Reads the store, on a thread where that may block.
    pub async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let app = self.clone();
        blocking(move || {
            let kept = app.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let store = kept
                .map_or_else(|| Store::reader(&store_path(&app.data, app.slurm.is_some())), Ok)?;
            let answer = ask(&store)?;
            let mut readers = app.readers.lock().unwrap_or_else(PoisonError::into_inner);
            if readers.len() < READERS {
                readers.push(store);
            }
            Ok(answer)
        })
        .await
    }

    /// Lets the manager change something, and writes into the audit log who has.
    pub async fn change<T: Send + 'static>(
        &self,
        who: &Who,
        action: &'static str,
        target: impl Into<String>,
        ask: impl FnOnce(&mut Manager) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let (actor, target) = (who.actor(), target.into());
        self.ask(move |manager| {
            let done = ask(manager)?;
            // The change has happened. A store that takes nothing more says so in /info by itself.
            let _ = manager.store().audit(&actor, action, &target);
            Ok(done)
        })
        .await
    }

    /// Takes one from each of these buckets.
    pub fn limit(&self, names: &[&str], rate: Rate, now: Instant) -> Result<(), Problem> {
        for name in names {
            self.limits.take(name, rate, now).map_err(|seconds| {
                let text = format!("too many requests or attempts; try again in {seconds} s");
                let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, text);
                Problem { retry_after: Some(seconds), ..problem }
            })?;
        }
        Ok(())
    }

    /// Gives attempts back: this one was good.
    pub fn unlimit(&self, name: &str) {
        self.limits.forget(name);
    }

    /// Somebody's access has ended or changed.
    pub fn access_changed(&self) {
        self.access.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Lets the manager do something.
    pub async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Manager) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let (answer, answered) = oneshot::channel();
        self.queue.send(move |manager| {
            // Who asked may have gone away.
            let _ = answer.send(ask(manager));
        })?;
        let stopped = |_| StoreError::Failed("the queue has stopped".into());
        Ok(answered.await.map_err(stopped)??)
    }
}

/// Runs what may block on a thread for that.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => {
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "a part of the server failed"))
        }
    }
}
