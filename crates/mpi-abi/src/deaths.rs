//! Ranks that have died while the job goes on (`--enable-recovery`).
//!
//! Our launcher keeps their numbers in the key-value space. A rank that waits for long asks for them, and waits for no
//! answer; where the launcher does not know the key, a dead rank ends the job, and nothing is asked again.

use crate::object::comm::CommObject;
use crate::runtime::{Entered, World};
use hpvm_job::{Client, Job};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Comm, Error};
use std::time::{Duration, Instant};

/// Where the launcher keeps them (`hpvm_launch::pmi::server::LOST_KEY`): numbers with commas between them.
const KEY: &str = "hpvm-lost-ranks";
/// From one question to the next. A job whose ranks all wait asks its launcher twice a second for each.
const BETWEEN: Duration = Duration::from_millis(500);
/// Longest sleep while an answer is due, which rings no bell.
const FOR_ANSWER: Duration = Duration::from_millis(5);
/// Calls that do not wait, and give way because nothing comes, from one look at the time to the next.
const CALLS: u32 = 64;

/// What a rank knows of it.
#[derive(Debug)]
pub struct Deaths {
    /// When to ask next; none: never.
    next: Option<Instant>,
    /// An answer is due.
    asked: bool,
    /// Calls that gave way.
    calls: u32,
}

impl Deaths {
    /// For a process of `job`. Other launchers have no such key, and some take long to say so.
    pub fn new(job: &Job) -> Deaths {
        let ours = crate::runtime::launcher_is_ours()
            && matches!(job.manager, Some(Client::One(_)))
            && job.size > 1;
        Deaths { next: ours.then(|| Instant::now() + BETWEEN), asked: false, calls: 0 }
    }

    /// How long a sleep of at most `limit` may be.
    pub fn shorten(&self, limit: Duration) -> Duration {
        if self.asked { limit.min(FOR_ANSWER) } else { limit }
    }
}

impl Entered {
    /// Asks the launcher from time to time who has died, and ends what waits for the dead. To be called when nothing
    /// moves. True when something ended.
    pub(crate) fn learn_of_deaths(&mut self) -> bool {
        if let Some(next) = self.deaths.next
            && (self.deaths.asked || Instant::now() >= next)
        {
            self.ask_for_deaths();
        }
        self.process.has_lost() && self.process.end_lost()
    }

    /// The same in a call that does not wait, once in many of them.
    #[cold]
    pub(crate) fn learn_of_deaths_sometimes(&mut self) {
        self.deaths.calls = self.deaths.calls.wrapping_add(1);
        if self.deaths.calls.is_multiple_of(CALLS) {
            self.learn_of_deaths();
        }
    }

    #[cold]
    fn ask_for_deaths(&mut self) {
        let World { deaths, job, process, .. } = &mut **self;
        let Some(manager) = &mut job.manager else { return };
        if !deaths.asked {
            // That the launcher is gone is found out elsewhere.
            deaths.asked = manager.begin_get(KEY).is_ok();
            deaths.next = deaths.asked.then(|| Instant::now() + BETWEEN);
            return;
        }
        match manager.poll_get(KEY) {
            Ok(None) => {}
            Ok(Some(Some(lost))) => {
                deaths.asked = false;
                let ranks = lost.split(',').filter_map(|rank| rank.parse().ok());
                let ranks: Vec<u32> = ranks.filter(|rank| *rank < job.size).collect();
                ranks.iter().for_each(|rank| process.fm_mut().transport_mut().mark_dead(*rank));
                process.lose(ranks.into_iter());
            }
            // Ranks that fail end this job, or nobody is there who could tell.
            Ok(Some(None)) | Err(_) => (deaths.asked, deaths.next) = (false, None),
        }
    }

    /// The error of a blocking collective through shared memory one of whose members has died. It is for those that
    /// are about to sleep: what has been posted before a member died is enough for some.
    pub(crate) fn check_members(&mut self, object: &CommObject) -> Result<()> {
        match self.process.lost_member(&object.comm) {
            None => Ok(()),
            Some(error) => {
                self.process.give_up_slots(&object.comm);
                Err(error)
            }
        }
    }

    /// Blocks until `done` says so, or a member of `comm` is known to have died.
    pub(crate) fn wait_for_members(
        &mut self,
        comm: &Comm,
        done: impl FnMut(&mut World) -> bool,
    ) -> Result<()> {
        self.wait_unless(done, |w| w.process.lost_member(comm))
    }

    /// Blocks until `done` says so, or any process of the job is known to have died: anybody may have been the one who
    /// would have seen to it.
    pub(crate) fn wait_for_everybody(
        &mut self,
        done: impl FnMut(&mut World) -> bool,
    ) -> Result<()> {
        self.wait_unless(done, |w| w.process.lost_member(w.process.world()))
    }

    /// Blocks until `done` says so, or process `src` of `comm`, which may be any, is known to have died.
    pub(crate) fn wait_for_sender(
        &mut self,
        comm: &Comm,
        src: u32,
        done: impl FnMut(&mut World) -> bool,
    ) -> Result<()> {
        self.wait_unless(done, |w| w.process.lost_source(comm, src))
    }

    fn wait_unless(
        &mut self,
        mut done: impl FnMut(&mut World) -> bool,
        lost: impl Fn(&World) -> Option<Error>,
    ) -> Result<()> {
        let mut error = None;
        self.wait_until(|w| {
            let done = done(w);
            error = if done { None } else { lost(w) };
            done || error.is_some()
        })?;
        error.map_or(Ok(()), Err)
    }
}
