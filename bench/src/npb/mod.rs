//! `hpvm bench npb`: the NAS Parallel Benchmarks of the user's own copy, beside the tables of 1997 and other MPIs.
//!
//! The sources are copied into a temporary folder and built there with hpvm's wrappers: the copy that the
//! user has stays as it is.

mod build;
mod output;
mod table;

use crate::error::BenchError;
use crate::peers;
use crate::progress::Progress;
use crate::show::show;
use crate::target::{Target, capture};
use build::Built;
use serde::Serialize;
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
    /// NPB3.x-MPI, or the folder that holds it.
    pub sources: PathBuf,
    pub classes: Vec<String>,
    pub ranks: Vec<u32>,
    pub benchmarks: Vec<String>,
    pub peers: Vec<String>,
    pub peers_dir: PathBuf,
    pub json: bool,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
}

/// Builds, runs and prints. Takes minutes to hours.
///
/// # Errors
/// No NPB at the folder, a missing compiler, Ctrl-C; after a full table, [`BenchError::SomeFailed`] when runs
/// failed or did not verify.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    let outcome = measure(plan)?;
    show(&outcome, plan.json, table::print)?;
    let wrong = outcome.rows.iter().filter(|row| !row.verified).count();
    match outcome.failures.len() + wrong {
        0 => Ok(()),
        count => Err(BenchError::SomeFailed { count }),
    }
}

/// Builds and runs everything that was asked for and fits.
pub fn measure(plan: &Plan) -> Result<Outcome, BenchError> {
    let sources = build::sources(&plan.sources)?;
    plan.target.check_launcher()?;
    let built = Built::new(&sources, build::own_wrappers(&plan.bin)?)?;
    let mut outcome = Outcome::default();
    let candidates = candidates(plan, &mut outcome)?;
    let runs = runs(plan, build::available_memory(), &mut outcome);
    let mut progress = Progress::new(runs.len() as u64);
    let mut unbuilt: Vec<String> = Vec::new();
    for (benchmark, class, ranks) in &runs {
        let name = format!("{benchmark}.{class}");
        if unbuilt.contains(&name) {
            continue;
        }
        let program = match built.program(benchmark, class) {
            Ok(program) => program,
            Err(BenchError::Interrupted) => return Err(BenchError::Interrupted),
            Err(error) => {
                progress.say(&format!("{error}"));
                outcome.failures.push(format!("{name}: {error}"));
                unbuilt.push(name);
                continue;
            }
        };
        // Our Fortran library needs our MPI library; a program in C needs the standard ABI alone.
        let several = if benchmark == IN_C { candidates.len() } else { 1 };
        for target in &candidates[..several] {
            if target.name == plan.target.name {
                progress.step(&format!("{benchmark}.{class} on {ranks}"));
            }
            match one(target, &program, (benchmark, class), *ranks) {
                Ok(row) => outcome.rows.push(row),
                Err(BenchError::Interrupted) => return Err(BenchError::Interrupted),
                Err(error) => {
                    progress.say(&format!("{error}"));
                    let what = format!("{benchmark}.{class} on {ranks} by {}", target.name);
                    outcome.failures.push(format!("{what}: {error}"));
                }
            }
        }
    }
    Ok(outcome)
}

/// hpvm and the peers of the standard ABI, which run the same program in C.
fn candidates(plan: &Plan, outcome: &mut Outcome) -> Result<Vec<Target>, BenchError> {
    let mut all = vec![plan.target.clone()];
    if !plan.peers.is_empty() {
        let reason =
            "the other MPIs, but for IS: their packages have no compiler wrapper for Fortran";
        outcome.left_out.push(reason.into());
    }
    for name in plan.peers.iter().filter(|name| *name != "openmpi") {
        let here = |e| BenchError::io(format!("cannot use {}", plan.peers_dir.display()), e);
        let dir = plan.peers_dir.canonicalize().map_err(here)?;
        all.push(peers::peer(name, &dir, &plan.target.program)?);
    }
    Ok(all)
}

/// The runs that a number of ranks allows and for which memory is there.
fn runs(plan: &Plan, memory: Option<u64>, outcome: &mut Outcome) -> Vec<(String, String, u32)> {
    let mut runs = Vec::new();
    for class in &plan.classes {
        for benchmark in &plan.benchmarks {
            let need = build::memory(benchmark, class);
            if let Some(have) = memory.filter(|have| need > *have) {
                let [need, have] = [need, have].map(|b| b >> 20);
                outcome.left_out.push(format!(
                    "{benchmark}.{class}: needs about {need} MiB, {have} MiB are free"
                ));
                continue;
            }
            let fits = plan.ranks.iter().filter(|n| build::runs_on(benchmark, **n));
            runs.extend(fits.map(|n| (benchmark.clone(), class.clone(), *n)));
        }
    }
    runs
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
