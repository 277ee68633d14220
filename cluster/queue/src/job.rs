//! What a job is: how it was asked for, where it stands, how it ended. These types are stored as
//! JSON and are the API's at the same time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::attempt::Attempt;
use crate::time::Stamp;

/// Number of a job: counted from 1, never used again.
pub type JobId = i64;

/// Where a job stands.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Recorded, not yet looked at by the policy.
    Submitted,
    /// Kept from starting until it is released.
    Held,
    /// Waits; `reason` says for what.
    Pending,
    /// Its supervisor was started, or is about to be.
    Running,
    /// Over; `outcome` says how.
    Ended,
}

impl State {
    /// All states, in the order of a job's life.
    pub const ALL: [State; 5] =
        [State::Submitted, State::Held, State::Pending, State::Running, State::Ended];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            State::Submitted => "submitted",
            State::Held => "held",
            State::Pending => "pending",
            State::Running => "running",
            State::Ended => "ended",
        }
    }

    /// The inverse of [`State::name`].
    pub fn parse(text: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.name() == text)
    }
}

/// In which manner a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// By itself, with `code`.
    Exit,
    /// By `signal`, not sent by hpvm.
    Signal,
    /// Ended when its time was over.
    TimeLimit,
    /// Ended because it used more memory than it had asked for.
    MemoryLimit,
    /// Ended because it had, or wanted, more processes than it had asked for.
    ProcessLimit,
    /// By its owner or an administrator.
    Cancelled,
    /// Its host or its supervisor was lost, and what was left of it was ended.
    NodeLost,
    /// Not one instruction of it ran; `detail` says why.
    FailedToStart,
    /// The queue that ran it no longer knows.
    Unknown,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Outcome {
    pub kind: OutcomeKind,
    /// Exit code, for `exit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// Number of the signal, for `signal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// A sentence, when there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Outcome {
    /// An outcome of this kind without more to say.
    pub fn of(kind: OutcomeKind) -> Outcome {
        Outcome { kind, code: None, signal: None, detail: None }
    }

    /// The job ended by itself.
    pub fn exit(code: i32) -> Outcome {
        Outcome { code: Some(code), ..Outcome::of(OutcomeKind::Exit) }
    }

    /// With a sentence.
    pub fn with(self, detail: impl Into<String>) -> Outcome {
        Outcome { detail: Some(detail.into()), ..self }
    }

    /// The exit code that stands for it: the job's own, 128 + signal, 124 for a time limit.
    pub fn exit_code(&self) -> i32 {
        match self.kind {
            OutcomeKind::Exit => self.code.unwrap_or(1),
            OutcomeKind::Signal => 128 + self.signal.unwrap_or(0),
            OutcomeKind::TimeLimit => 124,
            OutcomeKind::Cancelled => 128 + 15,
            OutcomeKind::MemoryLimit | OutcomeKind::ProcessLimit => 128 + 9,
            OutcomeKind::NodeLost | OutcomeKind::FailedToStart | OutcomeKind::Unknown => 1,
        }
    }

    /// Whether those who depend on success may start.
    pub fn is_success(&self) -> bool {
        self.kind == OutcomeKind::Exit && self.code == Some(0)
    }
}

/// To what a job's ranks are bound, in the words of srun's `--cpu-bind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CpuBind {
    /// To nothing, not even to the processors that the job holds.
    None,
    /// Each rank to a core, within what the job holds; the others likewise.
    Cores,
    Threads,
    Sockets,
    /// NUMA nodes.
    Ldoms,
}

impl CpuBind {
    /// All of them.
    pub const ALL: [CpuBind; 5] =
        [CpuBind::None, CpuBind::Cores, CpuBind::Threads, CpuBind::Sockets, CpuBind::Ldoms];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            CpuBind::None => "none",
            CpuBind::Cores => "cores",
            CpuBind::Threads => "threads",
            CpuBind::Sockets => "sockets",
            CpuBind::Ldoms => "ldoms",
        }
    }

    /// The inverse of [`CpuBind::name`].
    pub fn parse(text: &str) -> Option<CpuBind> {
        CpuBind::ALL.into_iter().find(|bind| bind.name() == text)
    }

    /// What the launcher calls it (`--bind-to`).
    pub fn of_launcher(self) -> &'static str {
        match self {
            CpuBind::None => "none",
            CpuBind::Cores => "core",
            CpuBind::Threads => "hwthread",
            CpuBind::Sockets => "socket",
            CpuBind::Ldoms => "numa",
        }
    }
}

/// On what kind of end of another job one depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DependKind {
    /// It ended with code 0.
    AfterOk,
    /// It ended, in whatever manner.
    AfterAny,
    /// It ended, but not with code 0.
    AfterNotOk,
}

/// A job that has to end first; of an array, all its tasks, or one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Dependency {
    pub kind: DependKind,
    /// Number of a job, or of an array.
    #[schema(value_type = i64)]
    pub job: JobId,
    /// This task of the array only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
}

