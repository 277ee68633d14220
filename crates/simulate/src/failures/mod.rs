//! Years in which processes compute for hours, roads are cut, hosts lose power and processes die: the living must
//! never be given up, the dead always.

pub mod world;

use crate::error::Error;
use world::{SECOND, SILENCE_LIMIT, SLACK, World};

const HOUR: u64 = 3600 * SECOND;
const DAY: u64 = 24 * HOUR;
/// The most time between two looks that counts in full as silence: four rounds of `liveness::Limits`.
const STEP: u64 = SECOND;
/// Mean times between events, and what they last at most.
const MESSAGE: u64 = 10 * 60 * SECOND;
const COMPUTATION: u64 = 12 * HOUR;
const LONGEST_COMPUTATION: u64 = 2 * HOUR;
const CUT: u64 = DAY;
/// From the last sign of life before a cut to the first after it passes more than the cut: so half of the limit.
const LONGEST_CUT: u64 = SILENCE_LIMIT / 2;
const FAILURE: u64 = 10 * DAY;
/// Days that one run may have, 400 years: virtual nanoseconds fit in 64 bits for five hundred.
pub const MAX_DAYS: u32 = 400 * 365;

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub days: u32,
    pub hosts: u32,
    pub per_host: u32,
    pub seed: u64,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lives {
    /// Jobs: the first, and one after each failure.
    pub jobs: u64,
    pub messages: u64,
    pub came: u64,
    pub computations: u64,
    pub cuts: u64,
    pub hosts_lost: u64,
    pub processes_lost: u64,
    /// Nanoseconds from a failure until somebody noticed: the shortest, the longest, and the sum.
    pub soonest: u64,
    pub latest: u64,
    pub sum: u64,
}

/// When each kind of event happens next.
struct Next {
    message: u64,
    computation: u64,
    cut: u64,
    failure: u64,
}

struct Run {
    plan: Plan,
    world: World,
    next: Next,
    lives: Lives,
    end: u64,
}

/// Lets the years pass. Err: a healthy peer was given up, or a dead one was not; the text says when and what.
pub fn run(plan: Plan) -> Result<Lives, Error> {
    if plan.days == 0 || plan.days > MAX_DAYS {
        return Err(Error::new(format!("{} days: expected 1 to {MAX_DAYS}", plan.days)));
    }
    if plan.hosts < 2
        || plan.per_host == 0
        || u64::from(plan.hosts) * u64::from(plan.per_host) > 4096
    {
        return Err(Error::new(format!(
            "{} hosts with {} ranks each: expected at least 2 hosts and at most 4096 ranks",
            plan.hosts, plan.per_host
        )));
    }
    let mut run = Run::new(plan)?;
    while run.world.now < run.end {
        run.go_on()?;
    }
    run.lives.came += run.world.came();
    Ok(run.lives)
}

impl Run {
    fn new(plan: Plan) -> Result<Run, Error> {
        let start = 1000 * SECOND;
        let shape = (plan.hosts, plan.per_host);
        let world = World::new(plan.seed, shape, (start, STEP)).map_err(Error::new)?;
        let mut run = Run {
            plan,
            world,
            next: Next { message: 0, computation: 0, cut: 0, failure: 0 },
            lives: Lives { jobs: 1, soonest: u64::MAX, ..Lives::default() },
            end: start + u64::from(plan.days) * DAY,
        };
        run.next = Next {
            message: run.later(MESSAGE),
            computation: run.later(COMPUTATION),
            cut: run.later(CUT),
            failure: run.later(FAILURE),
        };
        Ok(run)
    }

    /// A moment to come, after `mean` in the mean.
    fn later(&mut self, mean: u64) -> u64 {
        self.world.now + self.world.dice.u64(1..=2 * mean)
    }

    fn two_hosts(&mut self) -> (u32, u32) {
        let hosts = self.world.hosts();
        let a = self.world.dice.u32(0..hosts);
        let b = self.world.dice.u32(1..hosts);
        (a, (a + b) % hosts)
    }

    fn rank_of(&mut self, host: u32) -> u32 {
        host * self.plan.per_host + self.world.dice.u32(0..self.plan.per_host)
    }

