//! The one who changes anything: a thread that holds the writing connection, the jobs that have not
//! ended, and the driver. Others send it closures ([`Queue::call`]).
//!
//! A change is made in three steps. The pure [`apply`](crate::apply) says what the job becomes; the
//! store records it, with the event for streams, in one transaction; then the driver acts. A manager
//! that is killed in between and started again finds the record and acts again, and every act can be
//! repeated: so nothing is lost and nothing happens twice. What the store cannot record now (its
//! disk is full) is kept and tried again; what ran goes on meanwhile.

mod asked;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::apply::Event;
use crate::attempt::Attempt;
use crate::driver::{Cluster, Driver, Embedded, Settings, Standing};
use crate::job::{Dependency, Job, JobId, OutcomeKind, Share, State};
use crate::name::Name;
use crate::node::{self, Fleet, NodeView};
use crate::policy::{self, Other, Resources};
use crate::processors::Processors;
use crate::store::list::Keep;
use crate::store::outbox::Happened;
use crate::store::rules::Drained;
use crate::store::{Store, StoreError, spare};
use crate::time::Stamp;

/// Jobs that have not ended, at most: they are in memory, some kilobytes each.
pub const ACTIVE_MAX: usize = 50_000;
/// Commands performed before the policy looks again.
const BATCH: usize = 64;
/// Times the policy is asked in a row: what starts may end at once and make room.
const POLICY_ROUNDS_MAX: u32 = 100;
/// How often everything is looked at without a cause, as ageing and lost signals need it.
const TICK: Duration = Duration::from_secs(10);
/// The same while something has to be tried again.
const TICK_TROUBLED: Duration = Duration::from_millis(500);
/// Events that subscribers get at once, at most; who misses some reads them from the store.
const PUBLISH: usize = 1000;

/// What is asked of the manager.
type Command = Box<dyn FnOnce(&mut Manager) + Send>;

/// Settings of a queue.
#[derive(Clone, Debug)]
pub struct Config {
    pub place: Settings,
    pub capacity: Resources,
    /// Which processors this machine has, if that is known.
    pub processors: Arc<Processors>,
    /// Another queue has the jobs: we mirror it, and start, end and look after nothing.
    pub mirror: bool,
    /// After so many seconds without a report the jobs of a host are given up.
    pub node_limit_seconds: u64,
    /// How long records are kept.
    pub keep: Keep,
}

/// Who is told what has happened.
pub struct Publish {
    /// Events, in order.
    pub events: Box<dyn Fn(Vec<Happened>) + Send>,
    /// The newest orders of the hosts that have new ones; nothing for a host that is gone.
    pub orders: Box<dyn Fn(Vec<node::News>) + Send>,
}

/// The way to the manager. Clones speak with the same one.
#[derive(Clone, Debug)]
pub struct Queue {
    commands: Sender<Command>,
    pulses: node::Pulses,
}

impl Queue {
    /// Opens the data folder, finds the jobs that run and starts the thread.
    pub fn start(config: Config, publish: Publish) -> Result<(Queue, JoinHandle<()>), String> {
        let lock = lock_data(&config.place.data, config.mirror)?;
        let path = store_path(&config.place.data, config.mirror);
        let restored = spare::settle(&path).map_err(|error| error.to_string())?;
        let mut store = Store::open(&path).map_err(|error| error.to_string())?;
        let (commands, inbox) = channel::<Command>();
        // The driver's thread must not keep the manager alive, but may outlive it: a message that
        // nobody takes is dropped.
        let tell = commands.clone();
        let gone = move |attempt| {
            let _ = tell.send(Box::new(move |manager: &mut Manager| manager.gone(attempt)));
        };
        let driver = Embedded::new(config.place.clone(), gone)
            .map_err(|error| format!("cannot watch processes: {error}"))?;
        let (jobs, damaged) = take_up(&mut store, &config).map_err(|error| error.to_string())?;
        let newest = store.newest().map_err(|error| error.to_string())?;
        let set_aside = damaged.keys().copied().collect();
        let fleet = fleet(&mut store, &config, set_aside).map_err(|error| error.to_string())?;
        let queue = Queue { commands, pulses: fleet.pulses() };
        let mut manager = Manager {
            cursor: store.cursor().map_err(|error| error.to_string())?,
            drained: store.drained().map_err(|error| error.to_string())?,
            store,
            told_changes: None,
            restored,
            driver: Cluster::new(driver, fleet),
            config,
            active: BTreeMap::new(),
            damaged,
            newest,
            elsewhere: None,
            unrecorded: BTreeMap::new(),
            troubles: BTreeMap::new(),
            stuck: None,
            dirty: true,
            stop: false,
            publish,
        };
        manager.recover(jobs);
        let body = move || {
            manager.run(&inbox);
            drop(lock);
        };
        let thread = std::thread::Builder::new().name("queue".into()).spawn(body);
        Ok((queue, thread.map_err(|error| format!("cannot start a thread: {error}"))?))
    }

