//! The hosts that report to a server, and the jobs on them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::pulse::{Beat, Pulses};
use super::{Controller, Orders, Queue, Refused, Report, Version, Work};
use crate::account;
use crate::driver::Standing;
use crate::job::{Job, JobId, Outcome, OutcomeKind, Share};
use crate::policy::Resources;
use crate::processors::Processors;
use crate::store::nodes::NodeRow;
use crate::time::Stamp;

/// A host reports every second. One that is silent for so long is shown as lost and gets no new
/// jobs; its jobs are given up much later.
pub const SILENT_SECONDS: u64 = 10;
/// How often the time of the last report is written down.
pub(super) const SEEN_EVERY_MS: i64 = 60_000;
/// Longer between two looks, and it was the server that was away.
const AWAY_MS: i64 = 30_000;

/// What a host has to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    pub cpus: u32,
    pub memory: u64,
    pub gpus: u32,
}

impl Capacity {
    /// Processors that we may use, all memory, and the graphics processors whose drivers tell of them.
    pub fn of_this_machine() -> Capacity {
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kib = kib.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
        Capacity { cpus, memory: kib.unwrap_or(0) * 1024, gpus: gpus(Path::new("/")) }
    }
}

/// Counts graphics processors: NVIDIA's driver has a folder for each; AMD's lists processors, too,
/// whose number as a graphics processor is 0.
fn gpus(root: &Path) -> u32 {
    let entries = |path: &str| std::fs::read_dir(root.join(path)).into_iter().flatten().flatten();
    let nvidia = entries("proc/driver/nvidia/gpus").count();
    let amd = entries("sys/class/kfd/kfd/topology/nodes").filter(|node| {
        let id = std::fs::read_to_string(node.path().join("gpu_id")).unwrap_or_default();
        !matches!(id.trim(), "" | "0")
    });
    u32::try_from(nvidia + amd.count()).unwrap_or(u32::MAX)
}

impl From<Capacity> for Resources {
    fn from(capacity: Capacity) -> Resources {
        let Capacity { cpus, memory, gpus } = capacity;
        Resources { cpus, memory, gpus }
    }
}

/// A host whose orders have changed, and the newest of them; nothing when the host is gone.
pub type News = (String, Option<Version>);

/// A host for those who look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    pub name: String,
    pub capacity: Resources,
    pub processors: Arc<Processors>,
    pub last_seen: Stamp,
    pub silent: bool,
}

#[derive(Debug)]
struct Node {
    controller: Controller,
    capacity: Resources,
    /// As the host has told them, and what that means.
    told: String,
    processors: Arc<Processors>,
    /// By the system's clock, for people.
    last_seen: Stamp,
    /// What of that is written down.
    recorded: Option<NodeRow>,
    /// A job was lost on it, or on another host with it: it gets none before it reports again.
    suspect: bool,
}

impl Node {
    fn new(controller: Controller, capacity: Resources, told: &str, last_seen: Stamp) -> Node {
        let processors = known(told, capacity);
        let (recorded, suspect, told) = (None, false, told.to_string());
        Node { controller, capacity, told, processors, last_seen, recorded, suspect }
    }

    fn is_silent(&self, now: Stamp) -> bool {
        self.suspect || self.controller.is_silent(now, SILENT_SECONDS)
    }

    /// Hears of a report that came without the manager.
    fn hear(&mut self, beat: Beat) {
        self.controller.hear(beat.last, beat.at);
        self.last_seen = self.last_seen.max(beat.seen);
    }
}

/// The processors that a host has told, if they are as many as it has; else nobody knows them.
fn known(told: &str, capacity: Resources) -> Arc<Processors> {
    let all = Processors::parse(told).filter(|all| all.count() == capacity.cpus);
    Arc::new(all.unwrap_or_default())
}

/// See the module. Silence is measured on a clock that nobody sets, the one of [`Pulses`].
#[derive(Debug)]
pub struct Fleet {
    queue: Queue,
    /// Silence after which a host's jobs are given up.
    limit: u64,
    nodes: BTreeMap<String, Node>,
    /// Hosts of whose orders nobody was told yet.
    news: BTreeSet<String>,
    /// Reports that come without the manager.
    pulses: Pulses,
    looked: Stamp,
}

