//! A server and a host on a link that loses, repeats and reorders messages, each killed at random in
//! the middle of what it does, records on both sides that cannot be read for a while, and jobs that the
//! server gives up and starts again: no job is lost, no attempt runs twice or beside an earlier one of
//! its job, and nothing is left on the host.
//! `HPVM_TEST_SEED=n` repeats a run.

use std::collections::{BTreeMap, BTreeSet};

use super::{Controller, Daemon, Deed, Orders, Queue, Report, Work};
use crate::apply::tests::job;
use crate::attempt::Attempt;
use crate::driver::Standing;
use crate::job::{JobId, Outcome, OutcomeKind};
use crate::time::Stamp;

/// Never in this test: silence is not what it is about.
const SILENCE_LIMIT: u64 = 1 << 40;
const NOW: Stamp = Stamp(1000);

/// Random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// What outlives the server: the record of each job.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    running: bool,
    restarts: u32,
    cancelling: bool,
    end: Option<Outcome>,
}

/// What outlives `hpvm node`: a job's folder with its supervisor.
#[derive(Clone, Debug, Default)]
struct Folder {
    claimed: bool,
    end: Option<Outcome>,
}

fn controller(epoch: u64, set_aside: BTreeSet<JobId>) -> Controller {
    let queue = Queue { epoch, set_aside, ..Queue::default() };
    Controller::new(queue, "a".into(), NOW)
}

struct World {
    random: Random,
    rows: BTreeMap<JobId, Row>,
    epoch: u64,
    server: Controller,
    folders: BTreeMap<Attempt, Folder>,
    forgotten: BTreeSet<Attempt>,
    session: u64,
    host: Daemon,
    /// How often each attempt was started, and how it really ended.
    starts: BTreeMap<Attempt, u32>,
    truth: BTreeMap<Attempt, Outcome>,
    up: Vec<Report>,
    down: Vec<Orders>,
    /// All records can be read from here on.
    mended: bool,
}

impl World {
    fn new(seed: u64) -> World {
        World {
            random: Random(seed),
            rows: BTreeMap::new(),
            epoch: 1,
            server: controller(1, BTreeSet::new()),
            folders: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            session: 1,
            host: Daemon::new("a".into(), 1, BTreeSet::new()),
            starts: BTreeMap::new(),
            truth: BTreeMap::new(),
            up: Vec::new(),
            down: Vec::new(),
            mended: false,
        }
    }

    fn attempt(&self, id: JobId) -> Attempt {
        Attempt { job: id, restarts: self.rows[&id].restarts }
    }

    fn want(&mut self, id: JobId) {
        let mut job = job(id);
        job.summary.restarts = self.rows[&id].restarts;
        self.server.want(Work { job: Box::new(job), part: false });
    }

    /// The server believes the attempt to be lost, and records that the next one runs.
    fn give_up(&mut self, id: JobId) {
        let before = self.attempt(id);
        self.rows.get_mut(&id).expect("a row").restarts += 1;
        if self.random.one_in(10) {
            return self.server_dies();
        }
        self.server.forget(before);
        self.want(id);
    }

    /// The server is killed, and another one takes up what is recorded, but for some records that it
    /// cannot read. Messages stay on the way.
    fn server_dies(&mut self) {
        let unread = |_: &JobId| !self.mended && self.random.one_in(5);
        let running = self.rows.iter().filter(|(_, row)| row.running).map(|(id, _)| *id);
        let set_aside = running.filter(unread).collect();
        self.server_begins(set_aside);
    }

    fn server_begins(&mut self, set_aside: BTreeSet<JobId>) {
        self.epoch += 1;
        self.server = controller(self.epoch, set_aside.clone());
        let read = self.rows.iter().filter(|(id, row)| row.running && !set_aside.contains(id));
        let running: Vec<_> = read.map(|(id, row)| (*id, row.cancelling)).collect();
        for (id, cancelling) in running {
            self.want(id);
            if cancelling {
                self.server.cancel(self.attempt(id), "ann");
            }
        }
    }

    fn host_dies(&mut self) {
        self.session += 1;
        self.host = Daemon::new("a".into(), self.session, self.forgotten.clone());
        // Reports of the life before may still be on their way; its orders are not: they die with
        // the connection.
        self.down.clear();
        for id in self.folders.keys() {
            match self.forgotten.contains(id) {
                // It was being removed.
                true => {}
                false if !self.mended && self.random.one_in(5) => {
                    self.host.unread(*id, "torn".into())
                }
                false => self.host.found(*id, false),
            }
        }
        let forgotten = self.forgotten.clone();
        self.folders.retain(|id, _| !forgotten.contains(id));
    }

    /// As the real one does; may be killed between any two steps.
    fn perform(&mut self, deed: Deed) -> bool {
        match deed {
            Deed::Start(work) => {
                self.folders.entry(work.job.attempt()).or_default();
                if self.random.one_in(20) {
                    return false;
                }
                self.attend(work.job.attempt());
            }
            Deed::Cancel { job, .. } => {
                let folder = self.folders.get_mut(&job).expect("a folder");
                if folder.end.is_none() {
                    folder.claimed = true;
                    let outcome = Outcome::of(OutcomeKind::Cancelled);
                    folder.end = Some(outcome.clone());
                    self.truth.insert(job, outcome);
                }
            }
            Deed::Remove { job } => {
                self.forgotten = self.host.forgotten_with(job);
                if self.random.one_in(20) {
                    return false;
                }
                self.folders.remove(&job);
                self.host.removed(job);
            }
        }
        true
    }

    fn all(&mut self, deeds: Vec<Deed>) {
        for deed in deeds {
            if !self.perform(deed) {
                return self.host_dies();
            }
        }
    }

