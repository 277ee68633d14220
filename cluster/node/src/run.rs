//! From options to a daemon that runs until it is told to end.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use hpvm_monitor::Sampler;
use hpvm_queue::attempt::Attempt;
use hpvm_queue::driver::{Confinement, Driver, Embedded, Settings, Told, account_for};
use hpvm_queue::job::{JobId, Outcome, OutcomeKind};
use hpvm_queue::node::{Capacity, Daemon, Deed, Looks, Newest, Orders, Parts, Report, Work};
use hpvm_queue::processors::Processors;
use hpvm_queue::stepd::family;
use hpvm_queue::time::Stamp;
use hpvm_serve::api::types::NodeReport;
use hpvm_serve::client::Client;
use hpvm_serve::look::Subject;

use crate::disk::{Disk, Identity};
use crate::link::{self, Line, News, Outgoing};
use crate::look;
use crate::output::{self, Task};

/// Pace of reports and samples.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// What `hpvm node` was told.
#[derive(Clone, Debug)]
pub struct Options {
    pub server: Client,
    /// Under this name the host is known; the others reach it by it.
    pub name: String,
    /// The data folder; an absolute path.
    pub data: PathBuf,
    pub capacity: Capacity,
    /// Which processors those are, if that is known.
    pub processors: Processors,
    /// The `hpvm` program.
    pub program: PathBuf,
    pub home: PathBuf,
    /// Variables that jobs get beside their own.
    pub env: BTreeMap<String, String>,
    /// Ends with its standard input, which whoever has started it confined.
    pub attached: bool,
}

/// Runs until SIGTERM or SIGINT, or until the server refuses us. Jobs go on afterwards.
pub fn run(options: &Options) -> Result<(), String> {
    let (sender, news) = channel();
    // Before any other thread is there: they all inherit that signals wait.
    hear_signals(sender.clone())?;
    if options.attached {
        hear_end(sender.clone())?;
    }
    let disk = Disk::open(&options.data)?;
    let identity = disk.begin()?;
    let mut node = Node::start(options, disk, identity, sender)?;
    say(&format!("host {} reports; data in {}", options.name, options.data.display()));
    node.run(&news)
}

/// A line with the time, for the log.
fn say(text: &str) {
    // Without a log there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{} hpvm node: {text}", Stamp::now());
}

/// Blocks the signals that end us, and waits for them in a thread.
fn hear_signals(news: Sender<News>) -> Result<(), String> {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is writable and initialised by sigemptyset.
    let done = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut())
    };
    if done != 0 {
        return Err(format!("signals: {}", std::io::Error::from_raw_os_error(done)));
    }
    let body = move || {
        let mut number = 0;
        // SAFETY: the set was initialised above, and the number is writable.
        while unsafe { libc::sigwait(set.as_ptr(), &mut number) } == 0 {
            if news.send(News::Stop).is_err() {
                return;
            }
        }
    };
    thread("signals", body)
}

/// Waits for the end of standard input in a thread.
fn hear_end(news: Sender<News>) -> Result<(), String> {
    let body = move || {
        // What is said beside the end is nothing to us, and an error is an end.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        // We may be ending already.
        let _ = news.send(News::Stop);
    };
    thread("input", body)
}

fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let made = std::thread::Builder::new().name(name.into()).spawn(body);
    made.map(|_| ()).map_err(|error| format!("cannot start a thread: {error}"))
}

/// What runs jobs here, once it is known whose they are.
struct Jobs {
    driver: Embedded,
    place: Settings,
    /// The jobs whose output is sent.
    tasks: Sender<Vec<Task>>,
    /// Those at whose ranks is looked once more.
    looks: Sender<Vec<look::Task>>,
    /// Ranks here of jobs that have their supervisors elsewhere.
    confined: BTreeMap<Attempt, Confinement>,
}

