//! The server's side of one host.

use std::collections::{BTreeMap, BTreeSet};

use super::protocol::{Looks, Ordered, Orders, Report, Said, Version, Work};
use crate::attempt::Attempt;
use crate::driver::Standing;
use crate::job::{JobId, Outcome, OutcomeKind};
use crate::time::Stamp;

/// Why a report was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A newer one has come before.
    Stale,
    /// Another host of this name reports.
    Another,
}

#[derive(Clone, Debug)]
struct Wish {
    work: Work,
    cancel: Option<String>,
    /// What the host has last said of it.
    said: Option<Said>,
    /// How the host has told that it has ended, should it fail.
    if_fails: Option<Outcome>,
    /// Why it is lost.
    lost: Option<String>,
}

impl Wish {
    /// Whether the host has told that it has all that it needs for the job. One that cannot start
    /// the job may have lost its record of it.
    fn is_there(&self) -> bool {
        matches!(self.said, Some(Said::Runs | Said::Ended(..)))
    }
}

/// Which queue it is, for hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    pub number: u64,
    pub marks: String,
    /// Jobs run as their submitters.
    pub system: bool,
    /// Above those of all servers before.
    pub epoch: u64,
    /// Jobs whose records cannot be read.
    pub set_aside: BTreeSet<JobId>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Controller {
    queue: Queue,
    version: Version,
    /// Of the data folder of the host that got the jobs.
    identity: String,
    /// Session and number of the last report.
    last: (u64, u64),
    last_seen: Stamp,
    wishes: BTreeMap<Attempt, Wish>,
}

impl Controller {
    /// A host that was seen last at this time.
    pub fn new(queue: Queue, identity: String, last_seen: Stamp) -> Controller {
        let version = Version { epoch: queue.epoch, number: 0 };
        let wishes = BTreeMap::new();
        Controller { queue, version, identity, last: (0, 0), last_seen, wishes }
    }

    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Time passes that was nobody's silence: the server itself was away.
    pub fn excuse(&mut self, now: Stamp) {
        self.last_seen = self.last_seen.max(now);
    }

    /// Session and number of the last report and when it came, if any has.
    pub fn last_report(&self) -> Option<((u64, u64), Stamp)> {
        (self.last != (0, 0)).then_some((self.last, self.last_seen))
    }

    /// A report that brought no news has come.
    pub fn hear(&mut self, report: (u64, u64), at: Stamp) {
        self.last = self.last.max(report);
        self.last_seen = self.last_seen.max(at);
    }

    /// Whether nothing has come for so long.
    pub fn is_silent(&self, now: Stamp, seconds: u64) -> bool {
        now.since(self.last_seen) >= seconds
    }

    /// Wants a job there. Asked for again, it changes nothing.
    pub fn want(&mut self, work: Work) {
        let id = work.job.attempt();
        if !self.wishes.contains_key(&id) {
            self.version.number += 1;
            self.wishes
                .insert(id, Wish { work, cancel: None, said: None, if_fails: None, lost: None });
        }
    }

    /// Wants it to end.
    pub fn cancel(&mut self, id: Attempt, by: &str) {
        if let Some(wish) = self.wishes.get_mut(&id).filter(|wish| wish.cancel.is_none()) {
            wish.cancel = Some(by.to_string());
            self.version.number += 1;
        }
    }

    /// Wants nothing of it there any more: its end is recorded.
    pub fn forget(&mut self, id: Attempt) {
        if self.wishes.remove(&id).is_some() {
            self.version.number += 1;
        }
    }

    pub fn wants(&self, id: Attempt) -> bool {
        self.wishes.contains_key(&id)
    }

    pub fn version(&self) -> Version {
        self.version
    }

    /// All that is wanted.
    pub fn orders(&self) -> Orders {
        let ordered = |(job, wish): (&Attempt, &Wish)| Ordered {
            job: *job,
            cancel: wish.cancel.clone(),
            work: (!wish.is_there()).then(|| wish.work.clone()),
        };
        let jobs = self.wishes.iter().map(ordered).collect();
        Orders {
            queue: self.queue.number,
            marks: self.queue.marks.clone(),
            system: self.queue.system,
            version: self.version,
            jobs,
            set_aside: self.queue.set_aside.clone(),
            looks: Looks::default(),
        }
    }

