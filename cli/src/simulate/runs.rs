//! The jobs, one after the other.

use std::rc::Rc;

use hpvm_simulate::program::PingPong;
use hpvm_simulate::recorded::Replay;
use hpvm_simulate::trace::{Poisson, Trace};
use hpvm_simulate::{Call, Job, Kind, Outcome, Program, Repeated};

use super::args::Asked;
use super::{read, said, start};

/// What came of one job.
pub struct Row {
    pub ranks: u32,
    pub hosts: u32,
    pub outcome: Outcome,
    /// Of one call, one way of a message, or one step of a trace.
    pub time: u64,
    /// What the whole of it took where it was recorded.
    pub measured: Option<u64>,
}

pub fn rows(asked: &Asked) -> Result<Vec<Row>, String> {
    asked.ranks.iter().map(|ranks| row(asked, *ranks)).collect()
}

fn row(asked: &Asked, ranks: u32) -> Result<Row, String> {
    let hosts = asked.hosts_of(ranks);
    let job = Job {
        machine: asked.machine.clone(),
        ranks,
        hosts,
        fabric: asked.fabric.clone(),
        seed: asked.seed,
        noise: asked.noise,
    };
    let (size, times) = (asked.size, asked.times);
    let repeated = |call| Rc::new(Repeated { call, times }) as Rc<dyn Program>;
    let call = match asked.subject.as_str() {
        "allreduce" => Some(Call::of_all(Kind::Allreduce, size)),
        "alltoall" => Some(Call::of_all(Kind::Alltoall, size)),
        "bcast" => Some(Call::of_all(Kind::Bcast, size)),
        "barrier" => Some(Call::BARRIER),
        _ => None,
    };
    let (outcome, ways) = match (call, asked.subject.as_str()) {
        (Some(call), _) if asked.schedules => (job.run_schedules(call, times), 1),
        (Some(call), _) => (job.run(repeated(call)), 1),
        (None, "pingpong") => {
            let program = PingPong { bytes: size, times, partner: ranks - 1 };
            (job.run(Rc::new(program)), 2)
        }
        (None, "start") => return started(asked, &job),
        (None, _) => (job.run(trace(asked, ranks)?), 1),
    };
    let outcome = outcome.map_err(said)?;
    let marked = !outcome.steps().is_empty();
    let time = if marked { outcome.mean() / ways } else { outcome.end };
    let recorded = asked.recorded.as_ref().filter(|recorded| recorded.ranks() == ranks);
    let measured = recorded.map(|recorded| recorded.measured());
    Ok(Row { ranks, hosts, time, measured, outcome })
}

fn started(asked: &Asked, job: &Job) -> Result<Row, String> {
    let outcome = start::run(job, asked.costs)?;
    Ok(Row { ranks: job.ranks, hosts: job.hosts, time: outcome.end, measured: None, outcome })
}

/// The calls of a file, or of an application.
fn trace(asked: &Asked, ranks: u32) -> Result<Rc<dyn Program>, String> {
    if let Some(recorded) = &asked.recorded {
        return Ok(Rc::new(Replay::new(recorded.clone(), ranks).map_err(said)?));
    }
    if let Some(file) = &asked.file {
        let trace = Trace::read(&read(file)?, ranks);
        let trace = trace.map_err(|e| format!("simulate: '{}': {e}", file.display()))?;
        return Ok(Rc::new(trace));
    }
    let pattern = asked.pattern.as_deref().unwrap_or_default();
    match pattern.split_once(':').unwrap_or((pattern, "")) {
        ("poisson", settings) => Ok(Rc::new(Poisson::read(settings, ranks).map_err(said)?)),
        (other, _) => Err(format!("simulate: --pattern '{other}': expected poisson")),
    }
}
