//! Compiling the C programs, whose sources travel inside this library: an installed hpvm has
//! no source tree, and the programs are always those that this code can read.

use super::install::run;
use crate::error::BenchError;
use std::path::{Path, PathBuf};
use std::process::Command;

macro_rules! sources {
    ($folder:literal: $($file:literal)+) => {
        &[$(($file, include_str!(concat!("../../", $folder, "/", $file)))),+]
    };
}

type Sources = &'static [(&'static str, &'static str)];

static BENCHMARK: Sources = sources!("src_c":
    "hpvmbench.h" "shapes.h" "batches.h" "main.c" "measure.c" "latency.c" "bandwidth.c" "rate.c"
    "collective.c" "datatype.c" "shapes.c" "wakeup.c" "memory.c" "rma.c" "overlap.c" "pairs.c" "probe.c" "files.c" "spawn.c");
static ARMCI: Sources = sources!("src_c": "batches.h" "armci.c");
static FLOOR: Sources =
    sources!("floor": "floor.h" "main.c" "common.c" "pingpong.c" "copy.c" "words.c");

static TCP_FLOOR: Sources = sources!("floor": "network.h" "tcp.c");

/// Compiles `hpvmbench` with `mpicc` to `program`.
pub fn benchmark(mpicc: &Path, env: &[(&str, &Path)], program: &Path) -> Result<(), BenchError> {
    if !mpicc.is_file() {
        let advice = "install hpvm, or name a wrapper for the standard ABI with --mpicc, or a \
                      compiled benchmark with --program";
        let what = "the compiler wrapper";
        return Err(BenchError::Missing { what, path: mpicc.to_owned(), advice });
    }
    compile(mpicc, env, "_POSIX_C_SOURCE=200809L", BENCHMARK, program)
}

/// Compiles `hpvmarmci` with `mpicc` to `program`, for the ARMCI of this header and this library.
pub fn armci(
    mpicc: &Path,
    include: &Path,
    library: &Path,
    program: &Path,
) -> Result<(), BenchError> {
    let arguments = [include_flag(include), library.into()];
    compile_with(mpicc, &[], "_POSIX_C_SOURCE=200809L", ARMCI, program, &arguments)
}

fn include_flag(folder: &Path) -> std::ffi::OsString {
    let mut flag = std::ffi::OsString::from("-I");
    flag.push(folder);
    flag
}

/// Compiles the floor measurements with `cc` into `dir`; returns the program.
pub fn floor(dir: &Path) -> Result<PathBuf, BenchError> {
    let program = dir.join("hpvmfloor");
    compile(Path::new("cc"), &[], "_GNU_SOURCE", FLOOR, &program)?;
    Ok(program)
}

/// Compiles the floor between two hosts into `dir`; returns the program.
pub fn tcp_floor(dir: &Path) -> Result<PathBuf, BenchError> {
    let program = dir.join("tcpfloor");
    compile(Path::new("cc"), &[], "_GNU_SOURCE", TCP_FLOOR, &program)?;
    Ok(program)
}

fn compile(
    compiler: &Path,
    env: &[(&str, &Path)],
    define: &str,
    sources: Sources,
    program: &Path,
) -> Result<(), BenchError> {
    compile_with(compiler, env, define, sources, program, &[])
}

fn compile_with(
    compiler: &Path,
    env: &[(&str, &Path)],
    define: &str,
    sources: Sources,
    program: &Path,
    arguments: &[std::ffi::OsString],
) -> Result<(), BenchError> {
    let work = tempfile::tempdir().map_err(|e| BenchError::io("cannot create a folder", e))?;
    let mut command = Command::new(compiler);
    command.args(["-std=c11", "-O2", "-D", define, "-o"]).arg(program);
    for (name, text) in sources {
        let path = work.path().join(name);
        std::fs::write(&path, text)
            .map_err(|e| BenchError::io(format!("cannot write {}", path.display()), e))?;
        if name.ends_with(".c") {
            command.arg(&path);
        }
    }
    command.args(arguments);
    // Wrappers call their compiler by name: their own folder comes first, as for the launcher.
    if let Some(folder) = compiler.parent().filter(|p| !p.as_os_str().is_empty()) {
        command.env("PATH", crate::target::prepend(folder, "PATH"));
    }
    command.envs(env.iter().map(|(k, v)| (k, v)));
    run(&mut command, &format!("{} (compiling {})", compiler.display(), program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_wrapper_that_does_not_exist() {
        let error =
            benchmark(Path::new("/nowhere/mpicc"), &[], Path::new("/dev/null")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/mpicc"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn the_floor_compiles_and_explains_itself() {
        let dir = tempfile::tempdir().unwrap();
        let program = floor(dir.path()).unwrap();
        let output = Command::new(program).arg("--help").output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("process_vm_readv"));
    }

    #[test]
    fn every_c_file_travels_along() {
        for (folder, sources) in [("src_c", BENCHMARK), ("floor", FLOOR)] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            for entry in std::fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                // Programs of their own, for two hosts, and what they share; measurements of other models.
                let own = matches!(
                    &*name,
                    "udp.c"
                        | "tcp.c"
                        | "network.h"
                        | "armci.c"
                        | "bsp.c"
                        | "portals.c"
                        | "pvm.c"
                        | "shmem.c"
                );
                if !own && (name.ends_with(".c") || name.ends_with(".h")) {
                    assert!(sources.iter().any(|s| s.0 == name), "{name} is not compiled");
                }
            }
        }
    }
}
