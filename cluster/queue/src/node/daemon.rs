//! The host's side: what `hpvm node` has, and what it does at an order.

use std::collections::{BTreeMap, BTreeSet};

use super::protocol::{Orders, Report, Said, Told, Version, Work};
use crate::attempt::Attempt;
use crate::driver::Standing;
use crate::job::{JobId, Outcome, OutcomeKind};
use crate::time::Stamp;

/// Jobs that were here and are gone, as far as they are remembered, so that no order starts one a
/// second time (a server whose store was restored from a copy gives such orders). The newest are
/// the ones that matter.
pub const FORGOTTEN_MAX: usize = 4096;

/// What is to be done on the host. Everything can be done again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Record it, then see to it that it runs, once.
    Start(Work),
    /// See to it that it ends.
    Cancel { job: Attempt, by: String },
    /// End what is left of it, remember that it was here, remove all that is kept of it, and call
    /// [`Daemon::removed`].
    Remove { job: Attempt },
}

#[derive(Clone, Debug)]
enum Phase {
    /// Its record here cannot be read, for this reason: whether it runs is not known.
    Unread(String),
    Runs,
    Later(String),
    /// It is over, and its output is on its way.
    Sending(Outcome, Stamp),
    Ended(Outcome, Stamp),
}

#[derive(Clone, Debug)]
struct Held {
    part: bool,
    phase: Phase,
    /// Who wants it to end.
    cancelled: Option<String>,
    /// The server does not want it here any more.
    unwanted: bool,
    /// Of a part: how the job has ended, should it fail.
    if_fails: Option<Outcome>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Daemon {
    identity: String,
    session: u64,
    number: u64,
    seen: Version,
    jobs: BTreeMap<Attempt, Held>,
    forgotten: BTreeSet<Attempt>,
}

impl Daemon {
    /// `session` is above those of all lives before on this host.
    pub fn new(identity: String, session: u64, forgotten: BTreeSet<Attempt>) -> Daemon {
        let (number, seen) = (0, Version::default());
        Daemon { identity, session, number, seen, jobs: BTreeMap::new(), forgotten }
    }

    /// A job that was found on the host at the start.
    pub fn found(&mut self, job: Attempt, part: bool) {
        self.jobs.insert(job, held(part, Phase::Runs));
    }

    /// The same of a job whose record cannot be read. The server is asked for it by saying so.
    pub fn unread(&mut self, job: Attempt, why: String) {
        self.jobs.insert(job, held(false, Phase::Unread(why)));
    }

    /// Takes orders; those that are not newer than the last are nothing.
    pub fn orders(&mut self, orders: &Orders) -> Vec<Deed> {
        if orders.version <= self.seen {
            return Vec::new();
        }
        self.seen = orders.version;
        let mut deeds = Vec::new();
        for ordered in &orders.jobs {
            let id = ordered.job;
            if !self.jobs.contains_key(&id) {
                let Some(work) = &ordered.work else { continue };
                if self.forgotten.contains(&id) {
                    let text = "it has ended on this host before";
                    let outcome = Outcome::of(OutcomeKind::NodeLost).with(text);
                    self.jobs.insert(id, held(false, Phase::Ended(outcome, Stamp::now())));
                } else {
                    self.jobs.insert(id, held(work.part, Phase::Runs));
                    deeds.push(Deed::Start(work.clone()));
                }
            }
            let Some(job) = self.jobs.get_mut(&id) else { continue };
            job.unwanted = false;
            if let (Phase::Unread(_), Some(work)) = (&job.phase, &ordered.work) {
                (job.part, job.phase) = (work.part, Phase::Runs);
                deeds.push(Deed::Start(work.clone()));
            }
            if let Some(by) =
                ordered.cancel.as_ref().filter(|_| job.cancelled.is_none() && !job.part)
            {
                job.cancelled = Some(by.clone());
                deeds.push(Deed::Cancel { job: id, by: by.clone() });
            }
        }
        let wanted: BTreeSet<Attempt> = orders.jobs.iter().map(|ordered| ordered.job).collect();
        for (id, job) in self.jobs.iter_mut() {
            let aside = orders.set_aside.contains(&id.job);
            if aside || wanted.contains(id) {
                // One that was given up and is set aside now may be wanted again.
                job.unwanted &= !aside;
                continue;
            }
            job.unwanted = true;
            deeds.push(unwanted(*id, job));
        }
        deeds
    }

