//! What requests and answers look like, beside the types of `hpvm-queue`.

use hpvm_monitor::HostSample;
use hpvm_queue::job::{JobSpec, JobSummary, Share};
use hpvm_queue::policy::Resources;
use hpvm_queue::store::rules::{Drained, QueueLimits};
use hpvm_queue::time::Stamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What went wrong with one field of a request.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct FieldError {
    /// The field, as it is named in the request.
    pub field: String,
    pub detail: String,
}

/// An error (RFC 9457).
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct Problem {
    /// What kind of error, in a few words that do not change.
    pub title: String,
    /// This error: cause, offending value, what to do.
    pub detail: String,
    pub status: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

/// Signing in: either user and password, or the token of a one-time link.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignIn {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// Who is signed in.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Session {
    pub user: String,
    /// `admin`, `user`, `viewer`.
    pub roles: Vec<String>,
}

/// Signing in for a token that lasts three months, as `hpvm login` does.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Login {
    pub sign_in: SignIn,
    /// What the token is called in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What somebody may do.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything: all jobs, users, limits, hosts.
    Admin,
    /// Jobs of one's own.
    #[default]
    User,
    /// Sees hosts, queues and own jobs; changes nothing.
    Viewer,
}

/// A user.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct User {
    pub name: String,
    pub role: Role,
    /// Whether a password was set: without one, a link signs in.
    pub has_password: bool,
    /// Whether they have started the server, and so stay its administrator.
    pub owner: bool,
}

/// The users.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Users {
    pub users: Vec<User>,
}

/// A user to be made.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    pub name: String,
    #[serde(default)]
    pub role: Role,
    /// At least 8 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// Another role of a user.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleChange {
    pub role: Role,
}

/// Another password of a user; it ends their sessions.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPassword {
    /// At least 8 characters.
    pub password: String,
}

/// A token of a program.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Token {
    pub id: i64,
    pub user: String,
    pub name: String,
    /// `read`; `jobs` submits and ends jobs, too; `admin` all that an administrator may.
    pub scopes: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires: Option<Stamp>,
    /// Its last use, to the hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub used: Option<Stamp>,
}

/// Tokens.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Tokens {
    pub tokens: Vec<Token>,
}

/// A token to be made.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub name: String,
    /// Some of `read`, `jobs`, `admin`.
    pub scopes: Vec<String>,
    /// How long it lasts; without it, until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_seconds: Option<u64>,
}

/// A token, which is told this once: the server keeps its hash.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct MadeToken {
    /// To be sent as `Authorization: Bearer TOKEN`.
    pub token: String,
    pub about: Token,
}

/// An entry of the audit log.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct AuditEntry {
    pub id: i64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Stamp,
    pub user: String,
    /// An address, or `socket`.
    pub origin: String,
    pub action: String,
    pub target: String,
}

/// A page of the audit log, newest first.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct AuditLog {
    pub entries: Vec<AuditEntry>,
    /// Ask with it as `before` for older ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<i64>,
}

/// Why a host shall get no new jobs.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainReason {
    pub reason: String,
}

/// A link that signs in once, within an hour.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Link {
    pub url: String,
}

/// A new password of the user who is signed in; it ends all other sessions.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPassword {
    /// The present one, unless none was set yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// At least 8 characters.
    pub new: String,
}

/// Whether an action is possible now.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Action {
    pub allowed: bool,
    /// A sentence, when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// What may be done with a job now.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Actions {
    pub cancel: Action,
    pub hold: Action,
    pub release: Action,
    pub delete: Action,
}

/// Bytes written so far.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct OutputSizes {
    pub stdout: u64,
    /// The same as `stdout` when both go to one file.
    pub stderr: u64,
}

/// A job with all there is to know.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Job {
    #[serde(flatten)]
    pub summary: JobSummary,
    pub spec: JobSpec,
    pub actions: Actions,
    /// The job's own, 128 + signal, 124 for a time limit; only of a job that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub output: OutputSizes,
    /// What it holds of each of its hosts, or held; empty before it has started, and for jobs of Slurm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocation: Vec<Share>,
    /// The command line that would submit the same.
    pub command_line: String,
}

/// A page of a list.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct JobList {
    pub jobs: Vec<JobSummary>,
    /// Ask with it for what follows; missing on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

/// What a job would be, without submitting it.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Validated {
    /// The command line that would submit it.
    pub command_line: String,
    /// When it would start at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub estimated_start: Option<Stamp>,
}

/// What a rank does.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RankState {
    /// It runs, in the program or in MPI: from outside both look the same.
    Computing,
    /// It is inside MPI and polls.
    Mpi,
    /// It sleeps until something comes.
    Sleeping,
    /// It has not called MPI_Init yet.
    Starting,
    /// It has called MPI_Finalize, or has ended.
    Finished,
}

/// A rank of a running job.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct Rank {
    pub rank: u32,
    pub host: String,
    pub pid: u32,
    pub state: RankState,
    /// The ranks it waits for, when it sleeps and that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<u32>,
    /// What it waits for, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// How long it has slept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_seconds: Option<f64>,
    /// The processor that it ran on last; missing where its process cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<u32>,
    /// Bytes of memory that it has now, those that it shares with others included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    pub counters: BTreeMap<String, u64>,
}

