//! Jobs on this machine, each under a supervisor of its own ([`crate::stepd`]).

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::watch::{self, Watch};
use super::{Driver, Standing};
use crate::account::{self, Account};
use crate::attempt::Attempt;
use crate::job::{CpuBind, Job, JobId, Outcome, OutcomeKind, Share};
use crate::stepd::order::{Order, replace};
use crate::stepd::record::{self, Claim, End, Folder, Lock, Record, Seen};
use crate::stepd::{cgroup, family};
use crate::time::Stamp;
use crate::{check, describe};
use hpvm_launch::environment::{JOB_ID, MONITOR, NODELIST, QUEUE_LIMITS, QUEUE_UID, QUEUE_UMASK};
use hpvm_launch::restart::COUNT;
use hpvm_launch::{limits, sys};

/// How often a supervisor is started that ends without claiming its job, before the job is given up.
const TRIES: u32 = 5;

/// Where jobs run and what they get.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The data folder.
    pub data: PathBuf,
    /// The `hpvm` program.
    pub program: PathBuf,
    /// Name of this machine.
    pub host: String,
    /// Variables of the server that jobs get.
    pub env: BTreeMap<String, String>,
    pub home: PathBuf,
    /// What the marks of jobs begin with ([`Settings::mark`]).
    pub marks: String,
    /// Jobs run as the users of this system who have submitted them; we are root.
    pub system: bool,
}

/// What jobs of system mode have without their submitter's own.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// As whom a job of system mode runs, or why it does not.
pub fn account_of(user: &str) -> Result<Account, String> {
    match account::find(user) {
        Some(account) if account.uid == 0 => {
            Err(format!("jobs run as their submitters, but none as '{user}', which is root"))
        }
        Some(account) => Ok(account),
        None => Err(format!(
            "jobs run as their submitters, and '{user}' is no user of host {}",
            hpvm_launch::hosts::local_name()
        )),
    }
}

/// The same for a job on this host, which calls itself so. A user of the same name who has another number here is
/// another user.
pub fn account_for(job: &Job, host: &str) -> Result<Account, String> {
    let name = &job.summary.user;
    let account = account_of(name)?;
    match job.uid {
        Some(uid) if uid != account.uid => Err(format!(
            "jobs run as the same user on all hosts, and '{name}' has the uid {} on host {host}, and {uid} on \
             the server's: give the account one number everywhere",
            account.uid
        )),
        _ => Ok(account),
    }
}

/// The processors of a host to which a job is bound; none: to nothing.
pub fn processors_on(job: &Job, host: &str) -> Vec<u32> {
    if job.spec.cpu_bind == Some(CpuBind::None) {
        return Vec::new();
    }
    let shares = job.allocation.iter().filter(|share| share.host == host);
    shares.flat_map(|share| share.processors.iter().copied()).collect()
}

/// What marks of the jobs of a data folder begin with; another folder has others.
pub fn marks_of(data: &Path) -> String {
    format!("queue-{:08x}", number_of(data) as u32)
}

/// With which core of a machine a queue begins, or a host of one: others with another data folder may be
/// on the same machine and know nothing of its jobs.
pub fn turn_of(data: &Path) -> u64 {
    number_of(data) >> 32
}

/// The same number for the same folder.
fn number_of(data: &Path) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    hasher.finish()
}

impl Settings {
    /// The folder of an attempt.
    pub fn folder(&self, attempt: Attempt) -> Folder {
        Folder(self.data.join("jobs").join(attempt.to_string()))
    }

    /// The largest number of a job that has a folder here; 0 when none has.
    pub fn newest_folder(&self) -> JobId {
        let entries = std::fs::read_dir(self.data.join("jobs")).into_iter().flatten().flatten();
        let attempt = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
        entries.filter_map(attempt).map(|attempt: Attempt| attempt.job).max().unwrap_or(0)
    }

    /// By what the processes of an attempt are known, on every host.
    pub fn mark(&self, attempt: Attempt) -> String {
        format!("{}-{attempt}", self.marks)
    }