/// A job as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JobSpec {
    /// Shown in lists; without one the program's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Program and arguments, started as `hpvm run -n RANKS`. Either this or `script`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Text of a script, which runs once and calls `mpirun` itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Arguments of the script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Number of ranks.
    #[schema(minimum = 1, default = 1)]
    pub ranks: u32,
    /// Number of hosts; without it one, or as many as the ranks need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Hosts that the job may run on, and no others; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Processors reserved for each rank; without it 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_per_rank: Option<u32>,
    /// To what its ranks are bound. Without it the job is bound to the processors that it holds, and its
    /// ranks run anywhere on them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_bind: Option<CpuBind>,
    /// After so many seconds the job is ended; without it, never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit_seconds: Option<u64>,
    /// Memory of all its processes on a host; a job that uses more is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processes and threads that it has at once on the host of its script or launcher, those of the launcher
    /// included; a job that has more is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_processes: Option<u32>,
    /// Graphics processors, in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// Queue; without it the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// From -1000 to 1000; more starts earlier. A minute of waiting counts as much as 1.
    #[schema(default = 0)]
    pub priority: i32,
    /// Do not start it before it is released.
    pub hold: bool,
    /// How often at most it is started again, when a host is lost or a rank is killed by a signal.
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(default = 0, maximum = 1000)]
    pub max_restarts: u32,
    /// Jobs that have to end first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// One job for each number of a list like `0-9`, `1,3,5-20:5`; `%2` at the end lets two run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// Variables set for the job, beside those that the server passes on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// File mode creation mask of the job, of the submitter's shell as a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
    /// Soft limits of the job by their names in prlimit(1) (`nofile`, `core`, ...), as far as the
    /// host's hard limits allow; the largest number stands for none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// Absolute path of the folder to run in; without it the home folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// File for standard output, with sbatch's patterns (`%j %x %u %a %A %N`), from `workdir`.
    /// Without it, the server keeps the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// The same for standard error. When only `stdout` is given, both go there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}

impl Default for JobSpec {
    fn default() -> Self {
        JobSpec {
            name: None,
            command: Vec::new(),
            script: None,
            args: Vec::new(),
            ranks: 1,
            nodes: None,
            hosts: Vec::new(),
            cpus_per_rank: None,
            cpu_bind: None,
            time_limit_seconds: None,
            memory_bytes: None,
            max_processes: None,
            gpus: None,
            queue: None,
            priority: 0,
            hold: false,
            max_restarts: 0,
            depends_on: Vec::new(),
            array: None,
            env: BTreeMap::new(),
            umask: None,
            limits: BTreeMap::new(),
            workdir: None,
            stdout: None,
            stderr: None,
        }
    }
}

/// The place of a job in an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArrayTask {
    /// Number of the array: that of its first job.
    #[schema(value_type = i64)]
    pub id: JobId,
    /// Which number of the list this job is for.
    pub task: u32,
    /// How many of the array may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
}

/// A job in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobSummary {
    #[schema(value_type = i64)]
    pub id: JobId,
    pub name: String,
    pub user: String,
    pub state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why it is not running yet, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it starts at the latest, if all that run now keep to their time limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub estimated_start: Option<Stamp>,
    pub ranks: u32,
    /// The hosts it runs on.
    pub hosts: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    pub submitted: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_seconds: Option<u64>,
    pub queue: String,
    pub priority: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayTask>,
    /// It is being ended: a cancel was asked for and has not yet had its effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelling: bool,
    /// How often it was started again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u32,
    /// How the attempt before this one ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Outcome>,
    /// Before this time it is not started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub eligible: Option<Stamp>,
    /// The tasks of an array that this record stands for, as Slurm writes them: `1-9%2`. Each has a record of
    /// its own once it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What a job holds of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Share {
    pub host: String,
    pub ranks: u32,
    /// How many processors.
    pub cpus: u32,
    /// Bytes; 0 when none was asked for.
    pub memory: u64,
    /// The numbers of its processors, as the kernel counts them. Missing where the queue does not know
    /// those of the host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<u32>,
    /// The numbers of its graphics processors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<u32>,
}

/// A job with everything that is stored of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub summary: JobSummary,
    pub spec: JobSpec,
    /// What it holds since it was started; its supervisor runs on the first of the hosts. Empty for
    /// jobs of another queue.
    #[serde(default)]
    pub allocation: Vec<Share>,
    /// The number of its user on the server's host, for other hosts of system mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
}

impl Job {
    pub fn id(&self) -> JobId {
        self.summary.id
    }

    /// The attempt that runs, or the next one or the last.
    pub fn attempt(&self) -> Attempt {
        Attempt { job: self.summary.id, restarts: self.summary.restarts }
    }

    pub fn state(&self) -> State {
        self.summary.state
    }

    /// Its ranks: at least one on each host that it asks for.
    pub fn ranks(&self) -> u32 {
        self.spec.ranks.max(self.spec.nodes.unwrap_or(1))
    }

    /// The host of its supervisor, once it was started.
    pub fn first_host(&self) -> Option<&str> {
        self.summary.hosts.first().map(String::as_str)
    }
}