    /// Lets the manager do something and waits for the answer. Blocks, for a few milliseconds as a
    /// rule and for seconds when the store is locked.
    pub fn call<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Manager) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let gone = || StoreError::Failed("the queue has stopped".into());
        let (answer, answered) = channel();
        self.send(move |manager| {
            // Who asked may have gone away.
            let _ = answer.send(ask(manager));
        })?;
        answered.recv().map_err(|_| gone())
    }

    /// Reports of hosts that bring no news, which need not be given to the manager.
    pub fn pulses(&self) -> &node::Pulses {
        &self.pulses
    }

    /// The same without waiting: what is to become of the answer is the closure's matter. It is
    /// dropped unasked when the queue stops before its turn.
    pub fn send(&self, ask: impl FnOnce(&mut Manager) + Send + 'static) -> Result<(), StoreError> {
        let gone = |_| StoreError::Failed("the queue has stopped".into());
        self.commands.send(Box::new(ask)).map_err(gone)
    }
}

/// The store in a data folder; jobs of another queue, whose numbers are its own, have one of theirs.
pub fn store_path(data: &Path, mirror: bool) -> PathBuf {
    data.join(if mirror { "slurm.sqlite" } else { "store.sqlite" })
}

/// The jobs that have not ended, and why some cannot be read. New ones get numbers above all that
/// have a folder: a store that was restored from a copy would give some of them again, and what the
/// folder says is of another job then.
fn take_up(
    store: &mut Store,
    config: &Config,
) -> Result<(Vec<Job>, BTreeMap<JobId, String>), StoreError> {
    if config.mirror {
        return Ok(Default::default());
    }
    store.number_above(config.place.newest_folder())?;
    store.active()
}

/// The hosts that the store knows.
fn fleet(
    store: &mut Store,
    config: &Config,
    set_aside: BTreeSet<JobId>,
) -> Result<Fleet, StoreError> {
    let rows = if config.mirror { Vec::new() } else { store.nodes()? };
    let queue = node::Queue {
        number: store.queue_number()?,
        marks: config.place.marks.clone(),
        system: config.place.system,
        epoch: store.next_epoch(Stamp::now())?,
        set_aside,
    };
    Ok(Fleet::new(queue, config.node_limit_seconds, rows))
}

/// Makes the data folder, closed to others, and takes it for this process.
fn lock_data(data: &Path, mirror: bool) -> Result<File, String> {
    let told = |error: std::io::Error| format!("data folder {}: {error}", data.display());
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data).map_err(told)?;
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(false).mode(0o600);
    let file = file.open(data.join("lock")).map_err(told)?;
    // The store is made by SQLite, with the permissions of a file that is there already.
    let mut store = File::options();
    store.append(true).create(true).mode(0o600).open(store_path(data, mirror)).map_err(told)?;
    // SAFETY: takes a descriptor, which is open, and a number.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        return Err(format!(
            "another hpvm serve uses the data folder {}; use that one, or another folder (--data)",
            data.display()
        ));
    }
    Ok(file)
}

