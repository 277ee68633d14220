//! `hpvm simulate calibrate`: a machine's numbers from measurements on real ranks, and what the simulation then says
//! beside what more ranks measure.

use std::fmt::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use hpvm_bench::target::Target;
use hpvm_simulate::time::{NS, Time, US, micros};
use hpvm_simulate::{Call, Job, Kind, Machine, Repeated};

use super::said;

/// What is to be measured.
pub struct Plan {
    pub mpirun: PathBuf,
    pub program: PathBuf,
    /// Arguments of mpirun, for jobs on several hosts.
    pub launch: Vec<String>,
    /// Hosts of the jobs: with several, each rank has its own.
    pub hosts: Option<String>,
    pub ranks: Vec<u32>,
    pub machine: Machine,
}

/// Time for one run of the benchmark; a run takes seconds.
const RUN_LIMIT: Duration = Duration::from_secs(120);
/// Runs of each measurement.
const RUNS: u32 = 3;
/// A short message, and one that is copied and not read from the sender's memory.
const SHORT_MESSAGE_BYTES: u64 = 8;
const COPIED_MESSAGE_BYTES: u64 = 4096;
/// For the bandwidth between hosts.
const LONG_MESSAGE_BYTES: u64 = 1 << 20;
/// Steps of the search for the time of a switch: a part in a thousand of a second.
const STEPS: u32 = 20;

/// Measured and predicted, in microseconds.
pub struct Point {
    pub what: &'static str,
    pub ranks: u32,
    pub measured: f64,
    pub predicted: f64,
    /// The machine's numbers were made from it.
    pub used: bool,
}

pub struct Calibrated {
    pub machine: Machine,
    pub points: Vec<Point>,
}

struct Bench<'a> {
    plan: &'a Plan,
    target: Target,
}

pub fn run(plan: &Plan) -> Result<Calibrated, String> {
    let mut target = Target::new("hpvm", plan.mpirun.clone(), plan.program.clone(), None);
    target.launch_args = plan.launch.clone();
    if let Some(hosts) = &plan.hosts {
        target.launch_args.extend(["--host".to_owned(), hosts.clone()]);
        target.launch_args.extend(["-N".to_owned(), "1".to_owned()]);
    }
    target.check().map_err(|error| format!("simulate: {error}"))?;
    let bench = Bench { plan, target };
    match plan.hosts {
        None => bench.inside(),
        Some(_) => bench.between(),
    }
}