    fn workdir(&self, job: &Job) -> PathBuf {
        let home = || match self.system {
            true => account_of(&job.summary.user).map_or_else(|_| "/".into(), |a| a.home),
            false => self.home.clone(),
        };
        job.spec.workdir.as_ref().map_or_else(home, PathBuf::from)
    }

    /// The files that a job's attempt writes to, standard output first.
    pub fn outputs(&self, job: &Job) -> (PathBuf, PathBuf) {
        let folder = self.folder(job.attempt());
        let workdir = self.workdir(job);
        let named = |pattern: &String| workdir.join(describe::file_name(pattern, job, &self.host));
        let stdout = job.spec.stdout.as_ref().map(named);
        let stderr = job.spec.stderr.as_ref().map(named);
        let stderr = if describe::is_joined(&job.spec) { stdout.clone() } else { stderr };
        (stdout.unwrap_or_else(|| folder.stdout()), stderr.unwrap_or_else(|| folder.stderr()))
    }

    /// Where the server keeps what another host has sent of a job's output. One file stands for both
    /// when the job writes both to one.
    pub fn received(&self, job: &Job) -> (PathBuf, PathBuf) {
        let folder = self.folder(job.attempt());
        let joined = describe::is_joined(&job.spec);
        (folder.stdout(), if joined { folder.stdout() } else { folder.stderr() })
    }

    /// Whether the job's supervisor is on this machine.
    pub fn is_here(&self, job: &Job) -> bool {
        job.first_host().is_none_or(|host| host == self.host)
    }

    fn order(&self, job: &Job) -> Order {
        let spec = &job.spec;
        let mut argv = vec![self.program.display().to_string(), "run".into()];
        // The job is bound as a whole; its ranks only if that was asked for.
        let bind = spec.cpu_bind.unwrap_or(CpuBind::None);
        argv.extend(["--bind-to".into(), bind.of_launcher().into()]);
        if let Some(hosts) = describe::host_list(job).filter(|_| spec.script.is_none()) {
            argv.extend(["-H".into(), hosts]);
        }
        argv.push("-n".into());
        if spec.script.is_some() {
            let script = self.folder(job.attempt()).script().display().to_string();
            argv.extend(["1".into(), "--".into(), script]);
            argv.extend(spec.args.iter().cloned());
        } else {
            argv.extend([job.ranks().to_string(), "--".into()]);
            argv.extend(spec.command.iter().cloned());
        }
        let (stdout, stderr) = self.outputs(job);
        let user = self.system.then(|| account_for(job, &self.host)).transpose();
        let (user, refused) = match user {
            Ok(user) => (user, None),
            Err(text) => (None, Some(text)),
        };
        Order {
            argv,
            env: self.environment(job, user.as_ref()),
            user,
            refused,
            umask: spec.umask,
            limits: spec.limits.clone(),
            workdir: self.workdir(job),
            stdout,
            stderr,
            append: job.summary.restarts > 0,
            time_limit_seconds: spec.time_limit_seconds,
            memory_bytes: spec.memory_bytes,
            max_processes: spec.max_processes,
            processors: processors_on(job, &self.host),
            cpus: Some(crate::policy::cpus_on(job, &self.host)).filter(|cpus| *cpus > 0),
            mark: self.mark(job.attempt()),
        }
    }