struct Node {
    options: Options,
    disk: Disk,
    identity: Identity,
    daemon: Daemon,
    works: BTreeMap<Attempt, Work>,
    jobs: Option<Jobs>,
    looks: Looks,
    /// Jobs of which nothing is left here but our record.
    swept: BTreeSet<Attempt>,
    sweeping: BTreeSet<Attempt>,
    sampler: Sampler,
    outgoing: Outgoing,
    bell: Sender<()>,
    news: Sender<News>,
    /// Why the server does not answer, which was said once.
    trouble: Option<String>,
}

impl Node {
    fn start(
        options: &Options,
        disk: Disk,
        identity: Identity,
        news: Sender<News>,
    ) -> Result<Node, String> {
        let forgotten = disk.forgotten()?;
        let mut daemon =
            Daemon::new(identity.identity.clone(), identity.session, forgotten.clone());
        let (mut works, mut damaged) = disk.works().map_err(|e| format!("data folder: {e}"))?;
        // What was being removed when the last life ended.
        for id in works.keys().chain(damaged.keys()).filter(|id| forgotten.contains(id)) {
            disk.remove_work(*id).map_err(|error| format!("job {id}: {error}"))?;
        }
        works.retain(|id, _| !forgotten.contains(id));
        damaged.retain(|id, _| !forgotten.contains(id));
        works.iter().for_each(|(id, work)| daemon.found(*id, work.part));
        for (id, why) in damaged {
            say(&format!("job {id}: {why}; the server is asked for it"));
            daemon.unread(id, format!("host {}: {why}", options.name));
        }
        let (bell, rung) = channel();
        let outgoing = Outgoing::default();
        let (name, list) = (options.name.clone(), outgoing.clone());
        let (line, to) = (Line::new(&options.server)?, news.clone());
        thread("reports", move || link::send_reports(line, &name, &list, &rung, &to))?;
        let (name, line, to) = (options.name.clone(), Line::new(&options.server)?, news.clone());
        thread("orders", move || link::wait_for_orders(line, &name, &to))?;
        let mut node = Node {
            sampler: Sampler::with_folder(options.data.clone()),
            options: options.clone(),
            disk,
            daemon,
            works,
            jobs: None,
            looks: Looks::default(),
            swept: BTreeSet::new(),
            sweeping: BTreeSet::new(),
            outgoing,
            bell,
            news,
            trouble: None,
            identity,
        };
        if node.identity.queue.is_some() {
            node.jobs = Some(node.begin_jobs()?);
            node.look_after_all();
        }
        Ok(node)
    }

    fn begin_jobs(&self) -> Result<Jobs, String> {
        let options = &self.options;
        let place = Settings {
            data: options.data.clone(),
            program: options.program.clone(),
            host: options.name.clone(),
            env: options.env.clone(),
            home: options.home.clone(),
            marks: self.identity.marks.clone(),
            system: self.identity.system,
        };
        let news = self.news.clone();
        let gone = move |id| {
            // We are ending; the next life looks after all.
            let _ = news.send(News::Gone(id));
        };
        let driver = Embedded::new(place.clone(), gone)
            .map_err(|error| format!("cannot watch processes: {error}"))?;
        let (tasks, inbox) = channel();
        let (line, to, settings) = (Line::new(&options.server)?, self.news.clone(), place.clone());
        thread("output", move || output::run(line, &settings, &inbox, &to))?;
        let (looks, inbox) = channel();
        let (line, identity) = (Line::new(&options.server)?, self.identity.identity.clone());
        thread("looks", move || look::run(line, &identity, &inbox))?;
        Ok(Jobs { driver, place, tasks, looks, confined: BTreeMap::new() })
    }