impl Bench<'_> {
    /// One size, in microseconds or in the unit of the mode: of the medians of some runs the one that other work on the
    /// machine has disturbed least.
    fn measure(&self, mode: &str, ranks: u32, size: u64) -> Result<f64, String> {
        let runs: Result<Vec<f64>, String> =
            (0..RUNS).map(|_| self.median(mode, ranks, size)).collect();
        let rates = matches!(mode, "rate" | "bandwidth");
        let better = |a: f64, b: f64| if rates { a.max(b) } else { a.min(b) };
        Ok(runs?.into_iter().reduce(better).unwrap_or(1.0))
    }

    /// The median of one run.
    fn median(&self, mode: &str, ranks: u32, size: u64) -> Result<f64, String> {
        let mut args = vec![mode.to_owned()];
        if mode != "barrier" {
            args.extend(["--sizes".to_owned(), size.to_string()]);
        }
        let output = self.target.run(ranks, &args, RUN_LIMIT);
        let output = output.map_err(|error| format!("simulate: {error}"))?;
        let point = output.points.iter().find(|p| p.mode == mode);
        point
            .map(|p| p.median)
            .filter(|median| *median > 0.0)
            .ok_or_else(|| format!("simulate: {mode} on {ranks} ranks has measured nothing"))
    }

    /// Numbers of shared memory, from two ranks; the time of a switch, from twice as many ranks as processors.
    fn inside(&self) -> Result<Calibrated, String> {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let mut machine = self.plan.machine.clone();
        let short = self.measure("latency", 2, SHORT_MESSAGE_BYTES)?;
        let long = self.measure("latency", 2, COPIED_MESSAGE_BYTES)?;
        // Million messages a second.
        let between = 1.0 / self.measure("rate", 2, SHORT_MESSAGE_BYTES)?;
        let work = between.min(short / 3.0);
        machine.host.send = time(work);
        machine.host.receive = time(work);
        machine.host.latency = time(short - 2.0 * work);
        // Both ends copy.
        machine.host.kib = time((long - short).max(0.0) / 2.0) * 1024
            / (COPIED_MESSAGE_BYTES - SHORT_MESSAGE_BYTES);
        machine.host.gap = 0;
        machine.processors = processors;
        let mut points = Vec::new();
        let barrier = self.measure("barrier", 2, 0)?;
        machine.slot = time(barrier).saturating_sub(2 * machine.slot_work).max(NS);
        points.push(self.point(&machine, ("barrier", 2), barrier, true)?);
        let crowd = 2 * processors;
        let oversubscribed = self.measure("barrier", crowd, 0)?;
        machine.switch = self.switch(&machine, crowd, oversubscribed)?;
        points.push(self.point(&machine, ("barrier", crowd), oversubscribed, true)?);
        self.compare(machine, points)
    }

    /// The time of a switch with which `ranks` take as long as measured.
    fn switch(&self, machine: &Machine, ranks: u32, measured: f64) -> Result<Time, String> {
        let (mut low, mut high) = (0, 1000 * US);
        for _ in 0..STEPS {
            let middle = (low + high) / 2;
            let tried = Machine { switch: middle, ..machine.clone() };
            match predict(&tried, ("barrier", ranks), 1)? > measured {
                true => high = middle,
                false => low = middle,
            }
        }
        Ok(low)
    }

    /// Numbers of the network, from one rank on each of two hosts.
    fn between(&self) -> Result<Calibrated, String> {
        let mut machine = self.plan.machine.clone();
        let short = self.measure("latency", 2, SHORT_MESSAGE_BYTES)?;
        let between = 1.0 / self.measure("rate", 2, SHORT_MESSAGE_BYTES)?;
        let work = between.min(short / 4.0);
        machine.network.send = time(work);
        machine.network.receive = time(work);
        machine.network.gap = 0;
        // Million bytes a second.
        let bandwidth = self.measure("bandwidth", 2, LONG_MESSAGE_BYTES)?;
        machine.network.kib = time(1024.0 / bandwidth);
        machine.network.latency = time(short - 2.0 * work);
        machine.processors = 0;
        self.compare(machine, Vec::new())
    }

    fn compare(&self, machine: Machine, mut points: Vec<Point>) -> Result<Calibrated, String> {
        for ranks in &self.plan.ranks {
            for what in ["barrier", "allreduce"] {
                if points.iter().any(|p| p.what == what && p.ranks == *ranks) {
                    continue;
                }
                let measured = self.measure(what, *ranks, SHORT_MESSAGE_BYTES)?;
                points.push(self.point(&machine, (what, *ranks), measured, false)?);
            }
        }
        Ok(Calibrated { machine, points })
    }

    fn point(
        &self,
        machine: &Machine,
        (what, ranks): (&'static str, u32),
        measured: f64,
        used: bool,
    ) -> Result<Point, String> {
        let hosts = if self.plan.hosts.is_some() { ranks } else { 1 };
        let predicted = predict(machine, (what, ranks), hosts)?;
        Ok(Point { what, ranks, measured, predicted, used })
    }
}

fn predict(machine: &Machine, (what, ranks): (&str, u32), hosts: u32) -> Result<f64, String> {
    let call = if what == "barrier" {
        Call::BARRIER
    } else {
        Call::of_all(Kind::Allreduce, SHORT_MESSAGE_BYTES as usize)
    };
    let machine = machine.clone();
    let job = Job { machine, ranks, hosts, fabric: None, seed: 0, noise: 0 };
    let outcome = job.run(Rc::new(Repeated { call, times: 20 })).map_err(said)?;
    Ok(micros(outcome.mean()))
}

/// Of microseconds.
fn time(micros: f64) -> Time {
    (micros.max(0.0) * US as f64) as Time
}

impl Calibrated {
    /// For people.
    pub fn text(&self) -> String {
        let mut out = self.machine.write();
        let _ = writeln!(
            out,
            "\n# {:10} {:>6} {:>12} {:>12} {:>8}",
            "", "ranks", "measured us", "simulated us", "error"
        );
        for p in &self.points {
            let _ = writeln!(
                out,
                "# {:10} {:>6} {:>12.3} {:>12.3} {:>7.0}%{}",
                p.what,
                p.ranks,
                p.measured,
                p.predicted,
                100.0 * (p.predicted / p.measured - 1.0),
                if p.used { " (made from it)" } else { "" }
            );
        }
        out
    }
}
