//! `hpvm bench npb`: the NAS Parallel Benchmarks of the user's own copy, beside the tables of 1997 and other MPIs.
//!
//! The sources are copied into a temporary folder and built there with hpvm's wrappers: the copy that the
//! user has stays as it is.

mod build;
mod others;
mod output;
mod table;

use crate::error::BenchError;
use crate::peers;
use crate::progress::Progress;
use crate::show::show;
use crate::target::{Target, capture};
use build::Built;
pub use build::runs_on;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The benchmarks, as NPB names them.
pub const BENCHMARKS: [&str; 8] = ["BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP"];
/// The one that is written in C.
const IN_C: &str = "IS";
/// The classes that may be asked for.
pub const CLASSES: [&str; 6] = ["S", "W", "A", "B", "C", "D"];

/// A class D benchmark on few ranks may take an hour; what takes longer is not for this table.
const TIME_LIMIT: Duration = Duration::from_secs(2 * 3600);

/// What `hpvm bench npb` was asked to do.
#[derive(Debug)]
pub struct Plan {
    pub target: Target,
    /// Where `mpifort` and `mpicc` are.
    pub bin: PathBuf,
    /// NPB3.4-MPI or NPB3.3-MPI, or the folder that holds it.
    pub sources: PathBuf,
    pub wanted: Vec<Wanted>,
    /// How often each, by turns.
    pub repeat: u32,
    /// Other MPIs of `peers_dir`.
    pub peers: Vec<String>,
    pub peers_dir: PathBuf,
    /// Also MPIs of the system that have compilers.
    pub others: bool,
    pub json: bool,
}

/// A benchmark to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub benchmark: String,
    pub class: String,
    pub ranks: u32,
}

/// Every benchmark in every class on all numbers of ranks that it runs on.
pub fn wanted(classes: &[String], benchmarks: &[String], ranks: &[u32]) -> Vec<Wanted> {
    let mut all = Vec::new();
    for class in classes {
        for benchmark in benchmarks {
            let fit = ranks.iter().filter(|n| runs_on(benchmark, **n));
            let (class, benchmark) = (class.clone(), benchmark.clone());
            all.extend(fit.map(|n| Wanted {
                benchmark: benchmark.clone(),
                class: class.clone(),
                ranks: *n,
            }));
        }
    }
    all
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub benchmark: String,
    pub class: String,
    pub by: String,
    pub ranks: u32,
    pub seconds: f64,
    /// Million operations a second, as the benchmark counts them.
    pub mops: f64,
    /// It says that its answer is right.
    pub verified: bool,
}

/// Everything that was run, and what could not be.
#[derive(Debug, Default, Serialize)]
pub struct Outcome {
    pub rows: Vec<Row>,
    /// Runs that were not made for a reason that is no fault, such as memory.
    pub left_out: Vec<String>,
    pub failures: Vec<String>,
    /// Ctrl-C ended it: the rows are those of the runs that were finished.
    pub interrupted: bool,
}

/// An MPI, and the benchmarks as they were built for it.
struct Candidate<'a> {
    target: Target,
    built: &'a Built,
    /// It runs programs of the standard ABI, but has no library for Fortran.
    only_c: bool,
}

/// Builds, runs and prints. Takes minutes to hours.
///
/// # Errors
/// No NPB at the folder, a missing compiler; after a table of what was run, Ctrl-C, or [`BenchError::SomeFailed`] when
/// runs failed or did not verify.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    let outcome = measure(plan, Vec::new(), &mut |_| Ok(()))?;
    show(&outcome, plan.json, table::print)?;
    if outcome.interrupted {
        return Err(BenchError::Interrupted);
    }
    let wrong = outcome.rows.iter().filter(|row| !row.verified).count();
    match outcome.failures.len() + wrong {
        0 => Ok(()),
        count => Err(BenchError::SomeFailed { count }),
    }
}

/// Keeps the rows that there are so far.
pub type Keep<'a> = &'a mut dyn FnMut(&[Row]) -> Result<(), BenchError>;

/// Builds and runs everything that was asked for and fits, or what Ctrl-C leaves time for. What `made` has was run
/// before; `keep` gets all rows after each run.
pub fn measure(plan: &Plan, made: Vec<Row>, keep: Keep) -> Result<Outcome, BenchError> {
    let sources = build::sources(&plan.sources)?;
    plan.target.check_launcher()?;
    let own = Built::new(&sources, build::own_wrappers(&plan.bin)?)?;
    let others = if plan.others { others::found(&sources)? } else { Vec::new() };
    let mut outcome = Outcome { rows: made, ..Outcome::default() };
    match run_all(plan, &candidates(plan, &own, &others)?, &mut outcome, keep) {
        Err(BenchError::Interrupted) => outcome.interrupted = true,
        done => done?,
    }
    Ok(outcome)
}