    /// Passes one step, or all time until something happens while nobody waits.
    fn go_on(&mut self) -> Result<(), Error> {
        let Next { message, computation, cut, failure } = self.next;
        let soonest = message.min(computation).min(cut).min(failure);
        if self.world.is_idle() && soonest > self.world.now {
            self.world.now = soonest.min(self.end);
        } else {
            self.world.step();
        }
        self.nobody_is_lost()?;
        let now = self.world.now;
        if now >= self.next.message {
            let (a, b) = self.two_hosts();
            let (src, dst) = (self.rank_of(a), self.rank_of(b));
            self.world.send(src, dst);
            self.lives.messages += 1;
            self.next.message = self.later(MESSAGE);
        }
        if now >= self.next.computation {
            let rank = self.world.dice.u32(0..self.world.size());
            let until = now + self.world.dice.u64(0..LONGEST_COMPUTATION);
            self.world.compute(rank, until);
            self.lives.computations += 1;
            self.next.computation = self.later(COMPUTATION);
        }
        if now >= self.next.cut {
            let (a, b) = self.two_hosts();
            let until = now + self.world.dice.u64(0..LONGEST_CUT);
            if !self.world.is_cut() {
                self.world.cut(a, b, until);
                self.lives.cuts += 1;
            }
            self.next.cut = self.later(CUT);
        }
        if now >= self.next.failure {
            self.fail()?;
            self.next.failure = self.later(FAILURE);
        }
        Ok(())
    }

    fn nobody_is_lost(&self) -> Result<(), Error> {
        let Some((at, by, loss)) = self.world.losses.first() else { return Ok(()) };
        Err(Error::new(format!(
            "seed {}: after {} rank {by} gave up rank {}, which is healthy: {:?}",
            self.plan.seed,
            shown(*at),
            loss.peer,
            loss.cause
        )))
    }

    /// A host or a process fails, and somebody sends to it. Then the job begins anew.
    fn fail(&mut self) -> Result<(), Error> {
        // Cuts end before, so that the time until it is noticed has a bound.
        while self.world.is_cut() {
            self.world.step();
            self.nobody_is_lost()?;
        }
        let (dead_host, other) = self.two_hosts();
        let (victim, witness) = (self.rank_of(dead_host), self.rank_of(other));
        let whole = self.world.dice.bool();
        match whole {
            true => self.world.darken(dead_host),
            false => self.world.kill(victim),
        }
        self.world.compute(witness, 0);
        let start = self.world.now;
        self.world.send(witness, victim);
        while self.world.losses.is_empty() && self.world.now < start + SILENCE_LIMIT + SLACK {
            self.world.step();
        }
        self.lives.hosts_lost += u64::from(whole);
        self.lives.processes_lost += u64::from(!whole);
        let Some((at, by, loss)) = self.world.losses.first().copied() else {
            return Err(Error::new(format!(
                "seed {}: after {} rank {victim} has been dead for {} seconds, and rank {witness} waits for it still",
                self.plan.seed,
                shown(start),
                (SILENCE_LIMIT + SLACK) / SECOND
            )));
        };
        if self.world.lives(loss.peer) {
            return Err(Error::new(format!(
                "seed {}: after {} rank {by} gave up rank {}, which is healthy, while rank {victim} was dead: {:?}",
                self.plan.seed,
                shown(at),
                loss.peer,
                loss.cause
            )));
        }
        self.begin_anew(at - start)
    }

    fn begin_anew(&mut self, took: u64) -> Result<(), Error> {
        self.lives.soonest = self.lives.soonest.min(took);
        self.lives.latest = self.lives.latest.max(took);
        self.lives.sum += took;
        self.lives.came += self.world.came();
        self.lives.jobs += 1;
        let seed = self.world.dice.u64(..);
        let shape = (self.plan.hosts, self.plan.per_host);
        self.world = World::new(seed, shape, (self.world.now, STEP)).map_err(Error::new)?;
        Ok(())
    }
}

/// Virtual time for people.
fn shown(at: u64) -> String {
    format!("{} days and {} seconds", at / DAY, at % DAY / SECOND)
}
