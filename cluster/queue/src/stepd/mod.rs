//! The supervisor of one job (what Slurm calls slurmstepd), a small process of its own in its own
//! session: the server may be killed and started again while it goes on.
//!
//! It claims the job ([`record`]), starts the launcher, moves the output into files ([`output`]),
//! enforces limits ([`course`]), leaves no process behind ([`family`]) and records the end. It
//! decides nothing else. A server that finds it gone and no end recorded knows that it was killed;
//! the launcher dies with it, and the launcher's guardian ends the ranks.

pub mod cgroup;
mod child;
mod course;
pub mod family;
pub mod order;
mod output;
pub mod over;
pub mod record;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::job::{Outcome, OutcomeKind};
use crate::time::Stamp;
use cgroup::{Bounds, Group};
use course::{Course, Deed, GRACE_CANCEL};
use hpvm_launch::sys;
use order::Order;
use output::Pump;
use record::{Claim, End, Folder, Launch, Lock, Record};

/// How often the memory and the processes of a job with a limit are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The same where the kernel keeps its limits: whether the job gets any further.
const STILL_EVERY: Duration = Duration::from_secs(1);
/// How often a full disk is tried again.
const DISK_EVERY: Duration = Duration::from_millis(200);
/// How long the end of a job waits for a full disk to take the last of its output.
const DISK_PATIENCE: Duration = Duration::from_secs(60);

/// The hidden verb `hpvm stepd FOLDER`. Writes the number of the supervisor's process to standard
/// output and returns at once; the supervisor goes on by itself. The process must have one thread.
pub fn main(args: &[OsString]) -> i32 {
    let [folder] = args else {
        let _ = writeln!(io::stderr(), "hpvm stepd: expected the folder of a job");
        return 2;
    };
    let folder = Folder(PathBuf::from(folder));
    // SAFETY: the process has one thread, so the child finds all locks free.
    match unsafe { libc::fork() } {
        -1 => {
            let _ = writeln!(io::stderr(), "hpvm stepd: fork: {}", io::Error::last_os_error());
            1
        }
        0 => {
            detach(&folder);
            if let Err(error) = supervise(&folder) {
                let _ = writeln!(io::stderr(), "{} hpvm stepd: {error}", Stamp::now());
                return 1;
            }
            0
        }
        pid => {
            // Without a reader the server finds the supervisor by its lock.
            let _ = writeln!(io::stdout(), "{pid}");
            0
        }
    }
}

/// Cuts every tie to the server: session, terminal, streams, folder.
fn detach(folder: &Folder) {
    let log = std::fs::OpenOptions::new().append(true).create(true).open(folder.log());
    // SAFETY: calls on this process's own state with valid arguments.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"hpvm-stepd".as_ptr());
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        libc::chdir(c"/".as_ptr());
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(null, 0);
        libc::dup2(null, 1);
        libc::dup2(log.as_ref().map_or(null, AsRawFd::as_raw_fd), 2);
        if null > 2 {
            libc::close(null);
        }
    }
}

/// Runs the job from claim to end.
fn supervise(folder: &Folder) -> io::Result<()> {
    let Some(_lock) = Lock::take(folder)? else { return Ok(()) };
    // Before the claim: what cannot be set up must leave the job to another try.
    let signals = child::signals()?;
    let claim = Claim { pid: std::process::id() as i32, boot: record::boot(), at: Stamp::now() };
    let record = match Record::claim(folder, &claim) {
        Ok(record) => record,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(io::Error::other(format!("cannot write the record: {error}"))),
    };
    let (outcome, peak_memory) = match Order::read(folder) {
        Err(error) => (failed(format!("the server's order cannot be read: {error}")), None),
        Ok(Order { refused: Some(text), .. }) => (failed(text), None),
        Ok(_) if folder.cancel().exists() => (cancelled(folder), None),
        Ok(order) => match Step::launch(&order, folder, signals, &record) {
            Ok(mut step) => step.run(),
            Err(text) => (failed(text), None),
        },
    };
    let swept = family::sweep();
    let outcome = match swept {
        true => outcome,
        false => outcome.with("a process of the job hangs in the kernel and cannot be killed"),
    };
    record.ended(&End { outcome, at: Stamp::now(), peak_memory })
}

fn failed(text: impl Into<String>) -> Outcome {
    Outcome::of(OutcomeKind::FailedToStart).with(text)
}

fn cancelled(folder: &Folder) -> Outcome {
    let who = std::fs::read_to_string(folder.cancel()).unwrap_or_default();
    let who = who.trim();
    let detail = match who {
        "" => "its supervisor was told to end it".to_string(),
        who => format!("cancelled by {who}"),
    };
    Outcome::of(OutcomeKind::Cancelled).with(detail)
}

