//! Jobs on this machine and on the hosts that report to it. The supervisor of a job runs on the
//! first of its hosts; the launcher under it reaches the others.

use std::collections::BTreeMap;

use super::{Driver, Embedded, Standing};
use crate::attempt::Attempt;
use crate::job::{Job, JobId, Share};
use crate::node::Fleet;
use crate::stepd::family;

/// The driver of the embedded queue.
#[derive(Debug)]
pub struct Cluster {
    local: Embedded,
    pub fleet: Fleet,
}

impl Cluster {
    pub fn new(local: Embedded, fleet: Fleet) -> Cluster {
        Cluster { local, fleet }
    }

    /// Makes the folders of jobs that are about to start here, before they are recorded as running:
    /// a job that runs by its record and has none is not started ([`Embedded`]). Gives those for
    /// which that is impossible, with why.
    pub fn make_folders(&self, starting: &[(Attempt, Vec<Share>)]) -> BTreeMap<JobId, String> {
        let here = |shares: &[Share]| shares.first().is_none_or(|s| s.host == self.local.host());
        let local = starting.iter().filter(|(_, shares)| here(shares)).map(|(attempt, _)| *attempt);
        self.local.make_folders(&local.collect::<Vec<_>>())
    }

    fn is_local(&self, job: &Job) -> bool {
        job.first_host().is_none_or(|host| host == self.local.host())
    }
}

impl Driver for Cluster {
    fn attend(&mut self, job: &Job) -> Standing {
        self.fleet.want(job);
        match self.is_local(job) {
            true => self.local.attend(job),
            false => self.fleet.standing(job),
        }
    }

    fn gone(&mut self, attempt: Attempt) {
        self.local.gone(attempt);
    }

    fn cancel(&mut self, job: &Job, by: &str) {
        match self.is_local(job) {
            true => self.local.cancel(job, by),
            false => self.fleet.cancel(job, by),
        }
    }

    fn recorded(&mut self, job: &Job) {
        self.fleet.forget(job);
        let here = |host: &str| host == self.local.host();
        if !self.is_local(job) && job.allocation.iter().any(|share| here(&share.host)) {
            let mark = self.local.mark(job.attempt());
            // The launcher's agent has ended its ranks; this is for what it could not.
            std::thread::spawn(move || family::kill_marked(&mark));
        }
    }

    fn remove(&mut self, attempt: Attempt) -> Result<(), String> {
        self.local.remove(attempt)
    }
}