/// How long it is until this time, and a moment more.
fn until(at: Stamp) -> Duration {
    let ms = at.0.saturating_sub(Stamp::now().0).saturating_add(1);
    Duration::from_millis(u64::try_from(ms).unwrap_or(1))
}

/// See the module.
pub struct Manager {
    store: Store,
    driver: Cluster,
    config: Config,
    active: BTreeMap<JobId, Job>,
    /// Records that cannot be read, with why.
    damaged: BTreeMap<JobId, String>,
    /// The largest number of a job, by the store and by what hosts have told.
    newest: JobId,
    /// Why the queue that is mirrored does not answer.
    elsewhere: Option<String>,
    /// Ends of jobs that the store has not taken yet.
    unrecorded: BTreeMap<JobId, Event>,
    /// Jobs that should run and cannot be started now, with why.
    troubles: BTreeMap<JobId, String>,
    /// Hosts that get no new jobs.
    drained: BTreeMap<String, Drained>,
    /// Why the store takes nothing now.
    stuck: Option<String>,
    /// The policy has to look again.
    dirty: bool,
    stop: bool,
    /// The last event that was published.
    cursor: i64,
    publish: Publish,
    /// How often the store had been changed when its events were published last.
    told_changes: Option<u64>,
    /// That the store is not the one that was last opened, in a sentence.
    restored: Option<String>,
}

