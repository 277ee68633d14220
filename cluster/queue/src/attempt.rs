//! One attempt to run a job: the first, or one after a restart. Hosts, folders and processes know
//! attempts, so that what is left of one is never taken for the next.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::job::{Job, JobId};

/// Ordered by job, then in time. Written as `7`, and after two restarts as `7.2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Attempt {
    pub job: JobId,
    /// How often the job was started before.
    pub restarts: u32,
}

/// The first attempt is a number, as all were before jobs were started again.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    First(JobId),
    Later(String),
}

impl Attempt {
    /// The first of a job.
    pub fn first(job: JobId) -> Attempt {
        Attempt { job, restarts: 0 }
    }

    /// All of a job, in order.
    pub fn all(job: &Job) -> impl Iterator<Item = Attempt> {
        let id = job.id();
        (0..=job.summary.restarts).map(move |restarts| Attempt { job: id, restarts })
    }
}

impl From<Attempt> for Written {
    fn from(attempt: Attempt) -> Written {
        match attempt.restarts {
            0 => Written::First(attempt.job),
            _ => Written::Later(attempt.to_string()),
        }
    }
}

impl TryFrom<Written> for Attempt {
    type Error = String;

    fn try_from(written: Written) -> Result<Attempt, String> {
        match written {
            Written::First(job) => Ok(Attempt::first(job)),
            Written::Later(text) => text.parse(),
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.restarts {
            0 => write!(f, "{}", self.job),
            restarts => write!(f, "{}.{restarts}", self.job),
        }
    }
}

impl FromStr for Attempt {
    type Err = String;

    fn from_str(text: &str) -> Result<Attempt, String> {
        let (job, restarts) = text.split_once('.').unwrap_or((text, "0"));
        let numbers = job.parse().ok().zip(restarts.parse().ok());
        let attempt = numbers.map(|(job, restarts)| Attempt { job, restarts });
        // There is one way to write each: names of folders are read, too.
        attempt
            .filter(|attempt| attempt.to_string() == text)
            .ok_or_else(|| format!("'{}' is no attempt of a job", text.escape_debug()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_and_read() {
        for (job, restarts, text, json) in [(7, 0, "7", "7"), (7, 2, "7.2", "\"7.2\"")] {
            let attempt = Attempt { job, restarts };
            assert_eq!((attempt.to_string().as_str(), text.parse()), (text, Ok(attempt)));
            assert_eq!(serde_json::to_string(&attempt).unwrap(), json);
            assert_eq!(serde_json::from_str::<Attempt>(json).unwrap(), attempt);
        }
        for bad in ["", "x", "7.", ".7", "7.0", "07", "+7", "7.1.1", "7.-1"] {
            assert!(bad.parse::<Attempt>().is_err(), "{bad}");
        }
    }
}
