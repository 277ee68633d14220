//! `hpvm bench pvm`: messages of PVM between two tasks; where PVM 3.4 of others is installed, the same program on both, alternately.

use crate::error::BenchError;
use crate::evaluate::TIME_LIMIT;
use crate::machine::Machine;
use crate::record::Record;
use crate::show::show;
use crate::target::{self, prepend};
use crate::versus::{self, Report, Side};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What `hpvm bench pvm` was asked to do.
#[derive(Debug)]
pub struct Plan {
    /// hpvmpvm.
    pub program: PathBuf,
    /// Where PVM 3.4 is (`PVM_ROOT`), and where its `libpvm3.so.3`.
    pub peer_root: PathBuf,
    pub peer_lib: PathBuf,
    /// How often the two alternate.
    pub repeat: u32,
    pub quick: bool,
    pub json: bool,
}

/// Measures and prints. Blocks for some seconds to some minutes.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    if !plan.program.is_file() {
        let advice = "install hpvm with PVM, or name a compiled one with --program";
        let (what, path) = ("the benchmark program", plan.program.clone());
        return Err(BenchError::Missing { what, path, advice });
    }
    let report = measure(plan)?;
    show(&report, plan.json, print)
}

fn measure(plan: &Plan) -> Result<Report, BenchError> {
    let peer = Peer::start(plan);
    let rounds = versus::rounds(plan.repeat, plan.quick);
    let mut ours = || {
        let (budget, most) = pace(plan);
        run_ours(&plan.program, budget, most)
    };
    let mut theirs = peer.as_ref().ok().map(|peer| {
        || {
            let (budget, most) = pace(plan);
            let mut command = command(&plan.program, budget, most);
            set(&mut command, &peer.root, &peer.lib, &peer.folder);
            Ok(target::run_command(command, "hpvmpvm on PVM", TIME_LIMIT)?
                .with_results(&plan.program)?
                .points)
        }
    });
    let other = theirs.as_mut().map(|run| Side { name: "PVM", run });
    let [ours, theirs] = versus::alternate(rounds, Side { name: "hpvm", run: &mut ours }, other)?;
    let rows = versus::rows(&ours, &theirs);
    Ok(Report { machine: Machine::here(), rounds, rows, alone: peer.err() })
}

/// Seconds of each point, and bytes of the longest message.
fn pace(plan: &Plan) -> (f64, u32) {
    (if plan.quick { 0.03 } else { 0.2 }, 1 << 20)
}

fn command(program: &Path, budget: f64, most: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["--budget", &budget.to_string(), "--max", &most.to_string()]);
    command
}

/// Runs the program on hpvm, in a virtual machine of its own that ends with it; what it measured.
pub fn run_ours(program: &Path, budget: f64, most: u32) -> Result<Vec<Record>, BenchError> {
    let mut command = command(program, budget, most);
    command.env("PVM_VMID", format!("bench-{}", std::process::id()));
    let output = target::run_command(command, "hpvmpvm on hpvm", TIME_LIMIT)?;
    Ok(output.with_results(program)?.points)
}

fn print(report: &Report) {
    report.print("PVM between two tasks", "PVM", "PVM routes directly from task to task.");
}

/// PVM of others, with its daemon.
struct Peer {
    root: PathBuf,
    lib: PathBuf,
    /// The daemon's socket, log and words.
    folder: PathBuf,
    daemon: Child,
}

/// How long the daemon may take to be there, and to end.
const DAEMON: Duration = Duration::from_secs(10);

/// The environment in which a program finds that PVM.
fn set(command: &mut Command, root: &Path, lib: &Path, folder: &Path) {
    command.env("PVM_ROOT", root).env("PVM_TMP", folder).env_remove("PVM_VMID");
    command.env("LD_LIBRARY_PATH", prepend(lib, "LD_LIBRARY_PATH"));
}

impl Peer {
    /// Starts its daemon. An error says why there is none.
    fn start(plan: &Plan) -> Result<Peer, String> {
        let (root, lib) = (plan.peer_root.clone(), plan.peer_lib.clone());
        for needed in [root.join("lib/pvmd"), root.join("lib/pvm"), lib.join("libpvm3.so.3")] {
            if !needed.exists() {
                return Err(format!("{} is not there (Debian: pvm, pvm-dev)", needed.display()));
            }
        }
        let folder = std::env::temp_dir().join(format!("hpvm-bench-pvm-{}", std::process::id()));
        let failed =
            |cause: std::io::Error| format!("{}: {cause}", root.join("lib/pvmd").display());
        std::fs::create_dir_all(&folder).map_err(failed)?;
        // Into a file: its tasks would hold a pipe open.
        let said = File::create(folder.join("said")).map_err(failed)?;
        let mut command = Command::new(root.join("lib/pvmd"));
        set(&mut command, &root, &lib, &folder);
        command.stdin(Stdio::null()).stderr(said.try_clone().map_err(failed)?).stdout(said);
        let daemon = command.spawn().map_err(failed)?;
        let mut peer = Peer { root, lib, folder, daemon };
        peer.wait(|peer| peer.is_there() || peer.has_ended());
        if peer.is_there() && !peer.has_ended() {
            return Ok(peer);
        }
        let said = std::fs::read(peer.folder.join("said")).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        Err(format!("its daemon does not start (it refuses root): {said}"))
    }

    /// Whether its socket has a name.
    fn is_there(&self) -> bool {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("pvmd."))
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.daemon.try_wait(), Ok(None))
    }

    fn wait(&mut self, mut until: impl FnMut(&mut Peer) -> bool) {
        let since = Instant::now();
        while !until(self) && since.elapsed() < DAEMON {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its console with a command.
    fn console(&self, said: &str) -> std::io::Result<()> {
        let script = self.folder.join("commands");
        std::fs::write(&script, said)?;
        let mut command = Command::new(self.root.join("lib/pvm"));
        set(&mut command, &self.root, &self.lib, &self.folder);
        command.stdin(File::open(&script)?).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().map(drop)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if !self.has_ended() {
            // Where that fails it is killed below.
            let _ = self.console("halt\n");
            self.wait(Peer::has_ended);
        }
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pvm_that_is_not_there_is_named() {
        let nowhere = PathBuf::from("/nonexistent");
        let plan = Plan {
            program: nowhere.clone(),
            peer_root: nowhere.clone(),
            peer_lib: nowhere,
            repeat: 1,
            quick: true,
            json: false,
        };
        let why = Peer::start(&plan).err().expect("an error");
        assert!(why.starts_with("/nonexistent/lib/pvmd is not there"), "{why}");
    }
}