    fn environment(&self, job: &Job, user: Option<&Account>) -> BTreeMap<String, String> {
        let mut env = match self.system {
            // Variables of root are nobody's business.
            true => BTreeMap::from([("PATH".to_string(), PATH.to_string())]),
            false => self.env.clone(),
        };
        env.extend(job.spec.env.clone());
        env.extend(user.map(Account::env).unwrap_or_default());
        // For the rank map; a job may say no.
        env.entry(MONITOR.into()).or_insert_with(|| "1".into());
        let mut set = |name: &str, value: String| env.insert(name.to_string(), value);
        set(JOB_ID, self.mark(job.attempt()));
        set("HPVM_QUEUE_JOB_ID", job.id().to_string());
        // What its ranks on further hosts have to be told, since they come by ssh.
        if let Some(user) = user {
            set(QUEUE_UID, user.uid.to_string());
        }
        if let Some(umask) = job.spec.umask {
            set(QUEUE_UMASK, format!("{umask:03o}"));
        }
        if !job.spec.limits.is_empty() {
            set(QUEUE_LIMITS, limits::encode(&job.spec.limits));
        }
        if job.spec.max_restarts > 0 {
            set(COUNT, job.summary.restarts.to_string());
        }
        set("HPVM_QUEUE_JOB_NAME", job.summary.name.clone());
        set("HPVM_NTASKS", job.ranks().to_string());
        if let Some(hosts) = describe::host_list(job) {
            set(NODELIST, hosts);
        }
        if let [Share { gpus, .. }] = &job.allocation[..]
            && !gpus.is_empty()
        {
            let numbers: Vec<String> = gpus.iter().map(u32::to_string).collect();
            // What CUDA, and ROCm with it, take as the ones to use.
            set("CUDA_VISIBLE_DEVICES", numbers.join(","));
        }
        set("HPVM_CPUS_PER_TASK", job.spec.cpus_per_rank.unwrap_or(1).to_string());
        set("HPVM_SUBMIT_DIR", self.workdir(job).display().to_string());
        if let Some(array) = &job.summary.array {
            let mut numbers = vec![("JOB_ID", array.id), ("TASK_ID", array.task.into())];
            let tasks = job.spec.array.as_deref().and_then(|list| check::array(list).ok());
            if let Some((tasks, _)) = tasks
                && let (Some(first), Some(last)) = (tasks.first(), tasks.last())
            {
                let count = i64::try_from(tasks.len()).unwrap_or(i64::MAX);
                let (first, last) = (i64::from(*first), i64::from(*last));
                numbers.extend([("TASK_COUNT", count), ("TASK_MIN", first), ("TASK_MAX", last)]);
                let step = job.spec.array.as_deref().map_or(1, check::array_step);
                numbers.push(("TASK_STEP", step.into()));
            }
            for (name, number) in numbers {
                set(&format!("HPVM_ARRAY_{name}"), number.to_string());
                // What scripts written for Slurm read.
                set(&format!("SLURM_ARRAY_{name}"), number.to_string());
            }
        }
        env
    }

    /// Lets the user at the job's script. Others can pass through the folders, whatever the umask
    /// is, and list and read nothing in them.
    fn open_to_user(&self, folder: &Folder, user: Option<&Account>) -> io::Result<()> {
        for path in [&self.data, &self.data.join("jobs"), &folder.0] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o711))?;
        }
        if let Some(user) = user.filter(|_| folder.script().exists()) {
            std::os::unix::fs::chown(folder.script(), Some(user.uid), Some(user.gid))?;
        }
        Ok(())
    }

    fn make_folder(&self, attempt: Attempt) -> io::Result<()> {
        let mode = if self.system { 0o711 } else { 0o700 };
        std::fs::DirBuilder::new().recursive(true).mode(mode).create(self.folder(attempt).0)
    }

    /// Writes what a supervisor needs.
    fn prepare(&self, job: &Job) -> io::Result<()> {
        let folder = self.folder(job.attempt());
        self.make_folder(job.attempt())?;
        let order = self.order(job);
        if let Some(script) = &job.spec.script {
            replace(&folder.script(), script.as_bytes(), 0o700)?;
        }
        if self.system {
            self.open_to_user(&folder, order.user.as_ref())?;
        }
        order.write(&folder)
    }
}

/// The driver.
#[derive(Debug)]
pub struct Embedded {
    place: Settings,
    watch: Watch,
    /// The supervisors that are watched.
    watched: BTreeMap<Attempt, i32>,
    tries: BTreeMap<Attempt, u32>,
}

impl Embedded {
    /// `gone` is told of each supervisor that has ended.
    pub fn new(place: Settings, gone: impl Fn(Attempt) + Send + 'static) -> io::Result<Embedded> {
        let watch = Watch::start(gone)?;
        Ok(Embedded { place, watch, watched: BTreeMap::new(), tries: BTreeMap::new() })
    }

