//! Looking at the ranks of running jobs: what they do, who has sent how much to whom, what is counted for
//! them.
//!
//! Ranks show it in shared memory, so only a process on their host can look ([`here`]): the server itself, `hpvm
//! node`, or in a Slurm a step inside of the job ([`step`]). They tell of it as long as somebody asks
//! ([`wanted`]), and what they tell is checked ([`check`]) and put together ([`gather`]).

pub mod check;
pub mod frames;
pub mod gather;
pub mod step;
pub mod wanted;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::counters::Counting;
use crate::api::types::{Counters, Rank, RankState};
use hpvm_monitor::jobs::diagnose::{self, State as Shown};
use hpvm_monitor::jobs::find::{self, Of, Scope, Segment};
use hpvm_monitor::jobs::{Look, look, process, traffic};
use hpvm_queue::driver::{Settings, account_of};
use hpvm_queue::job::{Job, JobId};
use hpvm_queue::node::Parts;

/// The last end of a character within so many bytes.
fn boundary(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rfind(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// What one host tells of the ranks of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JobLook {
    /// Of the host's data folder, as in its reports.
    pub identity: String,
    /// What of it was looked at.
    #[schema(value_type = Object)]
    pub parts: Parts,
    /// Each start of a program with ranks on this host.
    pub launches: Vec<Launch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// What is missing, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The ranks of one launch on one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Launch {
    /// Ranks on all hosts.
    pub size: u32,
    pub ranks: Vec<Rank>,
    /// What can be said about ranks that do not go on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Sender, receiver, messages, bytes; missing when the ranks do not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Vec<u64>>>)]
    pub sent: Option<Vec<(u32, u32, u64, u64)>>,
}

/// Whose ranks are looked at, from which host.
#[derive(Clone, Debug)]
pub struct Subject {
    pub id: JobId,
    pub scope: Scope,
    /// Name of this host.
    pub host: String,
}

impl Subject {
    /// For a job of our own queue on this machine.
    pub fn of(settings: &Settings, job: &Job) -> Subject {
        let node = job.summary.hosts.iter().position(|host| *host == settings.host);
        // As root we see the processes of all users.
        let owner =
            settings.system.then(|| account_of(&job.summary.user).map_or(u32::MAX, |a| a.uid));
        Subject {
            id: job.id(),
            scope: Scope {
                of: Of::Job(settings.mark(job.attempt())),
                owner,
                node: node.and_then(|node| u32::try_from(node).ok()),
            },
            host: settings.host.clone(),
        }
    }
}

/// Looks at the ranks of a job on this host.
pub fn here(subject: &Subject, parts: Parts, counting: &Counting) -> JobLook {
    let mut told = JobLook { parts, ..JobLook::default() };
    if parts.ranks || parts.traffic {
        for segment in find::segments(find::jobs_in(&subject.scope)) {
            match launch(&segment, subject, parts) {
                Ok(launch) => told.launches.push(launch),
                Err(error) => told.notes.push(format!("host {}: {error}", subject.host)),
            }
        }
    }
    told.counters = parts.events.then(|| counting.read(subject));
    check::trim(&mut told, &subject.host);
    told
}

fn launch(segment: &Segment, subject: &Subject, parts: Parts) -> Result<Launch, String> {
    let Segment { view, job } = segment;
    let seen = look(view, job).map_err(|error| error.to_string())?;
    let size = job.size.unwrap_or(0).max(u32::try_from(seen.ranks.len()).unwrap_or(u32::MAX));
    let mut launch = Launch { size, ..Launch::default() };
    if parts.ranks {
        launch.ranks = shown(&seen, &subject.host, &job.processes);
        launch.findings = seen.findings();
    }
    if parts.traffic {
        let matrix = traffic::matrix(view, &seen, job).map_err(|error| error.to_string())?;
        let row =
            |(pair, sum): (&(u32, u32), &traffic::Sum)| (pair.0, pair.1, sum.messages, sum.bytes);
        launch.sent = matrix.map(|matrix| matrix.pairs.iter().map(row).collect());
    }
    Ok(launch)
}

/// `processes` are those of the job, in ascending order: a rank in a container shows a number that is another's here.
fn shown(look: &Look, host: &str, processes: &[i32]) -> Vec<Rank> {
    let both = look.ranks.iter().zip(&look.states).enumerate();
    both.map(|(index, (seen, state))| {
        let own = i32::try_from(seen.pid).is_ok_and(|pid| processes.binary_search(&pid).is_ok());
        let placed = if own { process::of(seen.pid) } else { None };
        let mut rank = Rank {
            rank: u32::try_from(look.rank(index)).unwrap_or(u32::MAX),
            host: host.into(),
            pid: seen.pid,
            state: match state {
                Shown::Starting => RankState::Starting,
                Shown::Running => RankState::Computing,
                Shown::Sleeping { .. } => RankState::Sleeping,
                Shown::Finalized | Shown::Gone => RankState::Finished,
            },
            waits_for: Vec::new(),
            operations: Vec::new(),
            since_seconds: None,
            processor: placed.map(|placed| placed.processor),
            memory: placed.map(|placed| placed.memory),
            counters: seen.counters.iter().map(|(name, n)| (name.to_string(), *n)).collect(),
        };
        if let Shown::Sleeping { seconds, records, .. } = state {
            rank.since_seconds = Some(*seconds);
            rank.operations = records.iter().map(diagnose::describe).collect();
            let mut waits: Vec<u32> =
                records.iter().filter_map(|record| u32::try_from(record.process).ok()).collect();
            waits.sort_unstable();
            waits.dedup();
            rank.waits_for = waits;
        }
        rank
    })
    .collect()
}
