//! What the tests share: the installation, its programs, and running a job with a time limit.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hpvm_tests::build::Compiler;
pub use hpvm_tests::process::clean;
use hpvm_tests::process::{self, Outcome};

/// Long enough for a loaded machine whose disk others use as well; only a hang takes as long.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The top of the workspace.
pub fn workspace() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("tests/ lies in the workspace").to_path_buf()
}

/// The installation under test.
pub fn prefix() -> PathBuf {
    let path = match std::env::var_os("HPVM_PREFIX") {
        Some(path) => PathBuf::from(path),
        None => workspace().join("build"),
    };
    let missing = ["bin/mpicc", "bin/mpirun", "lib/libmpi_abi.so.1"]
        .into_iter()
        .find(|file| !path.join(file).exists());
    if let Some(file) = missing {
        panic!(
            "no installation in {} ({file} is not there): run make first, or name another with \
             HPVM_PREFIX=FOLDER",
            path.display()
        );
    }
    path.canonicalize().expect("an existing folder has a path")
}

/// The C files.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// A conformance program, compiled.
pub fn conformance(name: &str) -> PathBuf {
    static COMPILING: Mutex<()> = Mutex::new(());
    // Several tests may want the same program. A panic elsewhere leaves nothing half done.
    let _one = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let output = scratch().join("conformance");
    std::fs::create_dir_all(&output).expect("a folder for programs");
    let compiler =
        Compiler { mpicc: prefix().join("bin/mpicc"), sources, output, libraries: Vec::new() };
    if let Some(message) = compiler.build_all(&[name.to_string()], 1).remove(name) {
        panic!("{name}.c: {message}");
    }
    compiler.program(name)
}

/// A folder for this run of the tests; those of earlier runs are removed first.
pub fn scratch() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let top = Path::new(env!("CARGO_TARGET_TMPDIR")).join("jobs");
        for entry in std::fs::read_dir(&top).into_iter().flatten().flatten() {
            let owner = entry.file_name().to_string_lossy().parse::<u32>();
            if owner.is_ok_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                // A run that starts at the same time may remove it first.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let folder = top.join(std::process::id().to_string());
        std::fs::create_dir_all(&folder).expect("a folder for the programs");
        folder
    })
}

/// A new empty folder inside the scratch folder.
pub fn folder(name: &str) -> PathBuf {
    let path = scratch().join(format!("{name}-{}", number()));
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

/// A number that no other call gets.
pub fn number() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // Relaxed: only distinctness matters.
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// A program of `tests/programs`, compiled with the installation's `mpicc` on first use.
pub fn program(name: &str) -> PathBuf {
    program_by(&prefix().join("bin/mpicc"), "hpvm", name)
}

/// As `program`, with another compiler; `label` tells its programs apart.
pub fn program_by(mpicc: &Path, label: &str, name: &str) -> PathBuf {
    type Built = BTreeMap<(String, String), Result<PathBuf, String>>;
    static BUILT: Mutex<Built> = Mutex::new(Built::new());
    // A panic elsewhere leaves the map whole.
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let result = built.entry((label.to_string(), name.to_string())).or_insert_with(|| {
        let output = scratch().join(label);
        std::fs::create_dir_all(&output).map_err(|e| format!("{}: {e}", output.display()))?;
        let compiler = Compiler {
            mpicc: mpicc.to_path_buf(),
            sources: sources(),
            output,
            libraries: Vec::new(),
        };
        match compiler.build_all(&[name.to_string()], 1).remove(name) {
            None => Ok(compiler.program(name)),
            Some(message) => Err(message),
        }
    });
    result.clone().unwrap_or_else(|message| panic!("{name}.c: {message}"))
}

/// `mpirun -n RANKS NAME ARGUMENTS` of the installation under test.
pub fn mpirun(ranks: u32, name: &str, arguments: &[&str]) -> Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    command.args(["-n", &ranks.to_string()]).arg(program(name)).args(arguments);
    command
}

/// A text that marks the processes of one job.
pub fn marker() -> String {
    format!("{}-{}", std::process::id(), number())
}

/// Runs a command to its end. Fails when it takes longer than `limit` or leaves processes.
#[track_caller]
pub fn run_within(command: Command, limit: Duration) -> Outcome {
    let shown = format!("{command:?}");
    let outcome = process::run(command, &marker(), limit).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        outcome.code.is_some(),
        "{shown}: not done after {limit:?}; its output:\n{}",
        outcome.output
    );
    assert_eq!(outcome.leftovers, 0, "{shown} left processes behind:\n{}", outcome.output);
    outcome
}

/// Runs a command that must end with code 0, and gives its output.
#[track_caller]
pub fn succeed(command: Command) -> String {
    succeed_within(command, PATIENCE)
}

/// As `succeed`, with a time limit of its own.
#[track_caller]
pub fn succeed_within(command: Command, limit: Duration) -> String {
    let shown = format!("{command:?}");
    let outcome = run_within(command, limit);
    assert_eq!(outcome.code, Some(0), "{shown} failed:\n{}", outcome.output);
    outcome.output
}

/// A job of the program `hosts` that goes on until this is over.
pub struct UnderWay(PathBuf);

impl UnderWay {
    pub fn new() -> UnderWay {
        UnderWay(folder("under-way").join("file"))
    }

    /// The program's last argument.
    pub fn file(&self) -> &str {
        self.0.to_str().expect("a path of plain characters")
    }

    /// Waits until all ranks have talked to each other.
    pub fn wait(&self) {
        let end = Instant::now() + 2 * PATIENCE;
        while !self.0.exists() {
            assert!(Instant::now() < end, "the job does not get under way");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The job may end.
    pub fn is_over(&self) {
        std::fs::remove_file(&self.0).expect("the job has made it");
    }
}

/// Says something although the test passes: the harness keeps what `println!` writes.
pub fn tell(text: &str) {
    // With standard error closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "    {text}");
}

/// The first number after `word` in a text.
pub fn number_after(text: &str, word: &str) -> Option<f64> {
    let rest = text.split_once(word)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}
