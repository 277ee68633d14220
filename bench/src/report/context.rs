//! How measurements launch what they measure.

use super::data::{self, OWN, Point, Settings};
use crate::error::BenchError;
use crate::evaluate::TIME_LIMIT;
use crate::target::{Output, Target};
use std::path::PathBuf;

/// A launch takes about so long beside what it measures, s.
const LAUNCH: f64 = 0.15;

/// What measurements are made with.
#[derive(Debug)]
pub struct Context {
    /// mpirun and hpvmbench.
    pub target: Target,
    /// `PREFIX/libexec/hpvm`, with the other programs.
    pub programs: PathBuf,
    pub settings: Settings,
    /// Where measurements may write files.
    pub folder: PathBuf,
    /// Where other MPIs are installed.
    pub peers: PathBuf,
    /// Reaches the hosts instead of ssh.
    pub agent: Option<String>,
}

/// One launch of hpvmbench.
#[derive(Clone, Debug)]
pub struct Job {
    pub ranks: u32,
    pub args: String,
    /// Points that it measures, for the estimate.
    pub points: u32,
}

impl Job {
    pub fn new(ranks: u32, args: impl Into<String>, points: u32) -> Self {
        Self { ranks, args: args.into(), points }
    }
}

impl Context {
    /// Launches of every measurement: between them machines differ more than inside one.
    pub fn launches(&self) -> u32 {
        if self.settings.quick { 2 } else { 5 }
    }

    /// Seconds of one point in one launch.
    pub fn budget(&self) -> f64 {
        if self.settings.quick { 0.04 } else { 0.15 }
    }

    fn pace(&self) -> String {
        let batches = if self.settings.quick { 15 } else { 41 };
        format!(" --budget {} --batches {batches} --raw yes", self.budget())
    }

    /// Powers of two up to the most ranks, from two on; with hosts as many on each.
    pub fn counts(&self) -> Vec<u32> {
        let least = 2.max(self.settings.hosts.len() as u32);
        let counts = std::iter::successors(Some(least), |n| n.checked_mul(2));
        counts.take_while(|n| *n <= self.settings.ranks.max(least)).collect()
    }

    /// Sizes for curves, those of `--quick` fewer.
    pub fn sizes(&self) -> &'static str {
        if self.settings.quick {
            "8,64,512,4096,32768,262144,1048576"
        } else {
            "1,8,40,64,256,1024,4096,16384,65536,262144,1048576,4194304"
        }
    }

    pub fn size_count(&self) -> u32 {
        self.sizes().split(',').count() as u32
    }

    /// The launcher for so many ranks. With hosts, ranks are spread evenly: in a row, or by turns.
    pub fn placed(&self, ranks: u32, by_turns: bool) -> Target {
        let mut target = self.target.clone();
        let hosts = &self.settings.hosts;
        if hosts.is_empty() {
            return target;
        }
        let each = ranks.div_ceil(hosts.len() as u32);
        let list: Vec<String> = hosts.iter().map(|host| format!("{host}:{each}")).collect();
        let by = if by_turns { "node" } else { "slot" };
        let args = ["-H", &list.join(","), "--map-by", by].map(str::to_owned);
        target.launch_args.extend(args);
        if let Some(agent) = &self.agent {
            target.launch_args.extend(["--launch-agent".into(), agent.clone()]);
        }
        target
    }

    /// Runs `program` with `args` on so many ranks.
    pub fn run(&self, target: &Target, ranks: u32, args: &str) -> Result<Output, BenchError> {
        let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
        target.run(ranks, &args, TIME_LIMIT)
    }

    /// All jobs by turns, as often as there are launches.
    pub fn measure(&self, jobs: &[Job]) -> Result<Vec<Point>, BenchError> {
        self.measure_placed(jobs, false)
    }

    pub fn measure_placed(&self, jobs: &[Job], by_turns: bool) -> Result<Vec<Point>, BenchError> {
        let mut points = Vec::new();
        for _ in 0..self.launches() {
            for job in jobs {
                let target = self.placed(job.ranks, by_turns);
                let output =
                    self.run(&target, job.ranks, &format!("{}{}", job.args, self.pace()))?;
                data::add(&mut points, OWN, output.points);
            }
        }
        Ok(points)
    }

    /// How long [`Context::measure`] takes, s.
    pub fn seconds(&self, jobs: &[Job]) -> f64 {
        let one = |job: &Job| LAUNCH + f64::from(job.points) * self.budget();
        f64::from(self.launches()) * jobs.iter().map(one).sum::<f64>()
    }

    /// How long so many launches of anything take that measures for `each` seconds.
    pub fn launched(&self, launches: u32, each: f64) -> f64 {
        f64::from(launches) * (LAUNCH + each)
    }

    /// A program of ours, or why not.
    pub fn program(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.programs.join(name);
        let missing = format!("{} is not installed", path.display());
        if path.is_file() { Ok(path) } else { Err(missing) }
    }
}
