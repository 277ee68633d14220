//! Slurm behind the same words: jobs are Slurm's, and nothing is scheduled by us.
//!
//! Slurm's own commands are asked ([`run`]): they know where the controller is and who may what, and
//! have the same form in all versions. [`rows`] reads what squeue says, [`nodes`] what sinfo says,
//! [`submit`] hands in; the server's store mirrors it ([`crate::store::mirror`]), so that lists,
//! pages, events and history are the same as of the embedded queue, and remember what Slurm forgets.

mod asking;
pub mod ends;
pub mod nodes;
pub mod rows;
mod run;
mod step;
pub mod submit;

use std::collections::BTreeMap;

use std::sync::{Arc, Mutex};

use crate::job::{Job, JobId};
use crate::time::Stamp;
use asking::Asking;
use nodes::{Node, Partition};
use run::{Failed, run};

/// What Slurm says of all jobs, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub jobs: Vec<Job>,
}

/// The way to a Slurm. Copies are the same one.
#[derive(Clone, Debug, Default)]
pub struct Slurm {
    asking: Arc<Mutex<Asking>>,
}

impl Slurm {
    /// Whether a Slurm answers here; with why not.
    pub fn find() -> Result<Slurm, String> {
        run("scontrol", &["ping"], None).map(|_| Slurm::default()).map_err(|failed| failed.text())
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

    /// What `scontrol show job` says, by name.
    pub fn details(&self, id: JobId) -> Result<BTreeMap<String, String>, String> {
        self.shown(id).map_err(|failed| failed.text())
    }

    fn shown(&self, id: JobId) -> Result<BTreeMap<String, String>, Failed> {
        let id = id.to_string();
        let text = run("scontrol", &["--oneliner", "show", "job", &id], None)?;
        // Only the first line: a name may hold a line's end.
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
