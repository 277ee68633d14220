//! What others ask of the manager, through [`Queue::call`](super::Queue::call).

use std::collections::BTreeMap;

use super::{ACTIVE_MAX, Manager};
use crate::apply::Event;
use crate::attempt::Attempt;
use crate::driver::Driver;
use crate::job::{Dependency, Job, JobId, State};
use crate::name::Name;
use crate::node::{self, Capacity, Newest, NodeView, Orders, Report};
use crate::policy::{self, Other};
use crate::store::jobs::New;
use crate::store::rules::Drained;
use crate::store::{Store, StoreError};
use crate::time::Stamp;

impl Manager {
    /// Records a job; `false` when its key has done so before.
    pub fn submit(&mut self, new: &New) -> Result<(Job, bool), StoreError> {
        let count = new.tasks.len().max(1);
        if self.active.len() + count > ACTIVE_MAX {
            return Err(StoreError::Refused(format!(
                "there are {} jobs that have not ended, and the limit is {ACTIVE_MAX}",
                self.active.len()
            )));
        }
        self.check_limits(new, count)?;
        for on in &new.spec.depends_on {
            if self.store.depended(on)?.is_none() {
                let name = Name::from(on);
                return Err(StoreError::Missing(format!("there is no job {name} to depend on")));
            }
        }
        let (jobs, fresh) = self.store.submit(new, Stamp::now())?;
        let first = jobs.first().cloned();
        if fresh {
            self.newest = self.newest.max(jobs.last().map_or(0, Job::id));
            self.keep(jobs);
            self.dirty = true;
            // So the answer already says whether it runs.
            self.settle();
        }
        let id = first.map(|job| job.id()).unwrap_or_default();
        Ok((self.store.job(id)?, fresh))
    }

    /// What an administrator has laid down for the queue.
    fn check_limits(&self, new: &New, count: usize) -> Result<(), StoreError> {
        let limits = self.store.limits(&new.queue)?;
        let Some(most) = limits.jobs_per_user else { return Ok(()) };
        let own = self.active.values().filter(|job| job.summary.user == new.user).count();
        if own + count > most as usize {
            return Err(StoreError::Refused(format!(
                "{} has {own} jobs in queue {} that have not ended, and the limit is {most}",
                new.user, new.queue
            )));
        }
        Ok(())
    }

    /// Gives a host no new jobs; what runs there goes on.
    pub fn drain(&mut self, host: &str, drained: Drained) -> Result<(), StoreError> {
        self.store.drain(host, &drained)?;
        self.drained.insert(host.to_string(), drained);
        self.dirty = true;
        Ok(())
    }

    /// Gives it jobs again.
    pub fn resume(&mut self, host: &str) -> Result<(), StoreError> {
        self.store.resume(host)?;
        self.drained.remove(host);
        self.dirty = true;
        Ok(())
    }

    /// The hosts that get no new jobs.
    pub fn drained(&self) -> &BTreeMap<String, Drained> {
        &self.drained
    }

    /// Asks a job to end.
    pub fn cancel(&mut self, id: JobId, by: &str) -> Result<Job, StoreError> {
        let event = Event::CancelAsked { by: by.to_string(), at: Stamp::now() };
        let job = self.happen(id, event)?;
        self.look_after(id);
        Ok(job)
    }

    pub fn hold(&mut self, id: JobId, by: &str) -> Result<Job, StoreError> {
        self.happen(id, Event::Held { by: by.to_string() })
    }

    pub fn release(&mut self, id: JobId) -> Result<Job, StoreError> {
        self.happen(id, Event::Released)
    }

    /// Removes the record of a job that has ended, and its output as far as we keep it.
    pub fn remove(&mut self, id: JobId) -> Result<(), StoreError> {
        let array = self.store.job(id)?.summary.array;
        let of_array = |on: &Dependency| {
            let same = |task| on.task.is_none_or(|asked| asked == task);
            array.as_ref().is_some_and(|array| array.id == on.job && same(array.task))
        };
        let on_it = |on: &Dependency| (on.job == id && on.task.is_none()) || of_array(on);
        let waits = |job: &&Job| job.spec.depends_on.iter().any(on_it);
        if let Some(job) = self.active.values().find(waits) {
            let (job, id) = (Name::from(&job.summary), self.store.job(id)?.summary);
            let text = format!("job {job} depends on job {}", Name::from(&id));
            return Err(StoreError::Refused(text));
        }
        let job = self.store.remove(id)?;
        if self.config.mirror {
            return Ok(());
        }
        let mut all = Attempt::all(&job);
        all.try_for_each(|attempt| self.driver.remove(attempt).map_err(StoreError::Failed))
    }

    /// When a job would start at the latest, and what it would wait for.
    pub fn estimate(&mut self, mut job: Job) -> (Option<Stamp>, Option<String>) {
        // Behind all that are there.
        job.summary.id = JobId::MAX;
        let (now, id) = (Stamp::now(), job.id());
        let hosts = self.hosts();
        let jobs = self.active.values().chain([&job]);
        let plan = policy::plan(now, &hosts, jobs, |_| Other::Active);
        if plan.start.iter().any(|(started, _)| *started == id) {
            return (Some(now), None);
        }
        let waiting = plan.wait.into_iter().find(|waiting| waiting.id == id);
        waiting.map_or((None, None), |waiting| (waiting.estimated_start, Some(waiting.reason)))
    }