    /// Looks at a job as the driver does.
    fn attend(&mut self, id: Attempt) {
        if self.host.waits(id) {
            return;
        }
        let earlier = self.folders.range(Attempt::first(id.job)..id);
        let runs = |folder: &Folder| folder.claimed && folder.end.is_none();
        assert!(!earlier.into_iter().any(|(_, folder)| runs(folder)), "two of job {}", id.job);
        let folder = self.folders.get_mut(&id).expect("a folder");
        if !folder.claimed {
            folder.claimed = true;
            *self.starts.entry(id).or_default() += 1;
        }
        let standing = match &folder.end {
            Some(outcome) => Standing::Ended(outcome.clone(), NOW),
            None => Standing::Runs,
        };
        let deeds = self.host.stands(id, standing);
        self.all(deeds);
        self.host.sent(id, None);
    }

    fn host_ticks(&mut self) {
        let overdue = self.host.overdue();
        self.all(overdue);
        for id in self.host.running() {
            self.attend(id);
        }
        let report = self.host.report();
        self.up.push(report);
    }

    fn deliver_up(&mut self, report: Report) {
        let Ok(news) = self.server.report(&report, NOW, 10) else { return };
        for id in news {
            let attempt = self.attempt(id);
            if let Standing::Ended(outcome, _) = self.server.standing(attempt, NOW, SILENCE_LIMIT) {
                let row = self.rows.get_mut(&id).expect("a row");
                assert!(row.end.is_none(), "job {id} ends twice");
                *row = Row { end: Some(outcome), restarts: row.restarts, ..Row::default() };
                if self.random.one_in(20) {
                    return self.server_dies();
                }
                self.server.forget(attempt);
            }
        }
    }

    /// Takes a message off the link: any of them, and sometimes it stays there.
    fn pick<T: Clone>(random: &mut Random, link: &mut Vec<T>) -> Option<T> {
        let place = (!link.is_empty()).then(|| random.below(link.len()))?;
        match random.one_in(4) {
            true => Some(link[place].clone()),
            false => Some(link.swap_remove(place)),
        }
    }

    fn step(&mut self) {
        match self.random.below(12) {
            0 if self.rows.len() < 30 => {
                let id = self.rows.len() as JobId + 1;
                self.rows.insert(id, Row { running: true, ..Row::default() });
                if self.random.one_in(10) {
                    return self.server_dies();
                }
                self.want(id);
            }
            1 => {
                let running: Vec<JobId> =
                    self.rows.iter().filter(|(_, row)| row.running).map(|(id, _)| *id).collect();
                if !running.is_empty() {
                    let id = running[self.random.below(running.len())];
                    if self.random.one_in(2) && !self.rows[&id].cancelling {
                        return self.give_up(id);
                    }
                    self.rows.get_mut(&id).expect("a row").cancelling = true;
                    self.server.cancel(self.attempt(id), "ann");
                }
            }
            2 | 3 => {
                let ids: Vec<Attempt> = self.folders.keys().copied().collect();
                for id in ids {
                    let ends = self.random.one_in(3);
                    let folder = self.folders.get_mut(&id).expect("a folder");
                    if ends && folder.claimed && folder.end.is_none() {
                        let outcome = Outcome::exit(id.job as i32);
                        folder.end = Some(outcome.clone());
                        self.truth.insert(id, outcome);
                    }
                }
            }
            4 => self.down.push(self.server.orders()),
            5 => self.host_ticks(),
            6 | 7 => {
                if let Some(report) = Self::pick(&mut self.random, &mut self.up)
                    && !self.random.one_in(4)
                {
                    self.deliver_up(report);
                }
            }
            8 | 9 => {
                if let Some(orders) = Self::pick(&mut self.random, &mut self.down)
                    && !self.random.one_in(4)
                {
                    let deeds = self.host.orders(&orders);
                    self.all(deeds);
                }
            }
            10 if self.random.one_in(10) => self.server_dies(),
            11 if self.random.one_in(10) => self.host_dies(),
            _ => {}
        }
    }

    /// The link is good, nobody dies, all records can be read, and all jobs end by themselves.
    fn settle(&mut self) {
        self.mended = true;
        self.server_begins(BTreeSet::new());
        for _ in 0..200 {
            for (id, folder) in &mut self.folders {
                if folder.claimed && folder.end.is_none() {
                    let outcome = Outcome::exit(id.job as i32);
                    folder.end = Some(outcome.clone());
                    self.truth.insert(*id, outcome);
                }
            }
            let orders = self.server.orders();
            let deeds = self.host.orders(&orders);
            self.all(deeds);
            self.host_ticks();
            let report = self.up.pop().expect("a report");
            self.deliver_up(report);
        }
    }

    fn check(&self, seed: u64) {
        for (id, starts) in &self.starts {
            assert!(*starts <= 1, "seed {seed}: job {id} ran {starts} times");
        }
        for (id, row) in &self.rows {
            let truth = self.truth.get(&self.attempt(*id));
            assert_eq!(row.end.as_ref(), truth, "seed {seed}: job {id}");
        }
        assert!(self.folders.is_empty(), "seed {seed}: left: {:?}", self.folders);
    }
}

#[test]
fn none_lost_none_twice_nothing_left() {
    let seed = std::env::var("HPVM_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seeds = seed.map_or(0..400, |seed: u64| seed..seed + 1);
    for seed in seeds {
        let mut world = World::new(seed);
        for _ in 0..600 {
            world.step();
        }
        world.settle();
        world.check(seed);
        assert!(!world.rows.is_empty());
    }
}
