//! The jobs of this user on this machine, and what their ranks do. It reads what they show in their
//! shared memory, and disturbs nobody.

pub mod activity;
pub mod diagnose;
pub mod find;
pub mod process;
pub mod traffic;

use std::path::Path;

use diagnose::State;
use find::Job;
use hpvm_shm::observe::{Seen, View};
use hpvm_wire::pending::Stage;

/// Times the ranks are looked at until none of them has changed meanwhile.
const LOOKS: u32 = 5;

/// The ranks of a job at one moment.
pub struct Look {
    pub ranks: Vec<Seen>,
    pub states: Vec<State>,
    /// No rank fell asleep or woke up while we looked.
    pub whole: bool,
    /// Ranks of the job that run on other hosts, of which nothing can be said from here.
    pub elsewhere: u32,
}

/// Looks at the ranks of a job, some times if they change meanwhile.
pub fn look(view: &View, job: &Job) -> Result<Look, hpvm_shm::SegmentError> {
    let mut left = LOOKS;
    loop {
        let ranks = (0..view.ranks()).map(|rank| view.look(rank)).collect::<Result<Vec<_>, _>>()?;
        let mut whole = true;
        for (rank, seen) in (0..).zip(&ranks) {
            whole &= view.generation(rank)? == seen.pending.generation;
        }
        left -= 1;
        if whole || left == 0 {
            let now = now();
            let own = |seen: &Seen| job.processes.contains(&(seen.pid as i32));
            // In a container the ranks have other numbers there than here.
            let here = ranks.iter().any(own);
            let states = ranks.iter().map(|seen| state(seen, now, here)).collect();
            let elsewhere = job.size.unwrap_or(0).saturating_sub(ranks.len() as u32);
            return Ok(Look { ranks, states, whole, elsewhere });
        }
    }
}

/// CLOCK_MONOTONIC in nanoseconds, the clock of the ranks.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The state of a rank whose number is one of this machine if `here`.
fn state(seen: &Seen, now: u64, here: bool) -> State {
    if seen.pid == 0 {
        return State::Starting;
    }
    let gone = here && !Path::new(&format!("/proc/{}", seen.pid)).exists();
    match (seen.pending.stage, &seen.pending.asleep) {
        (Stage::Finalized, _) => State::Finalized,
        _ if gone => State::Gone,
        (_, None) => State::Running,
        (_, Some(asleep)) => State::Sleeping {
            seconds: now.saturating_sub(asleep.since) as f64 * 1e-9,
            records: asleep.records.clone(),
            more: asleep.total - asleep.records.len() as u32,
            threads: asleep.threads,
        },
    }
}

impl Look {
    /// What is to be said about the job; nothing while it moves.
    pub fn findings(&self) -> Vec<String> {
        match self.whole && self.elsewhere == 0 {
            true => diagnose::findings(&self.states),
            false => Vec::new(),
        }
    }

    /// No rank can go on.
    pub fn is_stuck(&self) -> bool {
        self.whole && self.elsewhere == 0 && diagnose::is_stuck(&self.states)
    }

    /// The number in the job of the rank at `place` of this host.
    pub fn rank(&self, place: usize) -> usize {
        if self.elsewhere == 0 { place } else { self.ranks[place].rank as usize }
    }
}