fn run_all(
    plan: &Plan,
    candidates: &[Candidate],
    outcome: &mut Outcome,
    keep: Keep,
) -> Result<(), BenchError> {
    let fitting = fitting(&plan.wanted, build::available_memory(), outcome);
    let mut progress = Progress::new(u64::from(plan.repeat) * fitting.len() as u64);
    for wanted in &fitting {
        for round in 0..plan.repeat as usize {
            progress.step(&wanted.told());
            for candidate in candidates {
                if candidate.only_c && wanted.benchmark != IN_C
                    || outcome.rows.iter().filter(|row| wanted.is(row, candidate)).count() > round
                    || outcome.failures.iter().any(|f| f.starts_with(&wanted.by(candidate)))
                {
                    continue;
                }
                match candidate.run(wanted) {
                    Ok(row) => {
                        outcome.rows.push(row);
                        keep(&outcome.rows)?;
                    }
                    Err(BenchError::Interrupted) => return Err(BenchError::Interrupted),
                    Err(error) => {
                        progress.say(&format!("{error}"));
                        outcome.failures.push(format!("{}: {error}", wanted.by(candidate)));
                    }
                }
            }
        }
    }
    Ok(())
}

impl Wanted {
    fn told(&self) -> String {
        format!("{}.{} on {}", self.benchmark, self.class, self.ranks)
    }

    fn by(&self, candidate: &Candidate) -> String {
        format!("{} by {}", self.told(), candidate.target.name)
    }

    fn is(&self, row: &Row, candidate: &Candidate) -> bool {
        (&row.benchmark, &row.class, row.ranks) == (&self.benchmark, &self.class, self.ranks)
            && row.by == candidate.target.name
    }
}

impl Candidate<'_> {
    fn run(&self, wanted: &Wanted) -> Result<Row, BenchError> {
        let program = self.built.program(&wanted.benchmark, &wanted.class, wanted.ranks)?;
        one(&self.target, &program, (&wanted.benchmark, &wanted.class), wanted.ranks)
    }
}

/// hpvm; the peers of the standard ABI, which run its program in C; those that have compilers.
fn candidates<'a>(
    plan: &Plan,
    own: &'a Built,
    others: &'a [(Target, Built)],
) -> Result<Vec<Candidate<'a>>, BenchError> {
    let mut all = vec![Candidate { target: plan.target.clone(), built: own, only_c: false }];
    for name in plan.peers.iter().filter(|name| *name != "openmpi") {
        let here = |e| BenchError::io(format!("cannot use {}", plan.peers_dir.display()), e);
        let dir = plan.peers_dir.canonicalize().map_err(here)?;
        let target = peers::peer(name, &dir, &plan.target.program)?;
        // Our Fortran library needs our MPI library; a program in C needs the standard ABI alone.
        all.push(Candidate { target, built: own, only_c: true });
    }
    let with_compilers = others.iter();
    all.extend(with_compilers.map(|(target, built)| Candidate {
        target: target.clone(),
        built,
        only_c: false,
    }));
    Ok(all)
}

/// What is wanted and for which memory is there.
fn fitting(wanted: &[Wanted], memory: Option<u64>, outcome: &mut Outcome) -> Vec<Wanted> {
    let mut fitting = Vec::new();
    for one in wanted {
        let need = build::memory(&one.benchmark, &one.class);
        let Some(have) = memory.filter(|have| need > *have) else {
            fitting.push(one.clone());
            continue;
        };
        let [need, have] = [need, have].map(|b| b >> 20);
        let why =
            format!("{}.{}: needs about {need} MiB, {have} MiB are free", one.benchmark, one.class);
        if !outcome.left_out.contains(&why) {
            outcome.left_out.push(why);
        }
    }
    fitting
}

fn one(
    target: &Target,
    program: &Path,
    (benchmark, class): (&str, &str),
    ranks: u32,
) -> Result<Row, BenchError> {
    let mut command = Command::new(&target.mpirun);
    command.args(&target.launch_args).args(["-n", &ranks.to_string()]).arg(program);
    command.envs(target.env.iter().map(|(k, v)| (k, v)));
    let shown = format!("{} -n {ranks} {benchmark}.{class}", target.name);
    let captured = capture(command, &shown, TIME_LIMIT)?;
    let found = output::read(&captured.text).map_err(|reason| BenchError::BadLine {
        command: shown,
        line: captured.text.lines().last().unwrap_or_default().to_owned(),
        reason,
    })?;
    Ok(Row {
        benchmark: benchmark.into(),
        class: class.into(),
        by: target.name.clone(),
        ranks,
        seconds: found.seconds,
        mops: found.mops,
        verified: found.verified,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|w| (*w).to_owned()).collect()
    }

    #[test]
    fn runs_are_those_that_ranks_allow() {
        let all = wanted(&words(&["S"]), &words(&["BT", "CG"]), &[1, 2, 4]);
        let told: Vec<String> = all.iter().map(Wanted::told).collect();
        assert_eq!(told, ["BT.S on 1", "BT.S on 4", "CG.S on 1", "CG.S on 2", "CG.S on 4"]);
    }

    #[test]
    fn what_has_no_room_is_said_once() {
        let all = wanted(&words(&["S", "D"]), &words(&["FT"]), &[1, 2]);
        let mut outcome = Outcome::default();
        assert_eq!(fitting(&all, Some(1 << 30), &mut outcome).len(), 2);
        assert_eq!(outcome.left_out.len(), 1);
        assert!(outcome.left_out[0].starts_with("FT.D: needs about"), "{:?}", outcome.left_out);
        assert_eq!(fitting(&all, None, &mut outcome).len(), 4);
    }
}