    /// Name of this machine.
    pub fn host(&self) -> &str {
        &self.place.host
    }

    pub fn mark(&self, attempt: Attempt) -> String {
        self.place.mark(attempt)
    }

    /// Where jobs run here.
    pub fn place(&self) -> &Settings {
        &self.place
    }

    /// Makes the folders of these jobs, so that they are there after a power cut, too. Gives those
    /// that could not be made, with why.
    pub fn make_folders(&self, attempts: &[Attempt]) -> BTreeMap<JobId, String> {
        let told = |error: io::Error| format!("its folder cannot be made: {error}");
        let mut refused = BTreeMap::new();
        for attempt in attempts {
            if let Err(error) = self.place.make_folder(*attempt) {
                refused.insert(attempt.job, told(error));
            }
        }
        if refused.len() == attempts.len() {
            return refused;
        }
        let synced = std::fs::File::open(self.place.data.join("jobs")).and_then(|f| f.sync_all());
        if let Err(error) = synced {
            let why = told(error);
            refused.extend(attempts.iter().map(|attempt| (attempt.job, why.clone())));
        }
        refused
    }

    fn stand(&mut self, job: &Job) -> io::Result<Standing> {
        let id = job.attempt();
        let folder = self.place.folder(id);
        // Each round ends or finds that something has changed meanwhile.
        for _ in 0..2 * TRIES {
            if let Some(pid) = record::holder(&folder)? {
                if self.watch_holder(id, pid, &folder)? {
                    return Ok(Standing::Runs);
                }
                continue;
            }
            let Some(seen) = record::read(&folder)? else {
                if !folder.0.try_exists()? {
                    return Ok(self.unknown(job));
                }
                if let Some(standing) = self.start(job, &folder)? {
                    return Ok(standing);
                }
                continue;
            };
            if let Some(End { outcome, at, .. }) = seen.end {
                return Ok(Standing::Ended(outcome, at));
            }
            if record::holder(&folder)?.is_none() {
                return Ok(self.lost(job, &seen));
            }
        }
        Ok(Standing::Later("its supervisor comes and goes".into()))
    }

    /// Watches the process that holds the lock; false when it no longer does.
    fn watch_holder(&mut self, id: Attempt, pid: i32, folder: &Folder) -> io::Result<bool> {
        if self.watched.get(&id) == Some(&pid) {
            return Ok(true);
        }
        let Ok(process) = sys::pidfd(pid) else { return Ok(false) };
        // It held the lock after we had its descriptor: so the descriptor is of this process.
        if record::holder(folder)? != Some(pid) {
            return Ok(false);
        }
        self.put(id, pid, process);
        Ok(true)
    }

    fn put(&mut self, id: Attempt, pid: i32, process: OwnedFd) {
        self.watched.insert(id, pid);
        self.watch.add(id, process);
    }

    /// Starts a supervisor for a job that nobody has claimed.
    fn start(&mut self, job: &Job, folder: &Folder) -> io::Result<Option<Standing>> {
        let id = job.attempt();
        if self.tries.get(&id).is_some_and(|tries| *tries >= TRIES) {
            // If this fails as well, the disk is full: begin anew.
            self.tries.remove(&id);
            return give_up(folder).map(Some);
        }
        self.place.prepare(job)?;
        let pid = spawn(&self.place.program, folder)?;
        *self.tries.entry(id).or_default() += 1;
        match sys::pidfd(pid) {
            Ok(process) => {
                self.put(id, pid, process);
                Ok(Some(Standing::Runs))
            }
            // It has ended already.
            Err(_) => Ok(None),
        }
    }

    /// It runs by its record and has no folder, which is made before that is recorded: the store was
    /// restored without the folders, or somebody has removed this one. It may have run.
    fn unknown(&self, job: &Job) -> Standing {
        let folder = self.place.folder(job.attempt()).0;
        let text = format!(
            "its folder {} is gone: whether it ran cannot be known, and it is not started again",
            folder.display()
        );
        family::kill_marked(&self.place.mark(job.attempt()));
        Standing::Ended(Outcome::of(OutcomeKind::NodeLost).with(text), Stamp::now())
    }