    /// Takes a report; gives the jobs of which there is news. A host of the same name with another
    /// data folder is let in only when the one before has been silent for `patience` seconds.
    pub fn report(
        &mut self,
        report: &Report,
        now: Stamp,
        patience: u64,
    ) -> Result<Vec<JobId>, Refused> {
        let mut news = BTreeSet::new();
        if report.identity != self.identity {
            if !self.is_silent(now, patience) && self.last != (0, 0) {
                return Err(Refused::Another);
            }
            self.identity.clone_from(&report.identity);
            for (id, wish) in &mut self.wishes {
                wish.lost.get_or_insert_with(|| "the host was set up anew".into());
                news.insert(id.job);
            }
        } else if (report.session, report.number) <= self.last {
            return Err(Refused::Stale);
        }
        self.last = (report.session, report.number);
        self.last_seen = now;
        let mut told: BTreeMap<Attempt, &Said> =
            report.jobs.iter().map(|told| (told.job, &told.said)).collect();
        for (id, wish) in &mut self.wishes {
            match told.remove(id) {
                Some(said) if wish.said.as_ref() != Some(said) => {
                    let was_there = wish.is_there();
                    wish.said = Some(said.clone());
                    if was_there && !wish.is_there() {
                        // The orders have the job in full again.
                        self.version.number += 1;
                    }
                    news.insert(id.job);
                }
                // It had the job, and has it no more.
                None if wish.said.is_some() && !wish.work.part && wish.lost.is_none() => {
                    wish.lost = Some("the host knows nothing of it any more".into());
                    news.insert(id.job);
                }
                _ => {}
            }
        }
        for told in &report.jobs {
            let Some(wish) = self.wishes.get_mut(&told.job) else { continue };
            if wish.if_fails != told.if_fails {
                wish.if_fails.clone_from(&told.if_fails);
                news.insert(told.job.job);
            }
        }
        Ok(news.into_iter().collect())
    }

    /// How a job has ended, should it fail, as the host has told of its part.
    pub fn if_fails(&self, id: Attempt) -> Option<Outcome> {
        self.wishes.get(&id)?.if_fails.clone()
    }

    /// How the host has told that a job, or its part of one, has ended.
    pub fn end_of(&self, id: Attempt) -> Option<Outcome> {
        match &self.wishes.get(&id)?.said {
            Some(Said::Ended(outcome, _)) => Some(outcome.clone()),
            _ => None,
        }
    }

