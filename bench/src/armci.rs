//! `hpvm bench armci`: one-sided operations of ARMCI between two processes; where ARMCI-MPI is installed, the same program on
//! both, alternately.

use crate::error::BenchError;
use crate::evaluate::TIME_LIMIT;
use crate::machine::Machine;
use crate::peers::compile;
use crate::show::show;
use crate::target::Target;
use crate::versus::{self, Report, Side};
use std::path::{Path, PathBuf};

/// What `hpvm bench armci` was asked to do.
#[derive(Debug)]
pub struct Plan {
    /// hpvmarmci.
    pub target: Target,
    pub peer: Peer,
    /// How often the two alternate.
    pub repeat: u32,
    pub quick: bool,
    pub json: bool,
}

/// ARMCI-MPI, and the MPI on which it is.
#[derive(Debug)]
pub struct Peer {
    pub mpicc: PathBuf,
    pub mpirun: PathBuf,
    /// Its `libarmci`, and the folder of its `armci.h`.
    pub library: PathBuf,
    pub include: PathBuf,
}

/// Measures and prints. Blocks for some seconds to some minutes.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    plan.target.check()?;
    let report = measure(plan)?;
    show(&report, plan.json, print)
}

fn measure(plan: &Plan) -> Result<Report, BenchError> {
    let folder = tempfile::tempdir().map_err(|e| BenchError::io("cannot create a folder", e))?;
    let peer = plan.peer.build(folder.path());
    let rounds = versus::rounds(plan.repeat, plan.quick);
    let budget = if plan.quick { "0.02" } else { "0.2" };
    let args = ["--budget".to_owned(), budget.to_owned()];
    let points = |target: &Target| {
        Ok(target.run(2, &args, TIME_LIMIT)?.with_results(&target.program)?.points)
    };
    let mut ours = || points(&plan.target);
    let mut theirs = peer.as_ref().ok().map(|peer| || points(peer));
    let other = theirs.as_mut().map(|run| Side { name: "ARMCI-MPI", run });
    let [ours, theirs] = versus::alternate(rounds, Side { name: "hpvm", run: &mut ours }, other)?;
    let rows = versus::rows(&ours, &theirs);
    Ok(Report { machine: Machine::here(), rounds, rows, alone: peer.err() })
}

impl Peer {
    /// The program, compiled for it into `folder`. An error says why there is none.
    fn build(&self, folder: &Path) -> Result<Target, String> {
        let header = self.include.join("armci.h");
        for needed in [&self.mpicc, &self.mpirun, &self.library, &header] {
            if !needed.exists() {
                let shown = needed.display();
                return Err(format!(
                    "{shown} is not there (Debian: libarmci-mpi-dev, libopenmpi-dev)"
                ));
            }
        }
        let program = folder.join("hpvmarmci");
        compile::armci(&self.mpicc, &self.include, &self.library, &program)
            .map_err(|error| error.to_string())?;
        let mut target = Target::new("ARMCI-MPI", self.mpirun.clone(), program, None);
        // Open MPI refuses root, and more processes than processors.
        target.launch_args = ["--allow-run-as-root", "--oversubscribe"].map(str::to_owned).to_vec();
        Ok(target)
    }
}

fn print(report: &Report) {
    report.print(
        "ARMCI between two processes",
        "ARMCI-MPI",
        "Puts and accumulates are followed by ARMCI_Fence. Lines with 'floor' are what the processor takes for as much in one \
         process's own memory.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_not_there_is_named() {
        let nowhere = PathBuf::from("/nonexistent/mpicc");
        let peer = Peer {
            mpicc: nowhere.clone(),
            mpirun: nowhere.clone(),
            library: nowhere.clone(),
            include: nowhere,
        };
        let why = peer.build(Path::new("/nonexistent")).expect_err("an error");
        assert!(why.starts_with("/nonexistent/mpicc is not there"), "{why}");
    }
}