impl Fleet {
    /// Takes up the hosts that are known. Nobody has been silent before now.
    pub fn new(queue: Queue, limit: u64, rows: Vec<NodeRow>) -> Fleet {
        let mut nodes = BTreeMap::new();
        for row in rows {
            let controller = Controller::new(queue.clone(), row.identity.clone(), Stamp(0));
            let (capacity, last_seen) = (row.capacity, row.last_seen);
            let mut node = Node::new(controller, capacity, &row.processors, last_seen);
            node.recorded = Some(row.clone());
            nodes.insert(row.name, node);
        }
        let news = nodes.keys().cloned().collect();
        Fleet { queue, limit, nodes, news, pulses: Pulses::default(), looked: Stamp(0) }
    }

    /// Where reports without news go.
    pub fn pulses(&self) -> Pulses {
        self.pulses.clone()
    }

    fn now(&self) -> Stamp {
        self.pulses.now()
    }

    /// A host, after it was heard what came without the manager.
    fn heard(&mut self, name: &str) -> Option<&mut Node> {
        let beat = self.pulses.beat(name);
        let node = self.nodes.get_mut(name)?;
        beat.into_iter().for_each(|beat| node.hear(beat));
        Some(node)
    }

    /// The same of all hosts.
    fn hear(&mut self) {
        let nodes = &mut self.nodes;
        self.pulses.for_each(|name, beat| {
            if let Some(node) = nodes.get_mut(name) {
                node.hear(beat);
            }
        });
    }

    /// A host of which something changes: its reports come to the manager again.
    fn closed(&mut self, name: &str) -> Option<&mut Node> {
        let beat = self.pulses.close(name);
        let node = self.nodes.get_mut(name)?;
        beat.into_iter().for_each(|beat| node.hear(beat));
        Some(node)
    }

    /// To be called every few seconds: time in which the server itself stood still is nobody's
    /// silence.
    pub fn tick(&mut self) {
        self.hear();
        let now = self.now();
        if now.0 - self.looked.0 > AWAY_MS {
            self.nodes.values_mut().for_each(|node| node.controller.excuse(now));
        }
        self.looked = now;
    }

    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    pub fn views(&mut self) -> Vec<NodeView> {
        self.hear();
        let now = self.now();
        let of = |(name, node): (&String, &Node)| NodeView {
            name: name.clone(),
            capacity: node.capacity,
            processors: Arc::clone(&node.processors),
            last_seen: node.last_seen,
            silent: node.is_silent(now),
        };
        self.nodes.iter().map(of).collect()
    }

    /// The hosts that have new orders since this was asked last.
    pub fn take_news(&mut self) -> Vec<News> {
        let news = std::mem::take(&mut self.news);
        let version = |name: &String| Some(self.nodes.get(name)?.controller.version());
        news.into_iter().map(|name| (version(&name), name)).map(|(v, name)| (name, v)).collect()
    }

    /// Changes what is wanted of a host.
    fn order(&mut self, name: &str, change: impl FnOnce(&mut Controller)) {
        let Some(node) = self.closed(name) else { return };
        let before = node.controller.version();
        change(&mut node.controller);
        if node.controller.version() != before {
            self.news.insert(name.to_string());
        }
    }

    pub fn orders(&self, name: &str) -> Option<Orders> {
        self.nodes.get(name).map(|node| node.controller.orders())
    }

    /// Of the data folder of the host that reports under this name.
    pub fn identity(&self, name: &str) -> Option<&str> {
        self.nodes.get(name).map(|node| node.controller.identity())
    }

    /// Takes a host's report. Gives the jobs of which there is news, and whether the policy has to
    /// look again, since the host is new, back, or of another size.
    pub fn report(
        &mut self,
        name: &str,
        report: &Report,
        capacity: Resources,
    ) -> Result<(Vec<JobId>, bool), Refused> {
        let now = self.now();
        self.closed(name);
        let fresh = !self.nodes.contains_key(name);
        if fresh {
            let controller = Controller::new(self.queue.clone(), report.identity.clone(), now);
            let node = Node::new(controller, capacity, &report.processors, Stamp::now());
            self.nodes.insert(name.to_string(), node);
            self.news.insert(name.to_string());
        }
        let Some(node) = self.nodes.get_mut(name) else { return Ok((Vec::new(), false)) };
        let was_silent = node.is_silent(now);
        let jobs = node.controller.report(report, now, SILENT_SECONDS)?;
        node.last_seen = Stamp::now();
        node.suspect = false;
        let same = node.capacity == capacity && node.told == report.processors;
        if !same {
            (node.capacity, node.processors) = (capacity, known(&report.processors, capacity));
            node.told.clone_from(&report.processors);
        }
        let changed = fresh || was_silent || !same;
        Ok((jobs, changed))
    }

