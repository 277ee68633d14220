//! `hpvm bench peers`: hpvm and other MPIs, alternating in one run on one machine.
//!
//! Shared machines are noisy: only a ratio taken in one run, the candidates taking turns, says
//! anything. So every round runs every measurement once on every candidate, the candidates in an
//! order that shifts from round to round, and medians are taken over the rounds.

mod compare;
pub(crate) mod compile;
mod hosts;
mod install;
mod report;

pub use hosts::{Hosts, PARTS as HOST_PARTS};

use crate::error::BenchError;
use crate::machine::Machine;
use crate::progress::Progress;
use crate::record::Record;
use crate::target::Target;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The peers there are, as named on the command line.
pub const PEER_NAMES: [&str; 3] = ["mpich", "openmpi", "impi"];

/// What can be compared.
pub const PART_NAMES: [&str; 21] = [
    "latency",
    "bandwidth",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
    "ahead",
    "alone",
    "late",
    "fresh",
    "touched",
    "datatype",
    "rma",
    "files",
    "startup",
    "spawn",
    "memory",
    "idle",
    "wakeup",
];

/// What `hpvm bench peers` was asked to do.
#[derive(Debug)]
pub struct Plan {
    pub own: Target,
    /// `own.program` was named: it is not compiled, and other MPIs of the standard ABI run it too.
    pub program_given: bool,
    /// Compiles for the standard ABI.
    pub mpicc: PathBuf,
    /// Holds a virtual environment per peer and, in `build`, the programs.
    pub dir: PathBuf,
    pub peers: Vec<String>,
    pub parts: Vec<String>,
    /// Where files are written; none: in `dir`.
    pub file: Option<PathBuf>,
    /// Numbers of ranks that call collectives, or write files; none: as built in.
    pub ranks: Vec<u32>,
    /// Two ranks on two hosts instead of this machine alone.
    pub hosts: Option<Hosts>,
    /// Only install the peers.
    pub install_only: bool,
    pub repeat: u32,
    pub quick: bool,
    pub json: bool,
}

/// Installs what is missing, compiles, measures and prints. Takes minutes.
///
/// # Errors
/// Missing programs, a failing installation or compilation, Ctrl-C; after a full report,
/// [`BenchError::SomeFailed`] when runs failed.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    let folder = |e| BenchError::io(format!("cannot create {}", plan.dir.display()), e);
    std::fs::create_dir_all(plan.dir.join("build")).map_err(folder)?;
    let dir = plan.dir.canonicalize().map_err(folder)?;
    install::peers(&dir, &plan.peers)?;
    if plan.install_only {
        return Ok(());
    }
    let candidates = candidates(plan, &dir)?;
    let floor = match &plan.hosts {
        Some(_) => Vec::new(),
        None => floor(&dir)?,
    };
    let machine = Machine::here();
    let file = plan.file.as_deref().unwrap_or(&dir);
    let steps = compare::steps(&plan.parts, &plan.ranks, file, plan.quick);
    let mut progress =
        Progress::new(u64::from(plan.repeat) * (steps.len() * candidates.len()) as u64);
    let outcome = compare::alternate(&candidates, &steps, plan.repeat, &mut progress)?;
    drop(progress);
    let report = report::Report::new(machine, &candidates, plan.repeat, floor, outcome);
    report.print(plan.json)?;
    match report.failures() {
        0 => Ok(()),
        count => Err(BenchError::SomeFailed { count }),
    }
}

/// Those of the peers that are installed in `dir`.
pub(crate) fn installed(dir: &Path) -> Vec<String> {
    let here = |name: &&&str| {
        let launcher = install::launcher(name);
        launcher.is_ok_and(|file| dir.join(name).join("bin").join(file).is_file())
    };
    PEER_NAMES.iter().filter(here).map(|name| (*name).to_owned()).collect()
}

/// What the machine does without message passing.
fn floor(dir: &Path) -> Result<Vec<Record>, BenchError> {
    let floor = compile::floor(&dir.join("build")).and_then(|program| {
        let command = std::process::Command::new(program);
        crate::target::run_command(command, "hpvmfloor", std::time::Duration::from_secs(60))
    });
    match floor {
        Ok(output) => Ok(output.points),
        Err(BenchError::Interrupted) => Err(BenchError::Interrupted),
        Err(error) => {
            eprintln!("hpvm bench: the machine's floor is left out: {error}");
            Ok(Vec::new())
        }
    }
}

/// hpvm first, then the peers that were asked for, and between hosts bare TCP.
pub(crate) fn candidates(plan: &Plan, dir: &Path) -> Result<Vec<Target>, BenchError> {
    let mut own = plan.own.clone();
    if !own.mpirun.is_file() {
        own.check()?;
    }
    if !plan.program_given {
        own.program = dir.join("build/hpvmbench-abi");
        compile::benchmark(&plan.mpicc, &[], &own.program)?;
    }
    own.check()?;
    let abi_program = own.program.clone();
    let mut all = vec![own];
    for name in &plan.peers {
        let target = peer(name, dir, &abi_program)?;
        target.check()?;
        all.push(target);
    }
    if let Some(hosts) = &plan.hosts {
        all.iter_mut().for_each(|target| hosts.arrange(target));
        all.push(hosts.floor(&compile::tcp_floor(&dir.join("build"))?));
    }
    Ok(all)
}

pub(crate) fn peer(name: &str, dir: &Path, abi_program: &Path) -> Result<Target, BenchError> {
    let home = dir.join(name);
    let lib = home.join("lib");
    let launcher = home.join("bin").join(install::launcher(name)?);
    let mut target = Target::new(name, launcher, abi_program.to_owned(), Some(&lib));
    let mut set = |key: &str, value: OsString| target.env.push((key.to_owned(), value));
    match name {
        "impi" => {
            set("I_MPI_ROOT", home.clone().into());
            set("I_MPI_FABRICS", "shm".into());
            set("FI_PROVIDER_PATH", lib.clone().into());
        }
        "openmpi" => {
            // Every Open MPI option that lets it run where others run without being asked.
            target.launch_args = vec!["--allow-run-as-root".into(), "--oversubscribe".into()];
            target.program = dir.join("build/hpvmbench-openmpi");
            let env = [("LD_LIBRARY_PATH", lib.as_path())];
            compile::benchmark(&home.join("bin/mpicc"), &env, &target.program)?;
        }
        _ => {}
    }
    Ok(target)
}