    /// Its supervisor was killed: its launcher died with it, and whatever else is left dies now.
    fn lost(&self, job: &Job, seen: &Seen) -> Standing {
        let mark = self.place.mark(job.attempt());
        let group = seen.launch.as_ref().and_then(|launch| launch.cgroup.as_ref());
        // What else a record might name is not ours to end.
        if let Some(group) = group.filter(|group| group.ends_with(&mark)) {
            cgroup::end(group);
        }
        // It may have been killed before it could record the group.
        if let Ok(home) = cgroup::home(std::process::id() as i32) {
            home.end(&mark);
        }
        let rebooted = seen.claim.as_ref().is_some_and(|claim| claim.boot != record::boot());
        let text = match (rebooted, family::kill_marked(&mark)) {
            (true, _) => "the machine was restarted while the job ran",
            (false, true) => "the job's supervisor was killed, and the job with it",
            (false, false) => "the job's supervisor was killed; a process of the job cannot be",
        };
        Standing::Ended(Outcome::of(OutcomeKind::NodeLost).with(text), Stamp::now())
    }
}

/// Claims a job that no supervisor would claim, so that none can do so later.
fn give_up(folder: &Folder) -> io::Result<Standing> {
    let log = std::fs::read_to_string(folder.log()).unwrap_or_default();
    let said = log.lines().last().unwrap_or("it said nothing").to_string();
    let Some(_lock) = Lock::take(folder)? else { return Ok(Standing::Runs) };
    let pid = std::process::id() as i32;
    let record = Record::claim(folder, &Claim { pid, boot: record::boot(), at: Stamp::now() })?;
    let text = format!("its supervisor could not be started ({TRIES} tries): {said}");
    let outcome = Outcome::of(OutcomeKind::FailedToStart).with(text);
    let end = End { outcome, at: Stamp::now(), peak_memory: None };
    record.ended(&end)?;
    Ok(Standing::Ended(end.outcome, end.at))
}

/// Starts a supervisor and gives the number of its process. Blocks until it has been forked.
fn spawn(program: &Path, folder: &Folder) -> io::Result<i32> {
    let mut command = Command::new(program);
    command.arg("stepd").arg(&folder.0).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn()?;
    let mut text = String::new();
    if let Some(out) = &mut child.stdout {
        // The supervisor itself closes its copy at once.
        out.read_to_string(&mut text)?;
    }
    child.wait()?;
    text.trim().parse().map_err(|_| io::Error::other("hpvm stepd could not be started"))
}

impl Driver for Embedded {
    fn attend(&mut self, job: &Job) -> Standing {
        let standing = self.stand(job).unwrap_or_else(|error| {
            Standing::Later(format!("it cannot be started or looked at now: {error}"))
        });
        if matches!(standing, Standing::Ended(..)) {
            self.gone(job.attempt());
            self.tries.remove(&job.attempt());
        }
        standing
    }

    fn gone(&mut self, attempt: Attempt) {
        self.watched.remove(&attempt);
    }

    fn cancel(&mut self, job: &Job, by: &str) {
        let folder = self.place.folder(job.attempt());
        if !folder.cancel().exists() {
            // Without it the job ends all the same, only nobody's name is told.
            let _ = replace(&folder.cancel(), by.as_bytes(), 0o600);
        }
        // Nobody holds the lock: who takes it finds the file. The manager asks again.
        let Ok(Some(pid)) = record::holder(&folder) else { return };
        let Ok(process) = sys::pidfd(pid) else { return };
        if record::holder(&folder).is_ok_and(|holder| holder == Some(pid)) {
            let _ = watch::signal(&process, libc::SIGTERM);
        }
    }

    fn remove(&mut self, attempt: Attempt) -> Result<(), String> {
        let folder = self.place.folder(attempt).0;
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(format!("{}: {error}", folder.display()))
            }
            _ => Ok(()),
        }
    }
}