    fn run(&mut self, inbox: &Receiver<News>) -> Result<(), String> {
        let mut next = Instant::now();
        loop {
            match inbox.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(News::Stop) => return Ok(()),
                Ok(News::Refused(text)) => return Err(text),
                Ok(news) => {
                    if self.hear(news)? {
                        self.report(false);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    next = Instant::now() + REPORT_INTERVAL;
                    self.perform(self.daemon.overdue());
                    self.look_after_all();
                    if !self.looks.jobs.is_empty() {
                        self.look();
                    }
                    self.report(true);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Whether the server should hear of it at once.
    fn hear(&mut self, news: News) -> Result<bool, String> {
        match news {
            News::Orders(orders) => return self.obey(&orders),
            News::Trouble(text) => {
                if self.trouble.as_ref() != Some(&text) {
                    say(&format!("the server does not answer, and jobs go on: {text}"));
                }
                self.trouble = Some(text);
                return Ok(false);
            }
            News::Gone(id) => {
                if let Some(jobs) = &mut self.jobs {
                    jobs.driver.gone(id);
                }
                self.look_after(id);
                self.send_output();
                return Ok(false);
            }
            News::Limit(id, Told::Ended(outcome)) => self.daemon.part_ended(id, outcome),
            News::Limit(id, Told::Refused(outcome)) => self.daemon.part_refused(id, outcome),
            News::Sent(id, trouble) => self.daemon.sent(id, trouble),
            News::Swept(id) => {
                self.swept.insert(id);
                self.sweeping.remove(&id);
                self.perform(self.daemon.overdue());
            }
            News::Stop | News::Refused(_) => {}
        }
        Ok(true)
    }

    fn obey(&mut self, orders: &Orders) -> Result<bool, String> {
        if self.trouble.take().is_some() {
            say("the server answers again");
        }
        let changed = self.disk.adopt(&mut self.identity, orders)?;
        if changed || self.jobs.is_none() {
            self.jobs = Some(self.begin_jobs()?);
        }
        let deeds = self.daemon.orders(orders);
        let any = !deeds.is_empty();
        self.perform(deeds);
        if self.looks != orders.looks {
            self.looks = orders.looks.clone();
            self.look();
        }
        Ok(any)
    }

    /// Looks at the ranks of the jobs at which somebody looks, by another thread.
    fn look(&self) {
        let Some(jobs) = &self.jobs else { return };
        let task = |(id, parts): (&JobId, &Parts)| {
            // Its newest attempt.
            let (_, work) = self.works.iter().rev().find(|(attempt, _)| attempt.job == *id)?;
            let subject = Subject::of(&jobs.place, &work.job);
            Some(look::Task { subject, parts: *parts })
        };
        // An error would mean that its thread has failed; nobody sees ranks then, and jobs go on.
        let _ = jobs.looks.send(self.looks.jobs.iter().filter_map(task).collect());
    }

    fn perform(&mut self, deeds: Vec<Deed>) {
        for deed in deeds {
            let done = match deed {
                Deed::Start(work) => self.take(work),
                Deed::Cancel { job, by } => {
                    if let (Some(jobs), Some(work)) = (&mut self.jobs, self.works.get(&job)) {
                        jobs.driver.cancel(&work.job, &by);
                    }
                    Ok(())
                }
                Deed::Remove { job } => self.remove(job),
            };
            if let Err(error) = done {
                // It is tried again every second.
                say(&error.to_string());
            }
        }
    }

    fn take(&mut self, work: Work) -> std::io::Result<()> {
        let id = work.job.attempt();
        let recorded = self.disk.put_work(&work);
        // Of a job that begins here its supervisor tells it.
        let place = self.jobs.as_ref().map(|jobs| &jobs.place).filter(|place| place.system);
        let stranger =
            place.filter(|_| work.part).and_then(|place| account_for(&work.job, &place.host).err());
        self.works.insert(id, work);
        if let Err(error) = recorded {
            // Without its record a life after this one would not find it: it is not started.
            let text = format!("host {} cannot record it: {error}", self.options.name);
            self.daemon.stands(id, hpvm_queue::driver::Standing::Later(text));
            return Err(error);
        }
        if let Some(text) = stranger {
            self.daemon.part_ended(id, Outcome::of(OutcomeKind::FailedToStart).with(text));
        }
        self.confine_parts();
        self.look_after(id);
        self.send_output();
        Ok(())
    }

    /// Ends what is left of a job, remembers that it was here, and removes what is kept of it.
    fn remove(&mut self, id: Attempt) -> std::io::Result<()> {
        // Of a job whose record could not be read nobody knows whether it runs here.
        let part = self.works.get(&id).is_none_or(|work| work.part);
        if part && !self.swept.contains(&id) {
            if let (true, Some(jobs)) = (self.sweeping.insert(id), &mut self.jobs) {
                let (mark, news) = (jobs.place.mark(id), self.news.clone());
                let confinement = jobs.confined.remove(&id);
                std::thread::spawn(move || {
                    confinement.into_iter().for_each(Confinement::end);
                    family::kill_marked(&mark);
                    // We are ending; the next life sweeps again.
                    let _ = news.send(News::Swept(id));
                });
            }
            return Ok(());
        }
        self.disk.put_forgotten(&self.daemon.forgotten_with(id))?;
        self.disk.remove_work(id)?;
        self.works.remove(&id);
        self.swept.remove(&id);
        self.daemon.removed(id);
        Ok(())
    }

    /// Confines the ranks that are, or are about to be, on this host to what their job may have here.
    fn confine_parts(&mut self) {
        let Some(jobs) = &mut self.jobs else { return };
        for id in self.daemon.parts() {
            let Some(work) = self.works.get(&id).filter(|_| !jobs.confined.contains_key(&id))
            else {
                continue;
            };
            let news = self.news.clone();
            let told = move |told| {
                // We are ending.
                let _ = news.send(News::Limit(id, told));
            };
            match Confinement::start(&jobs.place, &work.job, told) {
                Ok(made) => drop(jobs.confined.insert(id, made)),
                // Tried again every second.
                Err(error) => say(&format!("job {id} cannot be confined here: {error}")),
            }
        }
    }

    fn look_after_all(&mut self) {
        self.confine_parts();
        self.daemon.running().into_iter().for_each(|id| self.look_after(id));
        self.send_output();
    }

    /// Sees to a job that shall run here.
    fn look_after(&mut self, id: Attempt) {
        let (Some(jobs), Some(work)) = (&mut self.jobs, self.works.get(&id)) else { return };
        // On an earlier attempt nothing is built that it may still write to.
        if work.part || self.daemon.waits(id) {
            return;
        }
        // A job whose record could not be written waits for that.
        if let Err(error) = self.disk.has_work(id).or_else(|_| self.disk.put_work(work)) {
            let text = format!("host {} cannot record it: {error}", self.options.name);
            self.daemon.stands(id, hpvm_queue::driver::Standing::Later(text));
            return;
        }
        let standing = jobs.driver.attend(&work.job);
        let deeds = self.daemon.stands(id, standing);
        self.perform(deeds);
    }

    fn send_output(&self) {
        let Some(jobs) = &self.jobs else { return };
        let task = |(id, ended)| {
            let work = self.works.get(&id)?;
            Some(Task { job: work.job.clone(), ended })
        };
        // An error would mean that its thread has failed; reports go on and say so by silence.
        let _ = jobs.tasks.send(self.daemon.sending().into_iter().filter_map(task).collect());
    }

    fn report(&mut self, with_sample: bool) {
        let sample = with_sample.then(|| self.sampler.sample(SystemTime::now()).ok()).flatten();
        let newest = self.identity.queue.zip(self.daemon.newest());
        let newest = newest.map(|(queue, job)| Newest { queue, job });
        let (report, capacity) = (self.daemon.report(), self.options.capacity);
        let processors = self.options.processors.to_string();
        let report = Report { newest, processors, ..report };
        self.outgoing.put(NodeReport { report, capacity, sample });
        let _ = self.bell.send(());
    }
}
