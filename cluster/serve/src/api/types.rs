//! What requests and answers look like, beside the types of `hpvm-queue`.

use hpvm_monitor::HostSample;
use hpvm_queue::job::{JobSpec, JobSummary};
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
    /// `admin`, `user`.
    pub roles: Vec<String>,
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
    pub counters: BTreeMap<String, u64>,
}

/// The ranks of a running job.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct Ranks {
    pub ranks: Vec<Rank>,
    /// What can be said about a job that does not go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// Who sent how much to whom.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct Matrix {
    pub size: u32,
    /// Sender, receiver, value; pairs that did not talk are missing.
    #[schema(value_type = Vec<Vec<u64>>)]
    pub entries: Vec<(u64, u64, u64)>,
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
    /// The last sample; missing where none was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<HostSample>,
}

/// The hosts.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, ToSchema)]
pub struct Hosts {
    pub hosts: Vec<Host>,
}

/// A queue.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct QueueInfo {
    pub name: String,
    pub hosts: Vec<String>,
    pub pending: u64,
    pub running: u64,
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

/// From here on events are live.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
pub struct CaughtUp {
    pub cursor: i64,
}
