//! Jobs on this machine and on the hosts that report to it. The supervisor of a job runs on the
//! first of its hosts; the launcher under it reaches the others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::confine::{self, Confinement, Told};
use super::{Driver, Embedded, Standing};
use crate::attempt::Attempt;
use crate::job::{Job, JobId, Outcome, OutcomeKind, Share};
use crate::node::Fleet;
use crate::stepd::family;

/// The driver of the embedded queue.
#[derive(Debug)]
pub struct Cluster {
    local: Embedded,
    pub fleet: Fleet,
    /// Ranks here of jobs that have their supervisors elsewhere.
    confined: BTreeMap<Attempt, Confinement>,
    /// What is known of some of those.
    told: Arc<Mutex<BTreeMap<Attempt, Known>>>,
    /// When jobs were first seen to have ended whose other hosts may tell why. Clocks of hosts differ.
    ended: BTreeMap<Attempt, Instant>,
}

/// What was told of ranks here.
#[derive(Debug, Default)]
struct Known {
    ended: Option<Outcome>,
    if_fails: Option<Outcome>,
}

/// So long after the end of a job another host may tell that it was the one to end it.
const TELLS_WITHIN: Duration = Duration::from_millis(1500);

impl Cluster {
    pub fn new(local: Embedded, fleet: Fleet) -> Cluster {
        let (confined, told, ended) = (BTreeMap::new(), Arc::default(), BTreeMap::new());
        Cluster { local, fleet, confined, told, ended }
    }

    /// Confines ranks on this machine of a job whose supervisor is elsewhere.
    fn confine(&mut self, job: &Job) {
        let (id, host) = (job.attempt(), self.local.host());
        let here = job.allocation.iter().any(|share| share.host == host);
        if !here || self.confined.contains_key(&id) {
            return;
        }
        let list = Arc::clone(&self.told);
        let tell = move |told| {
            let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
            let known = list.entry(id).or_default();
            match told {
                Told::Ended(outcome) => known.ended = Some(outcome),
                Told::Refused(outcome) => known.if_fails = Some(outcome),
            }
        };
        // Tried again at the next look.
        self.confined
            .extend(Confinement::start(self.local.place(), job, tell).ok().map(|made| (id, made)));
    }

    /// Why one of its further hosts has ended the job, if one has.
    fn reason(&mut self, job: &Job) -> Option<Outcome> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let here = told.get(&job.attempt()).and_then(|known| known.ended.clone());
        here.or_else(|| self.fleet.end_elsewhere(job)).filter(confine::is_reason)
    }

    /// How a job that has failed by itself has ended, by what one of its further hosts was asked for in vain.
    fn refusal(&self, job: &Job, outcome: &Outcome) -> Option<Outcome> {
        if !matches!(outcome.kind, OutcomeKind::Exit | OutcomeKind::Signal) {
            return None;
        }
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let here = told.get(&job.attempt()).and_then(|known| known.if_fails.clone());
        here.or_else(|| self.fleet.if_fails(job)).filter(confine::is_reason)
    }

    /// How a job of several hosts stands, with regard to what its further hosts tell.
    fn of_all(&mut self, job: &Job, first: Standing) -> Standing {
        let reason = self.reason(job);
        match (first, reason) {
            (Standing::Ended(outcome, at), _) if outcome.is_success() => {
                Standing::Ended(outcome, at)
            }
            (Standing::Ended(_, at), Some(reason)) => Standing::Ended(reason, at),
            (Standing::Ended(outcome, at), None) => {
                if let Some(refusal) = self.refusal(job, &outcome) {
                    return Standing::Ended(refusal, at);
                }
                let seen = *self.ended.entry(job.attempt()).or_insert_with(Instant::now);
                match seen.elapsed() < TELLS_WITHIN {
                    true => Standing::Later("its hosts may tell why it has ended".into()),
                    false => Standing::Ended(outcome, at),
                }
            }
            (Standing::Runs, Some(_)) => {
                // A script may go on without its ranks.
                self.cancel(job, "the queue, for what another host of it tells");
                Standing::Runs
            }
            (standing, _) => standing,
        }
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
        let standing = match self.is_local(job) {
            true => self.local.attend(job),
            false => {
                self.confine(job);
                self.fleet.standing(job)
            }
        };
        match confine::may_be_ended(job, self.local.place().system) {
            true => self.of_all(job, standing),
            false => standing,
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
        self.told.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.attempt());
        self.ended.remove(&job.attempt());
        let confinement = self.confined.remove(&job.attempt());
        let here = |host: &str| host == self.local.host();
        if !self.is_local(job) && job.allocation.iter().any(|share| here(&share.host)) {
            let mark = self.local.mark(job.attempt());
            // The launcher's agent has ended its ranks; this is for what it could not.
            std::thread::spawn(move || {
                confinement.into_iter().for_each(Confinement::end);
                family::kill_marked(&mark)
            });
        }
    }

    fn remove(&mut self, attempt: Attempt) -> Result<(), String> {
        self.local.remove(attempt)
    }
}
