//! How jobs ended: the controller is asked while it remembers, the accounting afterwards.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Instant;

use super::asking::{Answer, Asking, Verdict};
use super::run::{Failed, run};
use super::{Slurm, rows};
use crate::job::{Job, JobId, JobSummary, State};
use crate::time::Stamp;

/// What is asked of sacct; of the number of an array it tells all tasks, so each row says whose it is.
const FORMAT: &str = "--format=JobIDRaw,State,ExitCode,Start,End";

/// What one of Slurm's commands said when it failed last in this round: it is not asked again in it.
type Failing = BTreeMap<&'static str, String>;

impl Slurm {
    /// Whether this job, which has ended, may be asked for now.
    pub fn is_due(&self, id: JobId) -> bool {
        self.asking().is_due(id, Instant::now())
    }

    /// Ended jobs with how they ended. Those of which Slurm does not say it now are as they were before,
    /// with why; they have to be given again. What Slurm does not know is said to be unknown.
    pub fn outcomes(&self, ended: Vec<Job>) -> Vec<Job> {
        let mut failing = Failing::new();
        ended.into_iter().map(|job| self.outcome(job, State::Running, &mut failing)).collect()
    }

    /// The same for jobs that squeue no longer knows.
    pub fn vanished(&self, before: &[JobSummary], now: Stamp) -> Vec<Job> {
        let mut failing = Failing::new();
        let ended = |summary: &JobSummary| {
            let before = summary.state;
            let mut summary = summary.clone();
            summary.state = State::Ended;
            summary.cancelling = false;
            summary.ended = Some(now);
            let job = Job { summary, spec: Default::default(), allocation: Vec::new(), uid: None };
            self.outcome(job, before, &mut failing)
        };
        before.iter().map(ended).collect()
    }

    /// These go on, or their ends are recorded.
    pub fn settled(&self, which: impl FnMut(JobId) -> bool) {
        self.asking().forget(which);
    }

    /// What Slurm does not answer at the moment, as a sentence.
    pub fn trouble(&self) -> Option<String> {
        self.asking().trouble()
    }

    fn asking(&self) -> std::sync::MutexGuard<'_, Asking> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outcome(&self, mut job: Job, before: State, failing: &mut Failing) -> Job {
        if job.summary.outcome.is_none() {
            let answer = self.ask(&mut job, failing);
            match self.asking().told(job.id(), answer, Instant::now()) {
                Verdict::Is(outcome) => job.summary.outcome = Some(outcome),
                Verdict::Later(why) => return open(job, before, why),
            }
        }
        job.summary.reason = None;
        job.summary.estimated_start = None;
        job
    }

    fn ask(&self, job: &mut Job, failing: &mut Failing) -> Answer {
        if let Some(said) = failing.get("scontrol") {
            return Answer::Silent(said.clone());
        }
        match self.shown(job.id()) {
            Ok(fields) => {
                if let Some(outcome) = rows::outcome(&fields) {
                    return Answer::Known(outcome);
                }
            }
            Err(failed) if knows_no_such(&failed) => {}
            Err(failed) => return silent("scontrol", &failed, failing),
        }
        if let Some(said) = failing.get("sacct") {
            return Answer::Silent(said.clone());
        }
        let id = job.id().to_string();
        let args = ["--noheader", "--parsable2", "--allocations", "--jobs", &id, FORMAT];
        match run("sacct", &args, None) {
            Ok(text) => accounted(&text, job),
            Err(failed) if keeps_none(&failed) => Answer::NoJob,
            Err(failed) => silent("sacct", &failed, failing),
        }
    }
}

fn silent(program: &'static str, failed: &Failed, failing: &mut Failing) -> Answer {
    failing.insert(program, failed.text());
    Answer::Silent(failed.text())
}