    /// How a job stands, by the word of who looks after it.
    pub fn stands(&mut self, id: Attempt, standing: Standing) -> Vec<Deed> {
        let Some(job) = self.jobs.get_mut(&id) else { return Vec::new() };
        if matches!(job.phase, Phase::Unread(_) | Phase::Sending(..) | Phase::Ended(..)) || job.part
        {
            return Vec::new();
        }
        job.phase = match standing {
            Standing::Runs => Phase::Runs,
            Standing::Later(text) => Phase::Later(text),
            Standing::Ended(outcome, at) => Phase::Sending(outcome, at),
        };
        match &job.phase {
            Phase::Sending(..) if job.unwanted => vec![Deed::Remove { job: id }],
            _ => Vec::new(),
        }
    }

    /// The ranks here of a job that has its supervisor elsewhere were ended, for this reason.
    pub fn part_ended(&mut self, id: Attempt, outcome: Outcome) {
        if let Some(job) = self.jobs.get_mut(&id).filter(|job| job.part) {
            job.phase = Phase::Ended(outcome, Stamp::now());
        }
    }

    /// The ranks here of a job that has its supervisor elsewhere go on without what they were refused: how the job
    /// has ended, should it fail.
    pub fn part_refused(&mut self, id: Attempt, outcome: Outcome) {
        if let Some(job) = self.jobs.get_mut(&id).filter(|job| job.part) {
            job.if_fails = Some(outcome);
        }
    }

    /// All output of a job that has ended was sent, or what of it could not be.
    pub fn sent(&mut self, id: Attempt, trouble: Option<String>) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        if let Phase::Sending(outcome, at) = &job.phase {
            let mut outcome = outcome.clone();
            if let Some(text) = trouble {
                let before = outcome.detail.take().map_or(String::new(), |detail| detail + "; ");
                outcome = outcome.with(format!("{before}{text}"));
            }
            job.phase = Phase::Ended(outcome, *at);
        }
    }

    /// Nothing of the job is left here.
    pub fn removed(&mut self, id: Attempt) {
        self.jobs.remove(&id);
        remember(&mut self.forgotten, id);
    }

    /// The jobs that were here, with this one among them.
    pub fn forgotten_with(&self, id: Attempt) -> BTreeSet<Attempt> {
        let mut all = self.forgotten.clone();
        remember(&mut all, id);
        all
    }

    /// The largest number of a job that was ever here, as far as that is remembered.
    pub fn newest(&self) -> Option<JobId> {
        self.jobs.keys().chain(&self.forgotten).map(|attempt| attempt.job).max()
    }

    /// What was begun and is not done yet, to be tried again from time to time.
    pub fn overdue(&self) -> Vec<Deed> {
        let of = |(id, job): (&Attempt, &Held)| match (&job.phase, &job.cancelled) {
            _ if job.unwanted => Some(unwanted(*id, job)),
            (Phase::Runs | Phase::Later(_), Some(by)) => {
                Some(Deed::Cancel { job: *id, by: by.clone() })
            }
            _ => None,
        };
        self.jobs.iter().filter_map(of).collect()
    }

    /// Whether an earlier attempt of the same job is still here: it goes first.
    pub fn waits(&self, attempt: Attempt) -> bool {
        self.jobs.range(Attempt::first(attempt.job)..attempt).next().is_some()
    }

    /// The jobs that somebody has to look after.
    pub fn running(&self) -> Vec<Attempt> {
        let runs = |job: &Held| matches!(job.phase, Phase::Runs | Phase::Later(_)) && !job.part;
        self.jobs.iter().filter(|(_, job)| runs(job)).map(|(id, _)| *id).collect()
    }

    /// The jobs of which there are only ranks here.
    pub fn parts(&self) -> Vec<Attempt> {
        let parts = |job: &Held| job.part && matches!(job.phase, Phase::Runs) && !job.unwanted;
        self.jobs.iter().filter(|(_, job)| parts(job)).map(|(id, _)| *id).collect()
    }

    /// The jobs whose output is to be sent; `true` for those that have ended.
    pub fn sending(&self) -> Vec<(Attempt, bool)> {
        let of = |(id, job): (&Attempt, &Held)| match job.phase {
            _ if job.part || job.unwanted => None,
            Phase::Runs => Some((*id, false)),
            Phase::Sending(..) => Some((*id, true)),
            _ => None,
        };
        self.jobs.iter().filter_map(of).collect()
    }