    /// Lets a host that the manager has just taken this report of say the same again without it,
    /// as long as nothing is to be done about the host.
    pub fn lets_report(&self, name: &str, report: &Report, capacity: Capacity) {
        let Some(node) = self.nodes.get(name) else { return };
        let Some(last) = node.controller.last_report().filter(|_| !node.suspect) else { return };
        let Some(recorded) = &node.recorded else { return };
        let orders = node.controller.orders();
        // Jobs that it has still to be given in full, or that it has and nobody wants there: both
        // pass soon, and need not be kept a second time.
        let settled = orders.jobs.iter().all(|ordered| ordered.work.is_none())
            && report.jobs.len() <= orders.jobs.len();
        if settled && last.0 == (report.session, report.number) {
            let beat = Beat { last: last.0, at: last.1, seen: node.last_seen };
            self.pulses.open(name, (report, capacity), orders, recorded.last_seen, beat);
        }
    }

    /// What is to be written down of a host now, if anything is.
    pub fn unrecorded(&self, name: &str) -> Option<NodeRow> {
        let node = self.nodes.get(name)?;
        let (identity, capacity, last_seen) =
            (node.controller.identity(), node.capacity, node.last_seen);
        let same = node.recorded.as_ref().is_some_and(|old| {
            let before = (old.identity.as_str(), old.capacity, &old.processors);
            before == (identity, capacity, &node.told)
                && (0..SEEN_EVERY_MS).contains(&(last_seen.0 - old.last_seen.0))
        });
        let (name, identity) = (name.to_string(), identity.to_string());
        let processors = node.told.clone();
        (!same).then_some(NodeRow { name, identity, capacity, processors, last_seen })
    }

    pub fn recorded(&mut self, row: NodeRow) {
        if let Some(node) = self.nodes.get_mut(&row.name) {
            node.recorded = Some(row);
        }
    }

    /// An attempt of a job was lost, and one of its hosts may be, too: those that live report soon.
    pub fn suspect(&mut self, job: &Job) {
        for share in &job.allocation {
            if let Some(node) = self.closed(&share.host) {
                node.suspect = true;
            }
        }
    }

    /// Forgets a host that is silent.
    pub fn remove(&mut self, name: &str) {
        self.closed(name);
        self.nodes.remove(name);
        self.news.insert(name.to_string());
    }

    /// Wants the job on the hosts of its allocation. Those behind the first know its processes by
    /// their mark and end what is left of them.
    pub fn want(&mut self, job: &Job) {
        for (number, share) in job.allocation.iter().enumerate() {
            if self.nodes.get(&share.host).is_some_and(|node| !node.controller.wants(job.attempt()))
            {
                let mut work = Work { job: Box::new(job.clone()), part: number > 0 };
                if self.queue.system {
                    work.job.uid = account::find(&job.summary.user).map(|account| account.uid);
                }
                self.order(&share.host, |controller| controller.want(work));
            }
        }
    }

    /// How a job stands whose supervisor is on one of these hosts.
    pub fn standing(&mut self, job: &Job) -> Standing {
        let host = job.first_host().unwrap_or_default();
        let (now, limit) = (self.now(), self.limit);
        match self.heard(host) {
            Some(node) => node.controller.standing(job.attempt(), now, limit),
            None => {
                let text = format!("host {host} does not belong to this queue any more");
                let outcome = Outcome::of(OutcomeKind::NodeLost).with(text);
                Standing::Ended(outcome, Stamp::now())
            }
        }
    }

    /// What its hosts behind the first have told of the end of their ranks, if one has.
    pub fn end_elsewhere(&self, job: &Job) -> Option<Outcome> {
        let further = job.allocation.iter().skip(1);
        let of = |share: &Share| self.nodes.get(&share.host)?.controller.end_of(job.attempt());
        further.filter_map(of).next()
    }

