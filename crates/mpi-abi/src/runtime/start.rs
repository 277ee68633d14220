//! Starting and ending the engine: the job's bootstrap.

use super::meet::{self, manager};
use super::tables;
use super::{Entered, World, close, enter, install, is_running, resume, suspend};
use crate::object::Objects;
use hpvm_job::{Job, Settings};
use hpvm_mpi::engine::wait_policy::WaitPolicy;
use hpvm_mpi::{Class, Error, Process, Result};
use hpvm_wire::pending::Stage;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Uses of the engine: the world model between `MPI_Init` and `MPI_Finalize`, and each session.
static USES: Mutex<u32> = Mutex::new(0);

/// Begins a use of the engine, which starts with the first one. Blocks until all ranks of the host
/// have met when it does.
pub fn start() -> Result<()> {
    let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    if !is_running() {
        match resume() {
            true => enter()?.show_stage(Stage::Running),
            false => bootstrap()?,
        }
    }
    *uses += 1;
    Ok(())
}

fn bootstrap() -> Result<()> {
    let settings = Settings::of(|name| std::env::var(name).ok());
    let mut job = Job::join(&settings).map_err(manager)?;
    super::identity::set(&job);
    let ranks = job.neighbours().len();
    let met = tables::find(job.rank == 0, ranks != job.size as usize)
        .and_then(|chosen| Ok((meet::connect(&mut job, &chosen)?, chosen)));
    let ((transport, sites), chosen) = met.inspect_err(|_| {
        // The connection stays open: over it the job is ended, and the launcher told why.
        std::mem::forget(job.manager.take());
    })?;
    let oversubscribed = transport.oversubscribed();
    let mut process = Process::new(transport);
    process.oversubscribed = oversubscribed;
    let mut tables = chosen.tables;
    if meet::copies_named() {
        tables.copies = Default::default();
    }
    process.set_tables(tables);
    process.set_sites(&job.nodes, &sites);
    process.set_job_number(meet::job_number(&job, process.fm().transport())?);
    let dynamic = crate::dynamic::Dynamic::new(chosen.hash);
    process.onesided().1.set_allowed(meet::onesided()?);
    if monitored()? {
        process.monitor();
    }
    let spans = process.fm().transport().spans_hosts();
    let policy = WaitPolicy::new(process.oversubscribed, spans);
    let deaths = crate::deaths::Deaths::new(&job);
    install(World {
        process,
        deaths,
        objects: Objects::default(),
        policy,
        job,
        dynamic,
        audit: crate::audit::wanted()?,
        quiet: Default::default(),
        long_waits: Default::default(),
        leader: false,
        followers: 0,
        polls_memory: 0,
        naps: false,
        progress_thread: Default::default(),
        read_localities: Default::default(),
    });
    super::identity::started();
    enter()?.show_stage(Stage::Running);
    Ok(())
}

/// Obeys `HPVM_MONITOR`: whether this rank counts what it sends to whom.
fn monitored() -> Result<bool> {
    let Some(value) = std::env::var_os("HPVM_MONITOR") else { return Ok(false) };
    match value.to_str() {
        Some("" | "0") => Ok(false),
        Some("1") => Ok(true),
        _ => {
            let text = format!("HPVM_MONITOR is {value:?}; expected 0 or 1");
            Err(Error::new(Class::Arg, text))
        }
    }
}

/// Ends a use of the engine: completes what still has to leave this process. Blocks.
///
/// The end of the last use tells the process manager that the rank ends in order, and takes the
/// engine out of reach. It stays in memory, because a session may use it again.
pub fn finish(used: Use) -> Result<()> {
    let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    if *uses == 1 {
        crate::body::io::end_background();
    }
    {
        let mut w = enter()?;
        w.flush()?;
        if used == Use::World {
            w.leave_connected();
        }
        if *uses == 1 {
            w.show_stage(Stage::Finalized);
        }
        if w.process.fm().transport().spans_hosts() {
            w.leave(used, *uses == 1)?;
        }
        if *uses == 1 && w.process.fm().transport().links_hosts() {
            w.wait_until(|w| w.process.fm().transport().is_quiet())?;
            w.linger()?;
        }
        if *uses == 1
            && let Some(mut m) = w.job.manager.take()
        {
            // The thread that makes progress waits for the engine, and comes in before `suspend`: what it receives then might make it
            // ask for the card of a rank, which who has finalized must not.
            close();
            m.finalize().map_err(manager)?;
            // The connection stays open until exit: its end tells the manager that we are gone.
            std::mem::forget(m);
        }
    }
    *uses = uses.saturating_sub(1);
    if *uses == 0 {
        suspend();
    }
    Ok(())
}

/// What a use of the engine was.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The world model: all processes of the job end it.
    World,
    /// A session or Fast Messages: others may go on without us, or have never begun.
    Other,
}

/// Longest time that a process without a world answers hosts whose acknowledgement may be lost.
const LINGER: Duration = Duration::from_millis(100);

impl Entered {
    /// Before this process stops talking to other hosts: waits until everything that it sent has
    /// been acknowledged. A process of the world then waits for all others in the process manager's
    /// barrier, and goes on answering them meanwhile, because an acknowledgement of its own may
    /// have been lost; after the barrier nobody waits for one any more.
    fn leave(&mut self, used: Use, last: bool) -> Result<()> {
        self.wait_until(|w| w.process.fm().transport().is_quiet())?;
        match (used, self.job.manager.clone()) {
            (Use::World, Some(mut m)) => {
                m.begin_barrier().map_err(manager)?;
                // Failure to watch it costs time only.
                let _ = self.process.fm().transport().watch(m.fd());
                let mut idle = 0;
                while !m.barrier_is_over() {
                    idle = if self.progress_step()? { 0 } else { idle + 1 };
                    self.rest(idle);
                }
                m.end_barrier().map_err(manager)
            }
            (Use::Other, _) if last => self.linger(),
            _ => Ok(()),
        }
    }

    /// Answers hosts whose acknowledgement may be lost.
    fn linger(&mut self) -> Result<()> {
        let end = Instant::now() + LINGER;
        while Instant::now() < end {
            self.progress_step()?;
            self.nap(LINGER / 10);
        }
        Ok(())
    }
}
