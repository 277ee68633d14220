//! Compiling the test programs with the wrapper of the MPI under test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Where the sources are, what compiles them, and where the programs go.
#[derive(Debug, Clone)]
pub struct Compiler {
    /// The compiler wrapper (`mpicc`).
    pub mpicc: PathBuf,
    /// Folder of the C files.
    pub sources: PathBuf,
    /// Folder for the programs; it must exist.
    pub output: PathBuf,
    /// Libraries of the programs besides that of MPI, as `-l` wants them.
    pub libraries: Vec<String>,
}

impl Compiler {
    /// The place of a program once it is built.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.output.join(name)
    }

    /// Compiles `names`, `jobs` at a time, and returns the compiler's message per program that
    /// did not build. A program newer than its source and than the headers is left as it is.
    #[must_use]
    pub fn build_all(&self, names: &[String], jobs: usize) -> BTreeMap<String, String> {
        let queue = Mutex::new(names.iter());
        let failed = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..jobs.max(1) {
                scope.spawn(|| {
                    while let Some(name) = lock(&queue).next() {
                        if let Err(message) = self.build(name) {
                            lock(&failed).insert(name.clone(), message);
                        }
                    }
                });
            }
        });
        failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Programs of BSPlib have a wrapper of their own, beside that of MPI.
    fn wrapper(&self, name: &str) -> PathBuf {
        if name.starts_with("bsp_") {
            self.mpicc.with_file_name("bspcc")
        } else {
            self.mpicc.clone()
        }
    }

    fn build(&self, name: &str) -> Result<(), String> {
        let source = self.sources.join(format!("{name}.c"));
        let program = self.program(name);
        let mut inputs = headers(&self.sources);
        inputs.push(source.clone());
        if is_fresh(&program, &inputs) {
            return Ok(());
        }
        // Warnings of the compiler stay visible as errors: a test must be sound C first. Of the
        // two exceptions, wrong programs do the one on purpose, and compilers guess the other.
        let output = Command::new(self.wrapper(name))
            .args([
                "-std=gnu11",
                "-O1",
                "-Wall",
                "-Werror",
                "-Wno-nonnull",
                "-Wno-maybe-uninitialized",
                "-pthread",
                "-o",
            ])
            .arg(&program)
            .arg(&source)
            .args(self.libraries.iter().map(|library| format!("-l{library}")))
            .arg("-lm")
            .output()
            .map_err(|e| format!("cannot start {}: {e}", self.mpicc.display()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("does not compile:\n{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// The headers beside the programs: each program may include any of them.
fn headers(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|e| e == "h")).collect()
}

fn is_fresh(program: &Path, inputs: &[PathBuf]) -> bool {
    let modified = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    let Some(built) = modified(program) else { return false };
    inputs.iter().all(|input| modified(input).is_some_and(|time| time < built))
}

/// A panic in another worker leaves the plain data behind these locks whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