    /// How a job stands. A host that is silent for `limit` seconds has lost it.
    pub fn standing(&self, id: Attempt, now: Stamp, limit: u64) -> Standing {
        let lost = |text: &str| {
            Standing::Ended(Outcome::of(OutcomeKind::NodeLost).with(text), Stamp::now())
        };
        let Some(wish) = self.wishes.get(&id) else { return Standing::Runs };
        match (&wish.said, &wish.lost) {
            (Some(Said::Ended(outcome, at)), _) => Standing::Ended(outcome.clone(), *at),
            (_, Some(text)) => lost(text),
            _ if self.is_silent(now, limit) => {
                lost(&format!("the host has not reported for {limit} s"))
            }
            (Some(Said::Later(text)), None) => Standing::Later(text.clone()),
            (Some(Said::Runs) | None, None) => Standing::Runs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::tests::job;
    use crate::node::protocol::Told;

    fn work(id: JobId) -> Work {
        Work { job: Box::new(job(id)), part: false }
    }

    fn report(number: u64, jobs: &[(JobId, Said)]) -> Report {
        let jobs = jobs
            .iter()
            .map(|(job, said)| Told {
                job: Attempt::first(*job),
                said: said.clone(),
                if_fails: None,
            })
            .collect();
        Report { identity: "a".into(), session: 1, number, jobs, ..Report::default() }
    }

    fn controller() -> Controller {
        let mut controller = Controller::new(Queue::default(), "a".into(), Stamp(0));
        controller.want(work(1));
        controller
    }

    const FIRST: Attempt = Attempt { job: 1, restarts: 0 };
    const NOW: Stamp = Stamp(1_000_000);

    fn kind(standing: &Standing) -> Option<OutcomeKind> {
        match standing {
            Standing::Ended(outcome, _) => Some(outcome.kind),
            _ => None,
        }
    }

    #[test]
    fn the_work_is_sent_until_it_is_told_of() {
        let mut controller = controller();
        assert!(controller.orders().jobs[0].work.is_some());
        assert_eq!(controller.report(&report(1, &[]), NOW, 10), Ok(vec![]));
        assert!(controller.orders().jobs[0].work.is_some());
        assert_eq!(controller.report(&report(2, &[(1, Said::Runs)]), NOW, 10), Ok(vec![1]));
        assert!(controller.orders().jobs[0].work.is_none());
        assert_eq!(controller.report(&report(2, &[]), NOW, 10), Err(Refused::Stale));
        assert_eq!(controller.report(&report(1, &[]), NOW, 10), Err(Refused::Stale));
        assert_eq!(controller.standing(FIRST, NOW, 300), Standing::Runs);
        let end = Said::Ended(Outcome::exit(3), NOW);
        assert_eq!(controller.report(&report(3, &[(1, end)]), NOW, 10), Ok(vec![1]));
        assert_eq!(controller.standing(FIRST, NOW, 300), Standing::Ended(Outcome::exit(3), NOW));
        let before = controller.version();
        controller.forget(FIRST);
        assert!(controller.version() > before && controller.orders().jobs.is_empty());
    }

    #[test]
    fn how_a_job_has_ended_if_it_fails_is_news_and_no_end() {
        let mut controller = controller();
        assert_eq!(controller.report(&report(1, &[(1, Said::Runs)]), NOW, 10), Ok(vec![1]));
        let mut more = report(2, &[(1, Said::Runs)]);
        let refusal = Outcome::of(OutcomeKind::ProcessLimit);
        more.jobs[0].if_fails = Some(refusal.clone());
        assert_eq!(controller.report(&more, NOW, 10), Ok(vec![1]));
        assert_eq!((controller.end_of(FIRST), controller.if_fails(FIRST)), (None, Some(refusal)));
        assert_eq!(controller.standing(FIRST, NOW, 300), Standing::Runs);
        assert_eq!(controller.report(&Report { number: 3, ..more }, NOW, 10), Ok(vec![]));
    }

    #[test]
    fn a_host_that_has_lost_its_record_gets_the_job_again() {
        let mut controller = controller();
        controller.report(&report(1, &[(1, Said::Runs)]), NOW, 10).unwrap();
        let before = controller.orders();
        assert!(before.jobs[0].work.is_none());
        let later = Said::Later("its record cannot be read".into());
        assert_eq!(controller.report(&report(2, &[(1, later)]), NOW, 10), Ok(vec![1]));
        assert!(matches!(controller.standing(FIRST, NOW, 300), Standing::Later(_)));
        let again = controller.orders();
        assert!(again.jobs[0].work.is_some() && again.version > before.version);
    }

    #[test]
    fn a_cancel_is_an_order_once() {
        let mut controller = controller();
        let before = controller.version();
        controller.cancel(FIRST, "ann");
        controller.cancel(FIRST, "bob");
        controller.cancel(Attempt::first(2), "bob");
        assert_eq!(controller.version().number, before.number + 1);
        assert_eq!(controller.orders().jobs[0].cancel.as_deref(), Some("ann"));
    }

    #[test]
    fn silence_and_amnesia_lose_jobs() {
        let mut controller = controller();
        controller.report(&report(1, &[(1, Said::Runs)]), NOW, 10).unwrap();
        assert_eq!(controller.standing(FIRST, NOW.after(299), 300), Standing::Runs);
        let silent = controller.standing(FIRST, NOW.after(300), 300);
        assert_eq!(kind(&silent), Some(OutcomeKind::NodeLost));
        assert_eq!(controller.report(&report(2, &[]), NOW, 10), Ok(vec![1]));
        assert_eq!(kind(&controller.standing(FIRST, NOW, 300)), Some(OutcomeKind::NodeLost));
    }

    #[test]
    fn another_host_of_the_same_name() {
        let mut controller = controller();
        controller.report(&report(7, &[(1, Said::Runs)]), NOW, 10).unwrap();
        let other = Report { identity: "b".into(), ..report(1, &[]) };
        assert_eq!(controller.report(&other, NOW.after(9), 10), Err(Refused::Another));
        assert_eq!(controller.report(&other, NOW.after(10), 10), Ok(vec![1]));
        let standing = controller.standing(FIRST, NOW.after(10), 300);
        assert_eq!(kind(&standing), Some(OutcomeKind::NodeLost));
        assert_eq!(controller.identity(), "b");
    }
}
