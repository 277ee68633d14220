//! What goes over the link.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;
use crate::job::{Job, JobId, Outcome};
use crate::time::Stamp;

/// Which orders are newer: first the life of the server, then the change in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    pub epoch: u64,
    pub number: u64,
}

/// All that the server wants of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// Of the store: jobs of another one have the same numbers and are others.
    pub queue: u64,
    /// What the marks of jobs begin with, by which their processes are known on every host.
    pub marks: String,
    /// Jobs run as their submitters.
    #[serde(default)]
    pub system: bool,
    pub version: Version,
    pub jobs: Vec<Ordered>,
    /// Jobs whose records the server cannot read. It can neither want them nor not: whatever the
    /// host has of them stays as it is.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub set_aside: BTreeSet<JobId>,
    /// What somebody looks at now. It comes and goes with those who look, so the version does not count it.
    #[serde(default, skip_serializing_if = "Looks::is_none")]
    pub looks: Looks,
}

/// The jobs of a host at whose ranks somebody looks: the host tells of them as long as they are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    /// Another one when the jobs are others.
    pub number: u64,
    pub jobs: BTreeMap<JobId, Parts>,
}

impl Looks {
    fn is_none(&self) -> bool {
        *self == Looks::default()
    }
}

/// What of the ranks of a job is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parts {
    /// What they do, for whom they wait, what they have counted.
    pub ranks: bool,
    /// Who has sent how much to whom.
    pub traffic: bool,
    /// What the kernel and the processor count for them.
    pub events: bool,
}

impl Parts {
    pub fn any(self) -> bool {
        self.ranks || self.traffic || self.events
    }

    /// Whether all that `other` asks for is here.
    pub fn hold(self, other: Parts) -> bool {
        (self.ranks || !other.ranks)
            && (self.traffic || !other.traffic)
            && (self.events || !other.events)
    }
}

/// A job that the server wants on the host. Whatever is not named shall not be there, unless it is
/// set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ordered {
    pub job: Attempt,
    /// Who wants it to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<String>,
    /// Everything about it, unless the host has told that it has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

/// What a host needs to run a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    pub job: Box<Job>,
    /// The supervisor runs elsewhere; here are only ranks that it has started.
    pub part: bool,
}

/// All that a host has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Of the host's data folder.
    pub identity: String,
    /// The life of `hpvm node`, and the report in it.
    pub session: u64,
    pub number: u64,
    /// The orders that it has carried out.
    pub seen: Version,
    pub jobs: Vec<Told>,
    /// The largest number of a job of the queue that the host has ever had: a server whose store was
    /// restored from a copy gives numbers above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<Newest>,
    /// The text of its [`Processors`](crate::processors::Processors).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub processors: String,
}

/// See [`Report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Newest {
    pub queue: u64,
    pub job: JobId,
}

/// How a job stands on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    pub job: Attempt,
    pub said: Said,
    /// Of ranks whose supervisor is elsewhere: how their job has ended, should it fail by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_fails: Option<Outcome>,
}

/// See [`Told`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// Somebody looks after it.
    Runs,
    /// It cannot be started now, for this reason.
    Later(String),
    /// It is over, and all of its output was sent.
    Ended(Outcome, Stamp),
}