    /// All there is, under the next number.
    pub fn report(&mut self) -> Report {
        self.number += 1;
        let said = |job: &Held| match &job.phase {
            Phase::Runs | Phase::Sending(..) => Said::Runs,
            Phase::Later(text) | Phase::Unread(text) => Said::Later(text.clone()),
            Phase::Ended(outcome, at) => Said::Ended(outcome.clone(), *at),
        };
        let told = |(id, job): (&Attempt, &Held)| Told {
            job: *id,
            said: said(job),
            if_fails: job.if_fails.clone(),
        };
        Report {
            identity: self.identity.clone(),
            session: self.session,
            number: self.number,
            seen: self.seen,
            jobs: self.jobs.iter().map(told).collect(),
            newest: None,
            processors: String::new(),
        }
    }
}

fn held(part: bool, phase: Phase) -> Held {
    Held { part, phase, cancelled: None, unwanted: false, if_fails: None }
}

fn remember(forgotten: &mut BTreeSet<Attempt>, id: Attempt) {
    forgotten.insert(id);
    while forgotten.len() > FORGOTTEN_MAX {
        forgotten.pop_first();
    }
}

/// What is done to a job that the server does not want.
fn unwanted(id: Attempt, job: &Held) -> Deed {
    match job.phase {
        // First it has to end; then it is removed.
        Phase::Runs | Phase::Later(_) if !job.part => {
            Deed::Cancel { job: id, by: "the server, which has given it up".into() }
        }
        _ => Deed::Remove { job: id },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::tests::job;
    use crate::node::protocol::Ordered;

    fn orders(number: u64, jobs: &[(JobId, Option<&str>)]) -> Orders {
        let ordered = |(id, cancel): &(JobId, Option<&str>)| {
            let work = Work { job: Box::new(job(*id)), part: false };
            Ordered {
                job: Attempt::first(*id),
                cancel: cancel.map(str::to_owned),
                work: Some(work),
            }
        };
        let jobs = jobs.iter().map(ordered).collect();
        Orders { queue: 1, version: Version { epoch: 1, number }, jobs, ..Orders::default() }
    }

    fn a(job: JobId) -> Attempt {
        Attempt::first(job)
    }

    fn said(daemon: &mut Daemon) -> Vec<Said> {
        daemon.report().jobs.into_iter().map(|told| told.said).collect()
    }

    #[test]
    fn from_order_to_removal() {
        let mut daemon = Daemon::new("a".into(), 1, BTreeSet::new());
        let deeds = daemon.orders(&orders(1, &[(7, None)]));
        assert!(matches!(&deeds[..], [Deed::Start(work)] if work.job.id() == 7), "{deeds:?}");
        assert_eq!(daemon.orders(&orders(1, &[(7, None)])), []);
        assert_eq!(daemon.orders(&orders(2, &[(7, None)])), []);
        let cancel = Deed::Cancel { job: a(7), by: "ann".into() };
        assert_eq!(daemon.orders(&orders(3, &[(7, Some("ann"))])), [cancel]);
        assert_eq!(daemon.orders(&orders(4, &[(7, Some("ann"))])), []);
        assert_eq!(daemon.stands(a(7), Standing::Ended(Outcome::exit(0), Stamp(5))), []);
        assert_eq!(said(&mut daemon), [Said::Runs], "its output is on its way");
        daemon.sent(a(7), Some("the end is missing".into()));
        let Said::Ended(outcome, _) = said(&mut daemon).remove(0) else { panic!() };
        assert_eq!(outcome.detail.as_deref(), Some("the end is missing"));
        assert_eq!(daemon.orders(&orders(5, &[])), [Deed::Remove { job: a(7) }]);
        daemon.removed(a(7));
        assert!(said(&mut daemon).is_empty());
        // Whoever orders it again.
        assert_eq!(daemon.orders(&orders(6, &[(7, None)])), []);
        assert!(matches!(&said(&mut daemon)[..], [Said::Ended(outcome, _)]
            if outcome.kind == OutcomeKind::NodeLost));
    }

    #[test]
    fn what_ranks_were_refused_is_told_while_their_job_goes_on() {
        let mut daemon = Daemon::new("a".into(), 1, BTreeSet::new());
        let mut orders = orders(1, &[(7, None), (8, None)]);
        orders.jobs[0].work.iter_mut().for_each(|work| work.part = true);
        daemon.orders(&orders);
        let refusal = Outcome::of(OutcomeKind::ProcessLimit).with("more than 60");
        // Of the other one its supervisor here tells.
        [7, 8].into_iter().for_each(|id| daemon.part_refused(a(id), refusal.clone()));
        let jobs = daemon.report().jobs;
        let told = |told: &Told| (told.said.clone(), told.if_fails.clone());
        assert_eq!(told(&jobs[0]), (Said::Runs, Some(refusal)));
        assert_eq!(told(&jobs[1]), (Said::Runs, None));
    }

    #[test]
    fn what_is_not_wanted_ends_first() {
        let mut daemon = Daemon::new("a".into(), 1, BTreeSet::new());
        daemon.found(a(3), false);
        daemon.found(a(4), true);
        let deeds = daemon.orders(&orders(1, &[]));
        let by = "the server, which has given it up".to_string();
        let cancel = Deed::Cancel { job: a(3), by };
        assert_eq!(deeds, [cancel, Deed::Remove { job: a(4) }]);
        let ended = Standing::Ended(Outcome::of(OutcomeKind::Cancelled), Stamp(1));
        assert_eq!(daemon.stands(a(3), ended), [Deed::Remove { job: a(3) }]);
    }

    #[test]
    fn an_attempt_waits_for_the_end_of_the_one_before() {
        let mut daemon = Daemon::new("a".into(), 1, BTreeSet::new());
        daemon.found(a(3), false);
        let again = Attempt { job: 3, restarts: 1 };
        let mut next = orders(1, &[(3, None)]);
        next.jobs[0].job = again;
        let deeds = daemon.orders(&next);
        assert!(matches!(&deeds[..], [Deed::Start(_), Deed::Cancel { job, .. }] if *job == a(3)));
        assert!(daemon.waits(again) && !daemon.waits(a(3)) && !daemon.waits(a(4)));
        daemon.removed(a(3));
        assert!(!daemon.waits(again));
    }

    #[test]
    fn what_the_server_cannot_read_stays_as_it_is() {
        let mut daemon = Daemon::new("a".into(), 1, BTreeSet::new());
        daemon.found(a(3), false);
        let aside = |number| Orders { set_aside: BTreeSet::from([3]), ..orders(number, &[]) };
        assert_eq!(daemon.orders(&aside(1)), []);
        assert_eq!((daemon.overdue(), said(&mut daemon)), (Vec::new(), vec![Said::Runs]));
        // Its record was mended, and it is wanted; or it is gone, and the job is not.
        assert_eq!(daemon.orders(&orders(2, &[(3, None)])), []);
        assert_eq!(daemon.orders(&aside(3)), []);
        let deeds = daemon.orders(&orders(4, &[]));
        assert!(matches!(&deeds[..], [Deed::Cancel { job, .. }] if *job == a(3)), "{deeds:?}");
    }

    #[test]
    fn what_the_host_cannot_read_is_asked_for_and_never_given_up() {
        let mut daemon = Daemon::new("a".into(), 1, BTreeSet::new());
        daemon.unread(a(3), "job 3: torn".into());
        assert_eq!(said(&mut daemon), [Said::Later("job 3: torn".into())]);
        assert_eq!((daemon.running(), daemon.sending()), (Vec::new(), Vec::new()));
        // The driver knows nothing of a job that was not read.
        assert_eq!(daemon.stands(a(3), Standing::Ended(Outcome::exit(0), Stamp(5))), []);
        let known = Ordered { job: a(3), cancel: None, work: None };
        let mut first = orders(1, &[]);
        first.jobs.push(known);
        assert_eq!(daemon.orders(&first), [], "the server takes it for one that runs");
        let deeds = daemon.orders(&orders(2, &[(3, None)]));
        assert!(matches!(&deeds[..], [Deed::Start(work)] if work.job.id() == 3), "{deeds:?}");
        assert_eq!((daemon.running(), said(&mut daemon)), (vec![a(3)], vec![Said::Runs]));
        // Nobody wants it: what there is of it goes.
        daemon.unread(a(4), "job 4: torn".into());
        let deeds = daemon.orders(&orders(3, &[(3, None)]));
        assert_eq!(deeds, [Deed::Remove { job: a(4) }]);
        daemon.removed(a(4));
        assert_eq!(daemon.newest(), Some(4));
    }

    #[test]
    fn memory_is_bounded() {
        let mut daemon = Daemon::new("a".into(), 1, BTreeSet::new());
        (0..FORGOTTEN_MAX as JobId + 10).for_each(|id| daemon.removed(a(id)));
        let all = daemon.forgotten_with(a(-1));
        assert_eq!((all.len(), all.first()), (FORGOTTEN_MAX, Some(&a(10))));
    }
}