/// As it is until Slurm says how it ended.
fn open(mut job: Job, before: State, why: String) -> Job {
    let s = &mut job.summary;
    if before == State::Running {
        s.started = s.started.or(s.ended).or(Some(s.submitted));
    }
    (s.state, s.ended, s.reason) = (before, None, Some(why));
    job
}

/// The controller answers, and has forgotten the job or never had it.
fn knows_no_such(failed: &Failed) -> bool {
    failed.said.contains("Invalid job id")
}

/// There is no accounting to ask.
fn keeps_none(failed: &Failed) -> bool {
    failed.missing || failed.said.contains("accounting storage is disabled")
}

/// What sacct says of the job; sets its times of start and end.
fn accounted(text: &str, job: &mut Job) -> Answer {
    let id = job.id().to_string();
    let row = text.lines().find_map(|line| {
        let words: Vec<&str> = line.split('|').collect();
        words.try_into().ok().filter(|[raw, ..]: &[&str; 5]| *raw == id)
    });
    let Some([_, state, code, start, end]) = row else { return Answer::NoRecord };
    let Some(outcome) = rows::ended(state, code) else { return Answer::NoEnd };
    let time = |word: &str| word.parse::<i64>().ok().map(|seconds| Stamp(seconds * 1000));
    let s = &mut job.summary;
    s.ended = time(end).or(s.ended);
    // A job that never ran has no start, or that of its end.
    let started = time(start).or(s.started);
    s.started = started.filter(|start| s.ended.is_none_or(|end| *start <= end));
    Answer::Known(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Slurm 22.05 has said it.
    const BOOKS: &str = "12|COMPLETED|0:0|1795485339|1795485341\n\
                         13|FAILED|3:0|1795485340|1795485342\n\
                         14|CANCELLED by 0|0:0|None|1795485343\n\
                         15|RUNNING|0:0|1795485344|Unknown\n";

    fn failed(said: &str) -> Failed {
        Failed { program: "sacct".into(), said: said.into(), missing: false }
    }

    fn job(id: JobId) -> Job {
        let mut job = crate::apply::tests::job(id);
        (job.summary.state, job.summary.ended) = (State::Ended, Some(Stamp(9)));
        job
    }

    #[test]
    fn the_accounting_is_read_by_number() {
        let of = |id| {
            let mut job = job(id);
            let answer = match accounted(BOOKS, &mut job) {
                Answer::Known(outcome) => Ok(outcome.exit_code()),
                other => Err(other),
            };
            (answer, job.summary.started, job.summary.ended)
        };
        let at = |seconds: i64| Some(Stamp(seconds * 1000));
        assert_eq!(of(13), (Ok(3), at(1_795_485_340), at(1_795_485_342)));
        assert_eq!(of(14), (Ok(143), None, at(1_795_485_343)), "it never ran");
        assert_eq!(of(15).0, Err(Answer::NoEnd));
        assert_eq!(of(16).0, Err(Answer::NoRecord));
    }

    #[test]
    fn errors_are_told_apart() {
        assert!(keeps_none(&failed("Slurm accounting storage is disabled\n")));
        assert!(knows_no_such(&failed("slurm_load_jobs error: Invalid job id specified\n")));
        let gone =
            failed("slurm_load_jobs error: Unable to contact slurm controller (connect failure)");
        assert!(!knows_no_such(&gone) && !keeps_none(&gone));
        let gone = failed("sacct: error: Problem talking to the database: Connection refused");
        assert!(!knows_no_such(&gone) && !keeps_none(&gone));
    }

    #[test]
    fn an_open_end_leaves_the_job_as_it_was() {
        let waits = open(job(7), State::Pending, "why".into()).summary;
        assert_eq!((waits.state, waits.started, waits.ended), (State::Pending, None, None));
        let ran = open(job(7), State::Running, "why".into()).summary;
        assert_eq!((ran.state, ran.started, ran.ended), (State::Running, Some(Stamp(9)), None));
        assert_eq!(ran.reason.as_deref(), Some("why"));
    }
}