    /// How it has ended, should it fail, as those hosts have told.
    pub fn if_fails(&self, job: &Job) -> Option<Outcome> {
        let further = job.allocation.iter().skip(1);
        let of = |share: &Share| self.nodes.get(&share.host)?.controller.if_fails(job.attempt());
        further.filter_map(of).next()
    }

    pub fn cancel(&mut self, job: &Job, by: &str) {
        let host = job.first_host().unwrap_or_default();
        self.order(host, |controller| controller.cancel(job.attempt(), by));
    }

    /// The job's end is recorded: nothing of it is wanted anywhere.
    pub fn forget(&mut self, job: &Job) {
        for share in &job.allocation {
            self.order(&share.host, |controller| controller.forget(job.attempt()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphics_processors_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(gpus(dir.path()), 0);
        for (path, id) in [("0", "0"), ("1", "4660"), ("2", "4661\n")] {
            let node = dir.path().join("sys/class/kfd/kfd/topology/nodes").join(path);
            std::fs::create_dir_all(&node).unwrap();
            std::fs::write(node.join("gpu_id"), id).unwrap();
        }
        std::fs::create_dir_all(dir.path().join("proc/driver/nvidia/gpus/0000:01:00.0")).unwrap();
        assert_eq!(gpus(dir.path()), 3);
    }

    #[test]
    fn only_hosts_with_new_orders_are_told_of() {
        let mut fleet = Fleet::new(Queue::default(), 300, Vec::new());
        let capacity = Resources { cpus: 2, memory: 3, gpus: 0 };
        let report =
            |number| Report { identity: "a".into(), session: 1, number, ..Report::default() };
        let names = |fleet: &mut Fleet| {
            let news = fleet.take_news().into_iter();
            news.map(|(name, version)| (name, version.map(|v| v.number))).collect::<Vec<_>>()
        };
        for host in ["n1", "n2"] {
            fleet.report(host, &report(1), capacity).unwrap();
        }
        assert_eq!(names(&mut fleet), [("n1".into(), Some(0)), ("n2".into(), Some(0))]);
        fleet.report("n1", &report(2), capacity).unwrap();
        assert_eq!(names(&mut fleet), []);
        let mut job = crate::apply::tests::job(7);
        job.summary.hosts = vec!["n2".into()];
        let (ranks, cpus, memory, gpus) = (1, 1, 0, Vec::new());
        job.allocation = vec![crate::job::Share {
            host: "n2".into(),
            ranks,
            cpus,
            memory,
            gpus,
            ..Default::default()
        }];
        // Wanted again, and cancelled again: that is no news.
        let steps: [fn(&mut Fleet, &Job); 3] =
            [Fleet::want, |fleet, job| fleet.cancel(job, "ann"), Fleet::forget];
        for (step, number) in steps.into_iter().zip(1..) {
            step(&mut fleet, &job);
            step(&mut fleet, &job);
            assert_eq!(names(&mut fleet), [("n2".into(), Some(number))]);
        }
        fleet.remove("n1");
        assert_eq!(names(&mut fleet), [("n1".into(), None)]);
    }

    #[test]
    fn a_host_is_recorded_when_it_changes() {
        let mut fleet = Fleet::new(Queue::default(), 300, Vec::new());
        let capacity = Resources { cpus: 2, memory: 3, gpus: 0 };
        let report =
            |number| Report { identity: "a".into(), session: 1, number, ..Report::default() };
        assert_eq!(fleet.report("n1", &report(1), capacity), Ok((Vec::new(), true)));
        let row = fleet.unrecorded("n1").expect("it is new");
        fleet.recorded(row);
        assert_eq!(fleet.report("n1", &report(2), capacity), Ok((Vec::new(), false)));
        assert_eq!(fleet.unrecorded("n1"), None);
        let larger = Resources { cpus: 4, ..capacity };
        assert_eq!(fleet.report("n1", &report(3), larger), Ok((Vec::new(), true)));
        assert_eq!(fleet.unrecorded("n1").unwrap().capacity, larger);
        assert_eq!(fleet.report("n1", &report(3), larger), Err(Refused::Stale));
    }
}
