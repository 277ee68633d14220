//! Slurm behind the same words: jobs are Slurm's, and nothing is scheduled by us.
//!
//! Slurm's own commands are asked ([`run`]): they know where the controller is and who may what, and
//! have the same form in all versions. [`rows`] reads what squeue says, [`nodes`] what sinfo says,
//! [`submit`] hands in; the server's store mirrors it ([`crate::store::mirror`]), so that lists,
//! pages, events and history are the same as of the embedded queue, and remember what Slurm forgets.

pub mod nodes;
pub mod rows;
mod run;
mod step;
pub mod submit;

use std::collections::BTreeMap;

use crate::job::{Job, JobId, JobSummary, Outcome, OutcomeKind, State};
use crate::time::Stamp;
use nodes::{Node, Partition};
use run::{Failed, run};

/// Jobs of which the details are asked at once: as many as the controller answers in a moment.
const DETAILS: usize = 50;

/// What Slurm says of all jobs, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub jobs: Vec<Job>,
}

/// The way to a Slurm.
#[derive(Clone, Debug, Default)]
pub struct Slurm;

impl Slurm {
    /// Whether a Slurm answers here; with why not.
    pub fn find() -> Result<Slurm, String> {
        run("scontrol", &["ping"], None).map(|_| Slurm).map_err(|failed| failed.text())
    }

    /// All jobs that Slurm knows, the ended of the last minutes included.
    pub fn jobs(&self) -> Result<Seen, String> {
        self.squeue(&[])
    }

    /// One job, or the jobs of an array.
    pub fn job(&self, id: JobId) -> Result<Seen, String> {
        self.squeue(&["-j", &id.to_string()])
    }

    fn squeue(&self, more: &[&str]) -> Result<Seen, String> {
        let mark = rows::mark()?;
        let format = rows::format(&mark);
        let args = [&["--noheader", "--all", "--states=all", "--format", &format], more].concat();
        let text = run("squeue", &args, None).map_err(|failed| failed.text())?;
        Ok(Seen { jobs: rows::parse(&text, &mark, Stamp::now()) })
    }

    /// How jobs ended: by the controller while it remembers, by the accounting afterwards. What
    /// neither knows is said to be unknown.
    pub fn outcomes(&self, ended: &mut [Job]) {
        for job in ended.iter_mut().take(DETAILS) {
            let known = self.details(job.id()).ok().and_then(|fields| rows::outcome(&fields));
            if let Some(outcome) = known.or_else(|| self.accounted(job)) {
                job.summary.outcome = Some(outcome);
            }
        }
    }

    /// A job that squeue no longer knows: how it ended.
    pub fn vanished(&self, before: &JobSummary, now: Stamp) -> Job {
        let mut summary = before.clone();
        summary.state = State::Ended;
        summary.cancelling = false;
        summary.reason = None;
        summary.estimated_start = None;
        summary.ended = Some(now);
        let mut job = Job { summary, spec: Default::default(), allocation: Vec::new() };
        let outcome = self.accounted(&mut job);
        job.summary.outcome = outcome.or_else(|| {
            let text = "Slurm no longer knows how the job ended, and keeps no accounting";
            Some(Outcome::of(OutcomeKind::Unknown).with(text))
        });
        job
    }

    /// What the accounting says, with the times of start and end.
    fn accounted(&self, job: &mut Job) -> Option<Outcome> {
        let id = job.id().to_string();
        let format = "--format=State,ExitCode,Start,End";
        let args = ["--noheader", "--parsable2", "--allocations", "--jobs", &id, format];
        let text = run("sacct", &args, None).ok()?;
        let mut words = text.lines().next()?.split('|');
        let (state, code) = (words.next()?, words.next()?);
        let time = |word: Option<&str>| word.and_then(|word| word.parse::<i64>().ok());
        let start = time(words.next()).map(|seconds| Stamp(seconds * 1000));
        let end = time(words.next()).map(|seconds| Stamp(seconds * 1000));
        job.summary.started = start.or(job.summary.started);
        job.summary.ended = end.max(job.summary.started).or(job.summary.ended);
        rows::ended(state, code)
    }

    /// What `scontrol show job` says, by name.
    pub fn details(&self, id: JobId) -> Result<BTreeMap<String, String>, String> {
        let id = id.to_string();
        let text = run("scontrol", &["--oneliner", "show", "job", &id], None);
        // Only the first line: a name may hold a line's end.
        let text = text.map_err(|failed| failed.text())?;
        Ok(rows::fields(text.lines().next().unwrap_or_default()))
    }

    /// Ends a job, an array, a task of one (`12_3`), or several (`12_[1-3,7]`); the same words for
    /// the next two.
    pub fn cancel(&self, name: &str) -> Result<(), String> {
        act("scancel", &[name])
    }

    pub fn hold(&self, name: &str) -> Result<(), String> {
        act("scontrol", &["hold", name])
    }

    pub fn release(&self, name: &str) -> Result<(), String> {
        act("scontrol", &["release", name])
    }

    /// Gives a node no new jobs.
    pub fn drain(&self, node: &str, reason: &str) -> Result<(), String> {
        let words = [format!("NodeName={node}"), format!("Reason={reason}")];
        act("scontrol", &["update", &words[0], "State=DRAIN", &words[1]])
    }

    pub fn resume(&self, node: &str) -> Result<(), String> {
        act("scontrol", &["update", &format!("NodeName={node}"), "State=RESUME"])
    }

    pub fn nodes(&self) -> Result<Vec<Node>, String> {
        let text = run("sinfo", &["--noheader", "--Node", "--format", nodes::NODES], None);
        text.map(|text| nodes::nodes(&text)).map_err(|failed| failed.text())
    }

    pub fn partitions(&self) -> Result<Vec<Partition>, String> {
        let text = run("sinfo", &["--noheader", "--format", nodes::PARTITIONS], None);
        text.map(|text| nodes::partitions(&text)).map_err(|failed| failed.text())
    }
}

fn act(program: &str, args: &[&str]) -> Result<(), String> {
    run(program, args, None).map(|_| ()).map_err(|failed: Failed| failed.text())
}