    /// What cannot be done now, as sentences.
    pub fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = self.damaged.values().cloned().collect();
        problems.extend(self.stuck.clone());
        problems.extend(self.elsewhere.clone());
        if !self.unrecorded.is_empty() {
            let ids: Vec<String> = self.unrecorded.keys().map(JobId::to_string).collect();
            problems
                .push(format!("the ends of these jobs are not recorded yet: {}", ids.join(", ")));
        }
        problems.extend(self.troubles.iter().map(|(id, text)| format!("job {id}: {text}")));
        problems
    }

    /// That the spare has taken the place of a torn store, when this manager has begun.
    pub fn restored(&self) -> Option<String> {
        self.restored.clone()
    }

    /// Processors that running jobs have reserved on each host.
    pub fn reserved(&self) -> BTreeMap<String, u32> {
        let mut reserved = BTreeMap::new();
        for share in self.running().flat_map(|job| &job.allocation) {
            *reserved.entry(share.host.clone()).or_default() += share.cpus;
        }
        reserved
    }

    /// The hosts that report.
    pub fn nodes(&mut self) -> Vec<NodeView> {
        self.driver.fleet.views()
    }

    /// Takes a host's report and gives its orders.
    pub fn report(
        &mut self,
        name: &str,
        report: &Report,
        capacity: Capacity,
    ) -> Result<Orders, StoreError> {
        if name == self.config.place.host {
            let text = format!("'{name}' is the server's own machine, which needs no hpvm node");
            return Err(StoreError::Refused(text));
        }
        // What cannot be written down now is tried again with the next report, which has to come here.
        let mut done = true;
        match self.driver.fleet.report(name, report, capacity.into()) {
            Ok((news, changed)) => {
                self.dirty |= changed;
                news.into_iter().for_each(|id| self.look_after(id));
            }
            // It has had newer orders since.
            Err(node::Refused::Stale) => done = false,
            Err(node::Refused::Another) => {
                let text = format!(
                    "another host '{name}' reports already, with another data folder: give one of \
                     them another name (--name)"
                );
                return Err(StoreError::Refused(text));
            }
        }
        let of_ours = |newest: &Newest| newest.queue == self.driver.fleet.queue().number;
        if let Some(newest) = report.newest.filter(of_ours).filter(|n| n.job > self.newest) {
            match self.store.number_above(newest.job) {
                Ok(_) => self.newest = newest.job,
                Err(_) => done = false,
            }
        }
        if let Some(row) = self.driver.fleet.unrecorded(name) {
            match self.store.put_node(&row) {
                Ok(()) => self.driver.fleet.recorded(row),
                Err(_) => done = false,
            }
        }
        self.record_ends();
        if done {
            self.driver.fleet.lets_report(name, report, capacity);
        }
        self.orders(name)
    }

    /// The orders of a host that reports.
    pub fn orders(&self, name: &str) -> Result<Orders, StoreError> {
        let orders = self.driver.fleet.orders(name);
        orders.ok_or_else(|| StoreError::Missing(format!("there is no host '{name}' that reports")))
    }

    /// Forgets a host that reports no more.
    pub fn remove_node(&mut self, name: &str) -> Result<(), StoreError> {
        let runs = |job: &&Job| job.allocation.iter().any(|share| share.host == name);
        if let Some(job) = self.running().find(runs) {
            let text = format!("job {} runs on host '{name}'", job.id());
            return Err(StoreError::Refused(text));
        }
        if self.nodes().iter().any(|node| node.name == name && !node.silent) {
            let text = format!("host '{name}' reports: end hpvm node there first");
            return Err(StoreError::Refused(text));
        }
        self.store.remove_node(name)?;
        self.driver.fleet.remove(name);
        self.dirty = true;
        Ok(())
    }

    /// The job of a host whose output it sends.
    pub fn job_on(&self, name: &str, attempt: Attempt) -> Result<Job, StoreError> {
        let job = self.active.get(&attempt.job);
        let job = job.filter(|job| job.first_host() == Some(name) && job.attempt() == attempt);
        let missing = || StoreError::Missing(format!("job {attempt} does not run there"));
        job.cloned().ok_or_else(missing)
    }

    /// Whether ranks of a job are on this host, which is the one that reports under the name.
    pub fn has_ranks_on(&self, name: &str, identity: &str, id: JobId) -> Result<(), StoreError> {
        let job = self.active.get(&id).filter(|job| job.state() == State::Running);
        let there = job.is_some_and(|job| job.allocation.iter().any(|share| share.host == name));
        match there && self.driver.fleet.identity(name) == Some(identity) {
            true => Ok(()),
            false => Err(StoreError::Missing(format!("job {id} does not run there"))),
        }
    }

    /// Takes over what another queue says of its jobs, with what it cannot say, or why it says nothing.
    pub fn mirror(
        &mut self,
        seen: Result<Vec<Job>, String>,
        trouble: Option<String>,
    ) -> Result<(), StoreError> {
        match seen {
            Ok(jobs) => {
                self.elsewhere = trouble;
                self.store.mirror(&jobs)
            }
            Err(text) => {
                self.elsewhere = Some(text);
                Ok(())
            }
        }
    }

    /// The store, for what is not a matter of jobs.
    pub fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Ends the manager; jobs go on.
    pub fn stop(&mut self) {
        self.stop = true;
    }
}