/// A job that runs.
struct Step<'a> {
    order: &'a Order,
    folder: &'a Folder,
    launcher: i32,
    /// Where the launcher tells of a host that was lost.
    told: OwnedFd,
    /// Where one can be had.
    group: Option<Group>,
    /// The launcher's wait status, when it has ended.
    status: Option<i32>,
    signals: OwnedFd,
    pumps: Vec<Pump>,
    course: Course,
    began: Instant,
    peak: u64,
    looked: Instant,
    stalls: over::Stalls,
}

impl<'a> Step<'a> {
    fn launch(
        order: &'a Order,
        folder: &'a Folder,
        signals: OwnedFd,
        record: &Record,
    ) -> Result<Step<'a>, String> {
        let open = |path: &PathBuf| {
            let path = order.workdir.join(path);
            // What the server keeps is the server's; all other files are the user's to open.
            let opened = match path.starts_with(&folder.0) {
                true => Pump::open(&path, order.append),
                false => order.with_rights(|| Pump::open(&path, order.append)),
            };
            opened.map_err(|error| format!("output file {}: {error}", path.display()))
        };
        if let Some(umask) = order.umask {
            // SAFETY: takes a number and cannot fail.
            unsafe { libc::umask(umask & 0o777) };
        }
        let (out, out_end) = open(&order.stdout)?;
        let mut launch = Launch { stdout: out.identity(), ..Launch::default() };
        let mut pumps = vec![out];
        let err_end = if order.stderr == order.stdout {
            out_end.try_clone().map_err(|error| error.to_string())?
        } else {
            let (err, end) = open(&order.stderr)?;
            pumps.push(err);
            end
        };
        let last = &pumps[pumps.len() - 1];
        launch.stderr = last.identity();
        (launch.stdout_from, launch.stderr_from) = (pumps[0].size(), last.size());
        let group = group(order);
        let started = child::start(order, group.as_ref(), out_end, err_end);
        let (launcher, told) = started?;
        let group = group.filter(|group| group.holds(launcher));
        launch.cgroup = group.as_ref().map(|group| group.path().to_path_buf());
        launch.pid = launcher;
        launch.start = record::start_time(launcher).unwrap_or(0);
        // Only /proc of a job that runs is found by it; the job matters more than that.
        let _ = record.launched(&launch);
        let course = Course::new(order.time_limit_seconds);
        let now = Instant::now();
        Ok(Step {
            order,
            folder,
            launcher,
            told,
            group,
            status: None,
            signals,
            pumps,
            course,
            began: now,
            peak: 0,
            looked: now,
            stalls: over::Stalls::default(),
        })
    }

    /// Until the launcher has ended and its output is written.
    fn run(&mut self) -> (Outcome, Option<u64>) {
        let status = loop {
            if let Some(status) = self.status {
                break status;
            }
            self.wait();
            self.pumps.iter_mut().for_each(Pump::step);
            self.hear();
            let deed = self.course.at(self.began.elapsed());
            self.perform(deed);
            self.look();
        };
        let used = self.group.as_ref().map(Group::used).unwrap_or_default();
        // What still holds the pipes outlived the launcher and is the job's.
        self.group.as_ref().map(Group::end);
        family::sweep();
        let mut outcome = self.course.outcome(status, &child::lost(&self.told));
        if let (true, Some(limit)) = (used.out_of_memory && status != 0, self.order.memory_bytes) {
            outcome = over::refused_memory(limit);
        }
        let refused = used.out_of_processes && status != 0;
        if let (true, Some(limit)) = (refused && self.course.is_free(), self.order.max_processes) {
            outcome = over::refused_processes(limit);
        }
        if let Some(text) = self.finish_output() {
            let detail = outcome.detail.take().map_or(String::new(), |detail| detail + "; ");
            outcome = outcome.with(format!("{detail}{text}"));
        }
        let seen = self.looks_at_memory().then_some(self.peak);
        (outcome, used.peak_memory.or(seen))
    }

    /// Sleeps until something happens or is due.
    fn wait(&self) {
        let mut fds = vec![poll_in(self.signals.as_raw_fd())];
        fds.extend(self.pumps.iter().filter_map(Pump::pollable).map(poll_in));
        let now = self.began.elapsed();
        let mut limit = self.course.next().map(|at| at.saturating_sub(now));
        let mut at_most = |time: Duration| limit = Some(limit.map_or(time, |l| l.min(time)));
        if let Some(every) = self.looks_every() {
            at_most(every.saturating_sub(self.looked.elapsed()));
        }
        if self.pumps.iter().any(|pump| pump.waiting.is_some()) {
            at_most(DISK_EVERY);
        }
        // Whatever ends it, the loop looks.
        let _ = hpvm_os::poll(&mut fds, limit);
    }

    /// Takes the signals that have come: children that ended, the wish that the job end.
    fn hear(&mut self) {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        while sys::read(self.signals.as_raw_fd(), &mut info).is_ok_and(|n| n == info.len()) {
            // The number is the first field.
            let number = i32::from_ne_bytes([info[0], info[1], info[2], info[3]]);
            if number == libc::SIGTERM || number == libc::SIGINT {
                let cause = cancelled(self.folder);
                let deed = self.course.end(cause, GRACE_CANCEL, self.began.elapsed());
                self.perform(deed);
            }
        }
        let (launcher, mut status) = (self.launcher, self.status);
        family::reap(|pid, ended| {
            if pid == launcher {
                status = Some(ended);
            }
        });
        self.status = status;
    }

    fn perform(&self, deed: Option<Deed>) {
        // Nobody else collects our child, so its number names it until we have seen its status.
        if self.status.is_some() {
            return;
        }
        match deed {
            Some(Deed::Ask) => sys::kill(self.launcher, libc::SIGTERM),
            Some(Deed::Kill) => sys::kill(self.launcher, libc::SIGKILL),
            None => {}
        }
    }

    /// Whether nobody else keeps its limit of memory.
    fn looks_at_memory(&self) -> bool {
        let kernel = self.group.as_ref().is_some_and(|group| group.bounds_memory);
        self.order.memory_bytes.is_some() && !kernel
    }

    /// The same of its limit of processes.
    fn looks_at_processes(&self) -> bool {
        let kernel = self.group.as_ref().is_some_and(|group| group.bounds_processes);
        self.order.max_processes.is_some() && !kernel
    }

    /// How often limits are to be looked at, if at all.
    fn looks_every(&self) -> Option<Duration> {
        match self.looks_at_memory() || self.looks_at_processes() {
            true => Some(POLL_INTERVAL),
            false => self.order.memory_bytes.map(|_| STILL_EVERY),
        }
    }

    /// Looks whether the job keeps the limits that the kernel does not keep for it, and gets on within those that it does.
    fn look(&mut self) {
        let due = self.looks_every().is_some_and(|every| self.looked.elapsed() >= every);
        if !due || self.status.is_some() {
            return;
        }
        self.looked = Instant::now();
        let over = self.over_memory().or_else(|| self.over_processes());
        if let Some(cause) = over {
            // Killed, not asked: who waits for what it has too much of gets it now.
            self.course.end(cause, Duration::ZERO, self.began.elapsed());
            let deed = self.course.at(self.began.elapsed());
            self.perform(deed);
        }
    }

    fn over_memory(&mut self) -> Option<Outcome> {
        let limit = self.order.memory_bytes?;
        if !self.looks_at_memory() {
            let seen = self.group.as_ref().map(Group::pressure).unwrap_or_default();
            let still = self.stalls.see(seen, limit, self.began.elapsed());
            return still.then(|| over::starved(limit));
        }
        let used = family::memory();
        self.peak = self.peak.max(used);
        over::memory(used, limit)
    }

    fn over_processes(&self) -> Option<Outcome> {
        let limit = self.order.max_processes.filter(|_| self.looks_at_processes())?;
        over::processes(family::tasks(), limit)
    }

    /// Writes what is left in the pipes; a sentence about what could not be.
    fn finish_output(&mut self) -> Option<String> {
        self.pumps.iter_mut().for_each(Pump::close);
        let patience = Instant::now() + DISK_PATIENCE;
        while self.pumps.iter().any(|pump| !pump.is_done()) && Instant::now() < patience {
            std::thread::sleep(DISK_EVERY);
            self.hear();
            if self.folder.cancel().exists() {
                break;
            }
            self.pumps.iter_mut().for_each(Pump::step);
        }
        let problem = |pump: &Pump| pump.broken.clone().or_else(|| pump.waiting.clone());
        let text = self.pumps.iter().find_map(problem)?;
        Some(format!("the end of the output is missing: {text}"))
    }
}

/// A control group for the attempt; without one the supervisor does what it can.
fn group(order: &Order) -> Option<Group> {
    let home = cgroup::home(std::process::id() as i32).ok()?;
    let bounds = Bounds {
        memory: order.memory_bytes,
        cpus: order.cpus,
        processors: order.processors.clone(),
        processes: order.max_processes,
    };
    Group::make(&home, &order.mark, &bounds).ok()
}

fn poll_in(fd: i32) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}