/// The ranks of a running job.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct Ranks {
    pub ranks: Vec<Rank>,
    /// What can be said about a job that does not go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// What is missing, and why: a host that tells nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An event that the kernel or the processor counts.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct CountedEvent {
    pub name: String,
    /// `ns` or `count`.
    pub unit: String,
}

/// An event of a rank, since counting began.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct Counted {
    /// For the whole time; not there if it was never counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Part of the time in which it was counted, 0 to 1.
    pub coverage: f64,
    /// The true value lies within so much of it in 95 of 100 cases; not there if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// The events of a rank.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct RankCounters {
    pub rank: u32,
    pub host: String,
    pub pid: i32,
    /// In the order of the events.
    pub values: Vec<Counted>,
}

/// Events of the ranks of a running job.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct Counters {
    /// Seconds since counting began.
    pub elapsed_seconds: f64,
    pub events: Vec<CountedEvent>,
    pub ranks: Vec<RankCounters>,
    /// What is not counted, and why.
    pub notes: Vec<String>,
}

/// Who sent how much to whom.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Matrix {
    pub size: u32,
    /// Sender, receiver, value; pairs that did not talk are missing.
    #[schema(value_type = Vec<Vec<u64>>)]
    pub entries: Vec<(u64, u64, u64)>,
    /// What is missing, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Whether a host takes part.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HostState {
    Up,
    /// Goes on, but gets no new jobs.
    Drained,
    /// Without a sign of life.
    Lost,
}

/// A host.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct Host {
    pub name: String,
    pub state: HostState,
    #[schema(value_type = String, format = DateTime)]
    pub last_seen: Stamp,
    /// Processors that jobs may reserve.
    pub cpus: u32,
    /// Processors reserved now.
    pub cpus_reserved: u32,
    /// Bytes.
    pub memory: u64,
    /// Graphics processors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gpus: u32,
    /// Why it is drained, and by whom; or why the server could not start it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last sample; missing where none was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<HostSample>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Host {
    /// One that reports now, of which nothing else is known yet.
    pub fn up(name: &str, capacity: Resources) -> Host {
        Host {
            name: name.into(),
            state: HostState::Up,
            last_seen: Stamp::now(),
            cpus: capacity.cpus,
            cpus_reserved: 0,
            memory: capacity.memory,
            gpus: capacity.gpus,
            reason: None,
            sample: None,
        }
    }

    /// Says whether an administrator has drained it.
    pub fn mark_drained(&mut self, drained: &BTreeMap<String, Drained>) {
        let found = drained.get(&self.name);
        self.reason = found.map(|drained| format!("{} ({})", drained.reason, drained.user));
        self.state = match (self.state, found) {
            (HostState::Lost, _) => HostState::Lost,
            (_, Some(_)) => HostState::Drained,
            (_, None) => HostState::Up,
        };
    }
}

/// The hosts.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct Hosts {
    pub hosts: Vec<Host>,
}

/// What `hpvm node` reports each second.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeReport {
    /// The jobs there, and which orders it has; numbered, so that an old one is dropped.
    #[schema(value_type = Object)]
    pub report: hpvm_queue::node::Report,
    pub capacity: hpvm_queue::node::Capacity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<HostSample>,
}

/// How much of an output the server has.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Received {
    pub size: u64,
}

/// A queue.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct QueueInfo {
    pub name: String,
    pub hosts: Vec<String>,
    pub pending: u64,
    pub running: u64,
    #[serde(default)]
    pub limits: QueueLimits,
}

/// The queues.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Queues {
    pub queues: Vec<QueueInfo>,
}

/// Where the bounds are.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Limits {
    pub script_bytes: u64,
    pub array_tasks: u32,
    pub active_jobs: u64,
    pub output_chunk_bytes: u64,
    pub page: u32,
}

/// About the server.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Info {
    pub version: String,
    /// `embedded`, `slurm`.
    pub mode: String,
    /// The hpvm program on the server, and on hosts that run its jobs.
    pub program: String,
    pub limits: Limits,
    #[schema(value_type = String, format = DateTime)]
    pub time: Stamp,
    /// What the server cannot do now, as sentences: a full disk, a damaged record.
    pub problems: Vec<String>,
}

/// The first event of a stream that does not resume.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct Snapshot {
    /// Jobs that have not ended, and the last that have; newest first.
    pub jobs: Vec<JobSummary>,
    /// There are more jobs than these.
    pub truncated: bool,
    pub hosts: Vec<Host>,
    /// Events from here on follow.
    pub cursor: i64,
}

/// A job's record was removed.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct JobRemoved {
    pub id: i64,
}

/// What the server cannot do now: when a stream begins, and when it has changed.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Problems {
    /// As in [`Info`].
    pub problems: Vec<String>,
}

/// From here on events are live.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct CaughtUp {
    pub cursor: i64,
}