impl Manager {
    fn run(&mut self, inbox: &Receiver<Command>) {
        self.settle();
        let mut looked = Instant::now();
        while !self.stop {
            let troubled = !self.unrecorded.is_empty()
                || !self.troubles.is_empty()
                || self.stuck.is_some()
                || self.active.values().any(|job| job.summary.cancelling);
            let tick = if troubled { TICK_TROUBLED } else { TICK };
            let next = self.next_restart();
            let left = tick.saturating_sub(looked.elapsed());
            match inbox.recv_timeout(next.map_or(left, |at| left.min(until(at)))) {
                Ok(command) => {
                    command(self);
                    inbox.try_iter().take(BATCH).for_each(|command| command(self));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // By the clock: hosts that report keep the inbox from ever being empty for so long.
            if looked.elapsed() >= tick {
                self.look_after_all();
                looked = Instant::now();
            }
            self.dirty |= next.is_some_and(|at| at <= Stamp::now());
            self.settle();
        }
    }

    /// When the first of the jobs that wait for their next attempt may start.
    fn next_restart(&self) -> Option<Stamp> {
        let now = Stamp::now();
        let waiting = self.active.values().filter(|job| job.state() == State::Pending);
        waiting.filter_map(|job| job.summary.eligible.filter(|at| *at > now)).min()
    }

    /// Takes up what the store says: the jobs that should run are looked for, or started if nobody
    /// has, and cancels that were asked for are asked for again.
    fn recover(&mut self, jobs: Vec<Job>) {
        if self.config.mirror {
            return;
        }
        self.active = jobs.into_iter().map(|job| (job.id(), job)).collect();
        let (host, capacity) = (self.config.place.host.clone(), self.config.capacity);
        for job in self.active.values_mut() {
            // Started by an hpvm that knew one host.
            if job.state() == State::Running && job.allocation.is_empty() {
                let (ranks, cpus) = (job.ranks(), policy::Request::of(job).cpus());
                let (cpus, memory) = (cpus.min(capacity.cpus), job.spec.memory_bytes.unwrap_or(0));
                let host = host.clone();
                job.allocation = vec![Share { host, ranks, cpus, memory, ..Share::default() }];
            }
        }
        self.look_after_all();
    }

    /// Looks at every job that runs.
    fn look_after_all(&mut self) {
        self.driver.fleet.tick();
        self.retire();
        let running: Vec<JobId> = self.running().map(Job::id).collect();
        running.into_iter().for_each(|id| self.look_after(id));
        self.dirty = true;
    }

    /// Removes records that are too old or too many, with the output that we keep.
    fn retire(&mut self) {
        if self.config.keep == Keep::default() || self.config.mirror {
            return;
        }
        // A store that takes nothing now is asked again.
        let overdue = self.store.overdue(&self.config.keep, Stamp::now()).unwrap_or_default();
        for id in overdue {
            // One that others depend on stays.
            let _ = self.remove(id);
        }
    }

    fn running(&self) -> impl Iterator<Item = &Job> {
        self.active.values().filter(|job| job.state() == State::Running)
    }

    /// Sees to a job that shall run.
    fn look_after(&mut self, id: JobId) {
        let Some(job) = self.active.get(&id).filter(|job| job.state() == State::Running) else {
            return;
        };
        if job.summary.cancelling {
            // In the words of the transition, whose author is not kept elsewhere.
            let by = job.summary.reason.as_deref().unwrap_or_default();
            let by = by.strip_prefix("being cancelled by ").unwrap_or(by).to_string();
            self.driver.cancel(job, &by);
        }
        match self.driver.attend(job) {
            Standing::Runs => {
                self.troubles.remove(&id);
            }
            Standing::Later(text) => {
                self.troubles.insert(id, text);
            }
            Standing::Ended(outcome, at) => {
                self.troubles.remove(&id);
                self.unrecorded.insert(id, Event::Ended { outcome, at });
            }
        }
    }

    /// A supervisor is gone.
    fn gone(&mut self, attempt: Attempt) {
        self.driver.gone(attempt);
        self.look_after(attempt.job);
    }

    /// Records what has happened, starts what can start, tells those who listen.
    fn settle(&mut self) {
        self.record_ends();
        let mut rounds = 0;
        while self.dirty && self.stuck.is_none() && rounds < POLICY_ROUNDS_MAX {
            rounds += 1;
            self.dirty = false;
            let done = self.schedule();
            self.note(done);
        }
        if let Err(error) = self.tell() {
            self.note(Err(error));
        }
        let news = self.driver.fleet.take_news();
        if !news.is_empty() {
            (self.publish.orders)(news);
        }
    }

    /// Remembers whether the store takes what it is given.
    fn note(&mut self, done: Result<(), StoreError>) {
        self.stuck = done.err().map(|error| error.to_string());
        self.dirty |= self.stuck.is_some();
    }

    fn record_ends(&mut self) {
        self.stuck = None;
        for (id, event) in std::mem::take(&mut self.unrecorded) {
            match self.happen(id, event.clone()) {
                Ok(_) | Err(StoreError::Refused(_) | StoreError::Missing(_)) => {}
                Err(error) => {
                    self.unrecorded.insert(id, event);
                    self.note(Err(error));
                }
            }
        }
    }

    /// Lets an event happen to a job that has not ended.
    fn happen(&mut self, id: JobId, event: Event) -> Result<Job, StoreError> {
        let Some(job) = self.active.get(&id) else {
            // Ended, or never there: the store knows which, and apply says why it cannot be.
            let job = self.store.job(id)?;
            let refused = crate::apply::apply(&job, &event);
            let text = refused.err().map_or_else(|| format!("job {id} is set aside"), |r| r.0);
            return Err(StoreError::Refused(text));
        };
        let after = self.store.transition(&[(job, event)])?;
        let is_over =
            |after: &Job| after.state() == State::Ended || after.attempt() != job.attempt();
        if after.iter().any(is_over) {
            self.driver.recorded(job);
            let failure = after.iter().find_map(|after| after.summary.last_failure.as_ref());
            if failure.is_some_and(|failure| failure.kind == OutcomeKind::NodeLost) {
                self.driver.fleet.suspect(job);
            }
        }
        self.keep(after.clone());
        self.dirty = true;
        after.into_iter().next().ok_or_else(|| StoreError::Missing(format!("there is no job {id}")))
    }

    fn keep(&mut self, jobs: Vec<Job>) {
        for job in jobs {
            match job.state() {
                State::Ended => {
                    self.troubles.remove(&job.id());
                    self.active.remove(&job.id())
                }
                _ => self.active.insert(job.id(), job),
            };
        }
    }

    /// How what a job depends on stands.
    fn other(&self, on: &Dependency) -> Other {
        let single = self.active.get(&on.job).filter(|job| job.summary.array.is_none());
        if single.is_some() {
            return Other::Active;
        }
        match self.store.depended(on) {
            Ok(Some(Some(outcome))) => Other::Ended(outcome),
            Ok(Some(None)) | Err(_) => Other::Active,
            Ok(None) => Other::Unknown,
        }
    }

    /// Asks the policy and does as it says.
    fn schedule(&mut self) -> Result<(), StoreError> {
        let now = Stamp::now();
        let hosts = self.hosts();
        // Thousands may depend on the same array, which is looked at once.
        let known = RefCell::new(BTreeMap::new());
        let plan = policy::plan(now, &hosts, self.active.values(), |on| {
            let mut known = known.borrow_mut();
            let other = known.entry(Name::from(on)).or_insert_with(|| self.other(on));
            other.clone()
        });
        let mut events: Vec<(&Job, Event)> = Vec::new();
        let attempt = |(id, shares): &(JobId, Vec<Share>)| {
            Some((self.active.get(id)?.attempt(), shares.clone()))
        };
        let starting: Vec<_> = plan.start.iter().filter_map(attempt).collect();
        let refused = self.driver.make_folders(&starting);
        for (id, shares) in &plan.start {
            let event = match refused.get(id) {
                None => Event::Started { shares: shares.clone(), at: now },
                Some(why) => {
                    self.troubles.insert(*id, why.clone());
                    Event::Considered { reason: Some(why.clone()), estimated_start: None }
                }
            };
            events.extend(self.active.get(id).map(|job| (job, event)));
        }
        for waiting in plan.wait {
            let Some(job) = self.active.get(&waiting.id) else { continue };
            let (reason, estimated_start) = (Some(waiting.reason), waiting.estimated_start);
            let same = job.state() == State::Pending
                && job.summary.reason == reason
                && job.summary.estimated_start == estimated_start;
            if !same {
                events.push((job, Event::Considered { reason, estimated_start }));
            }
        }
        if events.is_empty() {
            return Ok(());
        }
        let after = self.store.transition(&events)?;
        self.keep(after);
        for (id, _) in plan.start {
            self.look_after(id);
        }
        self.record_ends();
        Ok(())
    }

    /// The hosts as the policy sees them, this machine first.
    fn hosts(&mut self) -> Vec<policy::Host> {
        let (own, capacity) = (self.config.place.host.clone(), self.config.capacity);
        let drained = |name: &str| {
            let Drained { user, reason } = self.drained.get(name)?;
            Some(format!("host {name} is drained by {user}: {reason}"))
        };
        let closed = drained(&own);
        let processors = Arc::clone(&self.config.processors);
        let mut all = vec![policy::Host { name: own, capacity, processors, closed }];
        for view in self.driver.fleet.views() {
            let NodeView { name, capacity, processors, silent, last_seen } = view;
            let silent = silent.then(|| format!("host {name} has not reported since {last_seen}"));
            all.push(policy::Host {
                closed: drained(&name).or(silent),
                capacity,
                processors,
                name,
            });
        }
        all
    }

    /// Publishes events that are new.
    fn tell(&mut self) -> Result<(), StoreError> {
        // Asked after every report of every host, most of which change nothing.
        let changes = self.store.changes();
        if self.told_changes == Some(changes) {
            return Ok(());
        }
        let all = self.publish_events()?;
        self.told_changes = all.then_some(changes);
        Ok(())
    }

    /// Publishes some events that are new; `true` when there are no more.
    fn publish_events(&mut self) -> Result<bool, StoreError> {
        let newest = self.store.cursor()?;
        if newest == self.cursor {
            return Ok(true);
        }
        let rows = self.store.happened(self.cursor, PUBLISH)?.unwrap_or_default();
        if let Some(last) = rows.last() {
            // Now and then, so that the table keeps its size.
            if last.id / 1000 != self.cursor / 1000 {
                self.store.trim()?;
            }
            self.cursor = last.id;
        }
        (self.publish.events)(rows);
        Ok(self.cursor == newest)
    }
}
